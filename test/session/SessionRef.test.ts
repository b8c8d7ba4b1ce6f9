import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type { SessionSummary } from "../../src/session/SessionIndex.ts"
import * as SessionRef from "../../src/session/SessionRef.ts"

const session = (sessionId: string, title: string, isNamed = false): SessionSummary => ({
  kind: "own",
  sessionId,
  path: `/${sessionId}`,
  modified: 0,
  size: 1,
  cwd: "/w",
  title,
  isNamed,
  tags: [],
  prompts: 1,
})

const all = [
  session("11111111-1111-4111-8111-111111111111", "Release 2.1", true),
  session("1111aaaa-1111-4111-8111-111111111111", "what is flaky?"),
  session("22222222-1111-4111-8111-111111111111", "release 2.1"),
  session("33333333-1111-4111-8111-111111111111", "Flaky tests", true),
]

const named = (reference: string): string => {
  const found = SessionRef.resolve(reference, all)
  return Result.isSuccess(found) ? found.success.sessionId.slice(0, 8) : found.failure.message
}

describe("what people call a session", () => {
  it("is an id, the beginning of one, or a title, whatever its case; a given title counts more than first words", () => {
    assert.strictEqual(named("11111111-1111-4111-8111-111111111111"), "11111111")
    assert.strictEqual(named("1111A"), "1111aaaa")
    assert.strictEqual(named(" release 2.1 "), "11111111")
    assert.strictEqual(named("what is flaky?"), "1111aaaa")
    assert.strictEqual(named("flaky"), "33333333")
  })

  it("is refused where several are meant or none is, with what there is", () => {
    assert.match(named("1111"), /more than one session[^]*11111111 {2}Release 2\.1\n {2}1111aaaa/)
    assert.match(named("111"), /no session "111"/)
    assert.match(named("Flakey tests"), /no session[^]*\n {2}33333333 {2}Flaky tests$/)
    assert.match(named(""), /no session/)
  })
})
