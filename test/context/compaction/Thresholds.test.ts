import { assert, describe, it } from "@effect/vitest"
import * as Thresholds from "../../../src/context/compaction/Thresholds.ts"

const spec = (contextWindow: number, maxOutput = 128_000) => ({ contextWindow, maxOutput })

describe("thresholds", () => {
  it.each([
    { name: "of 200,000", of: Thresholds.of(spec(200_000)), auto: 167_000, block: 177_000 },
    { name: "of a million", of: Thresholds.of(spec(1_000_000)), auto: 967_000, block: 977_000 },
    {
      name: "of a smaller window that somebody wants",
      of: Thresholds.of(spec(1_000_000), { ...Thresholds.usual, window: 300_000 }),
      auto: 267_000,
      block: 277_000,
    },
    {
      name: "of a window that nobody may want so small",
      of: Thresholds.of(spec(1_000_000), { ...Thresholds.usual, window: 1_000 }),
      auto: 67_000,
      block: 77_000,
    },
    {
      name: "at a percentage",
      of: Thresholds.of(spec(200_000), { ...Thresholds.usual, percent: 50 }),
      auto: 90_000,
      block: 177_000,
    },
    {
      name: "at a percentage that would be later",
      of: Thresholds.of(spec(200_000), { ...Thresholds.usual, percent: 100 }),
      auto: 167_000,
      block: 177_000,
    },
    { name: "of a tiny model", of: Thresholds.of(spec(8_000, 2_000)), auto: 3_000, block: 3_000 },
  ])("$name", ({ auto, block, of }) => {
    assert.deepInclude(of, { auto, block })
    assert.isBelow(of.target, of.auto)
    assert.isAtMost(of.auto, of.block)
  })
})
