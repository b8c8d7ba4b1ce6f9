/**
 * The crash matrix: a session of ten tools is killed before, inside and after every record it writes, and resumed. The kill is
 * a SIGKILL from the parent process, sent while the command stands still at that byte.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { crash, type Cut, length, type Where } from "./crash.ts"

const places: ReadonlyArray<Where> = ["before", "inside", "after"]

const name = (cuts: ReadonlyArray<Cut>) =>
  cuts
    .map(({ where, write, file }) => `${where} write ${write}${file === undefined ? "" : ` to ${file}`}`)
    .join(", then ")

/** Kills at every point, and names all those at which something did not hold. */
const matrix = Effect.fnUntraced(function* (points: ReadonlyArray<ReadonlyArray<Cut>>) {
  const ends = yield* Effect.forEach(
    points,
    (cuts) =>
      Effect.matchCause(crash(cuts), {
        onSuccess: (end) => end,
        onFailure: (cause) => `${name(cuts)}: ${Cause.pretty(cause)}`,
      }),
    { concurrency: 3 },
  )
  assert.deepStrictEqual(
    ends.filter((end) => typeof end === "string"),
    [],
  )
  const good = ends.flatMap((end) => (typeof end === "object" && end.reached ? [end] : []))
  return {
    points: good.length,
    doubts: good.filter((end) => end.doubtful).length,
    torn: good.filter((end) => end.torn).length,
  }
})

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe("killed with SIGKILL and resumed, a session comes to its end and does once what must happen once", () => {
  for (const where of places) {
    it.live(`${where} every record of the journal`, () =>
      Effect.gen(function* () {
        const { journal, kinds } = yield* length
        assert.includeMembers([...kinds], ["PromptLatched", "ContextAdded", "HookRan"])
        const { points, doubts, torn } = yield* matrix(upTo(journal).map((write) => [{ where, write }]))
        assert.isAtLeast(points, 50)
        assert.strictEqual(points, journal)
        // Between the record that it begins and the record that it ended.
        assert.isAtLeast(doubts, 1)
        assert.strictEqual(torn, where === "inside" ? journal : 0)
      }),
    )
  }

  it.live("before, inside and after lines of the transcript", () =>
    Effect.gen(function* () {
      const { transcript } = yield* length
      // Some lines are written together, so the last of these points are never reached.
      const points = upTo(transcript).flatMap((write) =>
        places.map((where) => [{ where, write, file: ".jsonl" }] as const),
      )
      const ended = yield* matrix(points)
      assert.isAtLeast(ended.points, 20)
    }),
  )

  it.live("again while it recovers from a kill in the middle of that step", () =>
    Effect.gen(function* () {
      const { kinds } = yield* length
      const begins = kinds.flatMap((kind, index) => (kind === "ToolStarted" ? [index + 1] : []))[4] ?? 0
      const points = upTo(8).flatMap((write) =>
        places.flatMap((where) => [
          [{ where: "after", write: begins } as const, { where, write }],
          [{ where: "before", write: begins + 1 } as const, { where, write }],
        ]),
      )
      const ended = yield* matrix(points)
      assert.strictEqual(ended.points, points.length)
    }),
  )
})
