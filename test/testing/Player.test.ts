import { assert, describe, it } from "@effect/vitest"
import type { Message } from "../../src/protocol/Message.ts"
import type { ApiRequest } from "../../src/testing/ApiRequest.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import * as Player from "../../src/testing/Player.ts"
import { assistant, body, call, result, user } from "./conversation.ts"

const start = (book: Playbook, strict = true) => {
  const player = Player.make(book, { cache: "always", strict })
  return (messages: ReadonlyArray<Message> = [user("hello")], more: Partial<ApiRequest> = {}): string => {
    const answer = player.play(body(messages, more))
    if (answer._tag === "Refused") return `${answer.refusal.status} ${answer.refusal.message}`
    const words = answer.reply.whole.content.map((block) => (block.type === "text" ? block.text : block.type)).join(" ")
    return answer.fault === undefined ? words : `${words} (${answer.note.fault})`
  }
}

describe("Player", () => {
  it("plays turns in order, then looks at the rules", () => {
    const say = start({ turns: [{ reply: "one" }, { reply: "two" }], rules: [{ reply: "rule" }] })
    assert.deepStrictEqual([say(), say(), say(), say()], ["one", "two", "rule", "rule"])
  })

  it("keeps a turn for later where it does not match", () => {
    const say = start({ turns: [{ when: { user: "now" }, reply: "turn" }], rules: [{ reply: "rule" }] })
    assert.deepStrictEqual([say(), say([user("now")]), say([user("now")])], ["rule", "turn", "rule"])
  })

  it("answers with the first rule that matches", () => {
    const say = start({
      rules: [{ when: { user: "a" }, reply: "A" }, { when: { user: "b" }, reply: "B" }, { reply: "C" }],
    })
    assert.deepStrictEqual([say([user("b")]), say([user("ab")]), say([user("x")])], ["B", "A", "C"])
  })

  it("uses a rule once when told to", () => {
    const say = start({ rules: [{ once: true, reply: "first" }, { reply: "then" }] })
    assert.deepStrictEqual([say(), say()], ["first", "then"])
  })

  it("does not count a reply that a fault swallowed", () => {
    const say = start({ turns: [{ reply: "one", faults: [{ reset: 2, times: 2 }] }, { reply: "two" }] })
    assert.deepStrictEqual([say(), say(), say(), say()], ["one (reset)", "one (reset)", "one", "two"])
  })

  it("lets faults of the whole book strike first, as often as they say, where they say", () => {
    const say = start({
      faults: [
        { status: 529, times: 1 },
        { status: 401, when: { user: "secret" } },
      ],
      rules: [{ reply: "fine" }],
    })
    assert.match(say(), /^529 /)
    assert.match(say([user("secret")]), /^401 /)
    assert.strictEqual(say(), "fine")
  })

  it("passes from one fault to the next when the first is used up", () => {
    const say = start({
      rules: [
        {
          reply: "ok",
          faults: [
            { status: 500, times: 1 },
            { status: 429, times: 1 },
          ],
        },
      ],
    })
    assert.match(say(), /^500/)
    assert.match(say(), /^429/)
    assert.strictEqual(say(), "ok")
  })

  it("explains a request that no rule answers, rule by rule", () => {
    const say = start({
      name: "small",
      rules: [
        { name: "greeting", when: { user: "hello" }, reply: "hi", once: true },
        { when: { tool: "Read" }, reply: "read" },
        { faults: [{ status: 529, times: 1 }], when: { user: "never" } },
      ],
    })
    assert.strictEqual(say(), "hi")
    assert.strictEqual(
      say(),
      `400 The scripted model has no answer: no rule of small matches request 2 (turn 1).
Last message: user: "hello"
- greeting: it answers once, and has
- rule 2: tool results: there are none
- rule 3: user does not contain "never"
Add a rule, or widen the conditions of one of these.`,
    )
  })

  it("refuses an invalid history unless told not to", () => {
    const book = { rules: [{ reply: "ok" }] }
    const unpaired = [user("x"), assistant([call("a", "Read")]), user("next")]
    assert.match(start(book)(unpaired), /^400 messages\.2: tool_use without a tool_result/)
    assert.strictEqual(start(book, false)(unpaired), "ok")
  })

  it("knows only the models of the book, where it names some", () => {
    const say = start({ models: ["a"], rules: [{ reply: "ok" }] })
    assert.match(say([user("x")], { model: "b" }), /^404 model: b/)
    assert.strictEqual(say([user("x")], { model: "a" }), "ok")
  })

  it("says prompt is too long in the API's words, with numbers", () => {
    const say = start({ rules: [{ faults: [{ prompt_too_long: true }] }] })
    assert.match(say(), /^400 prompt is too long: \d+ tokens > \d+ maximum$/)
  })

  it("fills what it captured into arguments", () => {
    const player = Player.make(
      {
        rules: [
          {
            when: { system: { matches: "Working directory: (?<cwd>.*)" } },
            reply: [{ tool: "Read", input: { file_path: "${cwd}/a.js", deep: [{ model: "${model}" }] } }],
          },
        ],
      },
      { cache: "always" },
    )
    const answer = player.play(body([user("x")], { system: "Hi.\nWorking directory: /srv/it\nBye." }))
    assert.strictEqual(answer._tag, "Replied")
    if (answer._tag === "Replied") {
      assert.deepInclude(answer.reply.whole.content[0], {
        input: { file_path: "/srv/it/a.js", deep: [{ model: "claude-test-1" }] },
      })
    }
  })

  it("gives calls ids that the history does not hold yet", () => {
    const player = Player.make({ rules: [{ reply: [{ tool: "Read" }] }] }, { cache: "always" })
    const answer = player.play(
      body([user("x"), assistant([call("toolu_scripted_1", "Read")]), user([result("toolu_scripted_1", "")])]),
    )
    assert.isTrue(answer._tag === "Replied")
    if (answer._tag === "Replied") assert.deepInclude(answer.reply.whole.content[0], { id: "toolu_scripted_2" })
  })

  it("takes a started reply back only after it paused", () => {
    const say = start({ turns: [{ reply: "part", stop_reason: "pause_turn" }, { reply: "rest" }] })
    assert.match(say([user("x"), assistant("part")]), /^400 .*must end with a user message/)
    assert.strictEqual(say([user("x")]), "part")
    assert.strictEqual(say([user("x"), assistant("part")]), "rest")
  })

  it("cuts the last call's arguments when they shall be malformed, and adds text when it shall overflow", () => {
    const player = Player.make(
      {
        turns: [
          { reply: [{ tool: "Read", input: { file_path: "/a" } }], faults: [{ malformed: true }] },
          { reply: "x", faults: [{ overflow: 9000 }] },
        ],
      },
      { cache: "always" },
    )
    const malformed = player.play(body([user("x")]))
    const overflow = player.play(body([user("x")], { max_tokens: 10 }))
    assert.isTrue(malformed._tag === "Replied" && overflow._tag === "Replied")
    if (malformed._tag !== "Replied" || overflow._tag !== "Replied") return
    const json = malformed.reply.events.flatMap(({ event }) =>
      event.type === "content_block_delta" && event.delta.type === "input_json_delta" ? [event.delta.partial_json] : [],
    )
    assert.strictEqual(json.join(""), '{"file_pa')
    const [text] = overflow.reply.whole.content
    assert.isTrue(text?.type === "text" && text.text.length === 9000)
  })
})
