import { assert, describe, it } from "@effect/vitest"
import * as GlobOverlap from "../../src/policy/GlobOverlap.ts"

const rows: ReadonlyArray<readonly [string, string, boolean]> = [
  ["/w/.env", "/w/.env", true],
  ["/w/.ENV", "/w/.env", true],
  ["/w/.e*", "/w/.env", true],
  ["/w/.e??", "/w/.env", true],
  ["/w/.e?", "/w/.env", false],
  ["/w/.en[uvw]", "/w/.env", true],
  ["/w/.en[!v]", "/w/.env", false],
  ["/w/*", "/w/.env", false],
  ["/w/*/.env", "/w/**/.env", true],
  ["/w/a/b/*.pem", "/w/**/*.pem", true],
  ["/w/**", "/w/a/b/.env", true],
  ["/w/a/**", "/w/**/.env/**", true],
  ["/w/a/**", "/w/b/**", false],
  ["/w/*.ts", "/w/*.js", false],
  ["/w/a*", "/w/*b", true],
  ["/w/\\*", "/w/x", false],
  ["/w/sec*", "/w/**/secrets/**", true],
]

describe("two patterns", () => {
  it.each(rows)("%s and %s: %s", (a, b, expected) => {
    assert.strictEqual(GlobOverlap.overlaps(GlobOverlap.segments(a), GlobOverlap.segments(b), false), expected)
  })
  it("meet at hidden names when the shell includes them", () => {
    assert.isTrue(GlobOverlap.overlaps(GlobOverlap.segments("/w/*"), GlobOverlap.segments("/w/.env"), true))
  })
})
