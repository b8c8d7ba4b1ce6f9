import { assert, describe, it } from "@effect/vitest"
import * as Matcher from "../../src/testing/Matcher.ts"
import * as Told from "../../src/testing/Told.ts"
import { assistant, body, call, result, user } from "./conversation.ts"

const conversation = body(
  [
    user("Fix the bug in /srv/app"),
    assistant([call("a", "Read", { file_path: "x" }), call("b", "Bash")]),
    user([result("a", "const x = 1"), result("b", "exit code 1", true)]),
  ],
  { system: [{ type: "text", text: "Rules.\nWorking directory: /srv/app\nEnd." }] },
)
const told = Told.make(conversation, 7)

const why = (when: Matcher.When, of = told): string => {
  const verdict = Matcher.match(when, of)
  return verdict.matched ? "matched" : verdict.why
}

describe("Matcher", () => {
  it("takes a plain string as a part of the text", () => {
    assert.strictEqual(why({ prompt: "the bug" }), "matched")
    assert.strictEqual(why({ prompt: "a feature" }), 'prompt does not contain "a feature"')
  })

  it("tells the text of the last user message from the last prompt", () => {
    assert.strictEqual(why({ user: { equals: "" } }), "matched")
    assert.strictEqual(why({ prompt: { equals: "Fix the bug in /srv/app" } }), "matched")
  })

  it("wants every condition to hold", () => {
    assert.strictEqual(why({ prompt: "bug", system: "Rules", model: "test", turn: 2, messages: 3 }), "matched")
    assert.strictEqual(why({ prompt: "bug", system: "Laws" }), 'system does not contain "Laws"')
  })

  it("knows contains, lacks, equals and ignore_case", () => {
    assert.strictEqual(why({ prompt: { contains: ["Fix", "bug"], lacks: ["feature"] } }), "matched")
    assert.strictEqual(why({ prompt: { lacks: "bug" } }), 'prompt contains "bug"')
    assert.strictEqual(why({ prompt: { contains: "FIX", ignore_case: true } }), "matched")
    assert.strictEqual(why({ prompt: { equals: "Fix" } }), 'prompt is not "Fix"')
  })

  it("captures groups, numbered and named, line by line", () => {
    const verdict = Matcher.match(
      { prompt: { matches: "^Fix the (\\w+)" }, system: { matches: "^Working directory: (?<cwd>.*)$" } },
      told,
    )
    assert.isTrue(verdict.matched)
    if (verdict.matched) {
      assert.deepStrictEqual(verdict.captures.groups, ["bug", "/srv/app"])
      assert.deepStrictEqual(verdict.captures.named, { cwd: "/srv/app" })
    }
  })

  it("finds the tool of a result by its call", () => {
    assert.strictEqual(why({ tool: "Read" }), "matched")
    assert.strictEqual(why({ tool: { name: "Bash", is_error: true, contains: "exit code 1" } }), "matched")
    assert.strictEqual(why({ tool: { name: "Read", is_error: true } }), "tool result is of Bash, not Read")
    assert.strictEqual(why({ tool: "Grep" }), "tool result is of Bash, not Grep")
    assert.strictEqual(why({ tool: {} }, Told.make(body([user("hi")]), 1)), "tool results: there are none")
  })

  it("counts requests from the first one and turns from the history", () => {
    assert.strictEqual(why({ request: 7, turn: { min: 2, max: 2 } }), "matched")
    assert.strictEqual(why({ request: { max: 6 } }), "request is 7, past 6")
    assert.strictEqual(why({ turn: 3 }), "turn is 2, before 3")
  })

  it("searches everything said so far, calls and results too", () => {
    assert.strictEqual(why({ history: { contains: ["the bug", "file_path", "const x = 1"] } }), "matched")
  })

  it("lets a function decide", () => {
    assert.strictEqual(
      why((of) => of.results.length === 2),
      "matched",
    )
    assert.strictEqual(
      why(() => false),
      "its function said no",
    )
  })

  it("matches everything without conditions", () => {
    assert.isTrue(Matcher.match(undefined, told).matched)
  })
})
