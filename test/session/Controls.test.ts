import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Controls from "../../src/session/Controls.ts"

const initial = { model: "sonnet", permissionMode: "default" } as const

describe("Controls", () => {
  it.effect("tells every change once, with who made it and what was before", () =>
    Effect.gen(function* () {
      const controls = yield* Controls.make(initial)
      const seen = yield* controls.changes.pipe(
        Stream.take(2),
        Stream.runCollect,
        Effect.forkChild({ startImmediately: true }),
      )
      yield* controls.change("flag", { model: "opus" })
      yield* controls.change("flag", { model: "opus" })
      yield* controls.change("tool", { permissionMode: "plan" })
      const opus = { ...initial, model: "opus" }
      const planning = { ...opus, permissionMode: "plan" } as const
      assert.deepStrictEqual(yield* Fiber.join(seen), [
        { by: "flag", before: initial, after: opus },
        { by: "tool", before: opus, after: planning },
      ])
      assert.deepStrictEqual(yield* controls.current, planning)
    }),
  )

  it.effect("answers with the change, and with nothing when all was so already", () =>
    Effect.gen(function* () {
      const controls = yield* Controls.make(initial)
      assert.strictEqual(yield* controls.change("a", { model: "sonnet", permissionMode: "default" }), undefined)
      assert.strictEqual((yield* controls.change("b", { model: "haiku" }))?.after.model, "haiku")
    }),
  )

  it.effect("keeps the model where a guard wants so, and changes the rest", () =>
    Effect.gen(function* () {
      const controls = yield* Controls.make(initial)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const asked: Array<string> = []
          yield* controls.guard(({ after }) => Effect.sync(() => (asked.push(after.model), "not now")))
          const change = yield* controls.change("flag", { model: "opus", permissionMode: "plan" })
          assert.deepStrictEqual(change?.after, { model: "sonnet", permissionMode: "plan" })
          yield* controls.change("flag", { model: "sonnet" })
          assert.deepStrictEqual(asked, ["opus"])
        }),
      )
      yield* controls.change("flag", { model: "opus" })
      assert.strictEqual((yield* controls.current).model, "opus")
    }),
  )

  it.effect("does not tell a late subscriber of changes before its time", () =>
    Effect.gen(function* () {
      const controls = yield* Controls.make(initial)
      yield* controls.change("early", { model: "opus" })
      const seen = yield* controls.changes.pipe(
        Stream.take(1),
        Stream.runCollect,
        Effect.forkChild({ startImmediately: true }),
      )
      yield* controls.change("late", { model: "haiku" })
      assert.deepStrictEqual(
        (yield* Fiber.join(seen)).map(({ by }) => by),
        ["late"],
      )
    }),
  )
})
