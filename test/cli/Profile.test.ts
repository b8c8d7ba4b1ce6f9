import { assert, describe, it } from "@effect/vitest"
import { table } from "../../src/cli/Profile.ts"

describe("the profile of a start", () => {
  it("tells every moment in order, with the time since the one before and a bar for it", () => {
    const lines = table([
      { name: "the request leaves", at: 50 },
      { name: "node is ready", at: 20 },
      { name: "the first token", at: 60 },
    ]).split("\n")
    assert.deepStrictEqual(lines, [
      "moment                    ms      step",
      `node is ready           20.0     +20.0  ${"█".repeat(20)}`,
      `the request leaves      50.0     +30.0  ${"█".repeat(30)}`,
      `the first token         60.0     +10.0  ${"█".repeat(10)}`,
      "",
    ])
  })
})
