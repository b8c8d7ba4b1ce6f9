import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import { ended } from "../../src/cli/Execute.ts"
import { OutputError } from "../../src/cli/Output.ts"
import * as Problem from "../../src/cli/Problem.ts"
import { BudgetExceeded } from "../../src/kernel/Budget.ts"
import { ProviderError } from "../../src/model/Provider.ts"
import { SessionBusy } from "../../src/session/JournalError.ts"

const quiet = { debug: false }
const system = (code: string, path: string) =>
  Object.assign(new Error(`${code}: no such thing, open '${path}'`), { code, path })

describe("a problem is told", () => {
  it("in its own words, where they say everything", () => {
    const lines = Problem.lines(new SessionBusy({ sessionId: "s1", holder: 42 }), quiet)
    assert.deepStrictEqual(lines, [
      "troupe: Session s1 is in use by process 42. End that process first, or work on a copy: add --fork-session.",
    ])
  })

  it("with where and how to fix it, for a failure of the model service", () => {
    const error = new ProviderError({
      reason: "unauthenticated",
      message: "invalid x-api-key",
      retryable: false,
      status: 401,
    })
    assert.deepStrictEqual(Problem.lines(error, quiet), [
      "troupe: invalid x-api-key",
      "  where: the service answered with status 401",
      "  fix: check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN. To look around without a key: troupe demo",
    ])
  })

  it("with the reason and the fix of a system error", () => {
    const lines = Problem.lines(system("EACCES", "/etc/shadow"), quiet)
    assert.deepStrictEqual(lines.slice(1), ["  why: permission denied", "  fix: check who owns it and its mode"])
  })

  it("over several lines if it has several", () => {
    const lines = Problem.lines(new Error("two things are wrong\nfirst: a\nsecond: b"), quiet)
    assert.deepStrictEqual(lines, ["troupe: two things are wrong", "  why: first: a", "       second: b"])
  })

  it("whatever was thrown", () => {
    assert.deepStrictEqual(Problem.lines("text", quiet), ["troupe: text"])
    for (const nothing of [undefined, null, 7, {}, new Error("")]) {
      assert.include(Problem.lines(nothing, quiet)[0], "something failed")
    }
  })

  it("with its stack and its cause only when debugging", () => {
    const error = new Error("outer", { cause: new Error("inner") })
    assert.lengthOf(Problem.lines(error, quiet), 1)
    const debug = Problem.lines(error, { debug: true }).join("\n")
    assert.include(debug, "Problem.test.ts")
    assert.include(debug, "troupe: inner")
  })

  it("without escape sequences", () => {
    assert.deepStrictEqual(Problem.lines(new Error("a\u001b[31mb"), quiet), ["troupe: ab"])
  })

  it("as a bug if nobody expected it", () => {
    const lines = Problem.defect(new TypeError("x is not a function"), quiet)
    assert.include(lines[0], "a bug: x is not a function")
    assert.include(lines[1], "--debug")
    assert.notInclude(lines.join("\n"), "Problem.test.ts")
  })
})

describe("a command that failed ends", () => {
  it("with 1 and an explanation", () => {
    const { code, says } = ended(Cause.fail(new SessionBusy({ sessionId: "s1" })), false)
    assert.strictEqual(code, 1)
    assert.include(says[0], "s1")
  })

  it("with 3 when a budget is spent", () => {
    const facts = { scope: "s", resource: "usd", limit: 1, spent: 1, requested: 1, closed: false } as const
    assert.strictEqual(ended(Cause.fail(new BudgetExceeded(facts)), false).code, 3)
  })

  it("silently when the reader of its output went away", () => {
    const error = new OutputError({ reason: "closed", detail: "EPIPE" })
    assert.deepStrictEqual(ended(Cause.fail(error), true), { code: 141, says: [] })
  })

  it("with 1 and a request to report it when it is a bug", () => {
    const { code, says } = ended(Cause.die(new Error("boom")), false)
    assert.strictEqual(code, 1)
    assert.include(says.join(" "), "bug")
  })
})
