import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { DurableEvent, Event } from "../../src/protocol/Event.ts"
import * as History from "../../src/session/History.ts"
import * as Journal from "../../src/session/Journal.ts"
import * as Recorder from "../../src/session/Recorder.ts"
import * as Transcript from "../../src/session/Transcript.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const sessionId = "0b0e6f0e-8b1d-4c39-9a53-0d7e6c1f2a44"
const said = (message: string): DurableEvent => ({ _tag: "Diagnosed", level: "info", message })
const chunk: Event = { _tag: "StreamChunk", requestId: "r", event: { type: "ping" } }

const recorder = Effect.gen(function* () {
  const journal = yield* Journal.open(sessionId)
  const transcript = yield* Transcript.open({ sessionId, cwd: "/work", version: "0" })
  return yield* Recorder.make({ agent: "main", journal, transcript, history: History.make() })
})

describe("Recorder", () => {
  it.effect("has written an event before anybody sees it", () =>
    Effect.gen(function* () {
      const { watch, emit } = yield* recorder
      const seen = yield* watch
      yield* emit(said("one"))
      const { records } = yield* Journal.read(sessionId)
      assert.deepStrictEqual(
        records.map(({ event }) => event),
        [said("one")],
      )
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(seen, 1)), [said("one")])
    }).pipe(Effect.scoped, Effect.provide(MemoryWorkspace.layer())),
  )

  it.effect("shows concurrent events in the order in which they are journaled", () =>
    Effect.gen(function* () {
      const { watch, emit } = yield* recorder
      const seen = yield* watch
      // A long one takes a detour to a file of its own; the others must not overtake it for watchers only.
      const events = Array.from({ length: 20 }, (_, n) => said(n % 5 === 0 ? `${n}`.padEnd(70_000, ".") : `${n}`))
      yield* Effect.forEach(events, emit, { concurrency: "unbounded" })
      const shown = yield* Stream.runCollect(Stream.take(seen, events.length))
      const { records } = yield* Journal.read(sessionId)
      assert.deepStrictEqual(
        shown,
        records.map(({ event }) => event),
      )
    }).pipe(Effect.scoped, Effect.provide(MemoryWorkspace.layer())),
  )

  it.effect("never waits for a watcher, who loses chunks but nothing durable", () =>
    Effect.gen(function* () {
      const { watch, emit, history } = yield* recorder
      const seen = yield* watch
      for (let n = 0; n < 11_000; n++) yield* emit(chunk)
      yield* emit(said("last"))
      const shown = yield* Stream.runCollect(Stream.takeUntil(seen, (event) => event._tag === "Diagnosed"))
      assert.strictEqual(shown.length, 10_001)
      assert.deepStrictEqual(history.messages(), [])
    }).pipe(Effect.scoped, Effect.provide(MemoryWorkspace.layer())),
  )

  it.effect("ends every watcher with the session", () =>
    Effect.gen(function* () {
      const watcher = yield* Effect.scoped(
        Effect.gen(function* () {
          const { watch, emit } = yield* recorder
          const fiber = yield* Effect.forkDetach(Effect.scoped(Effect.flatMap(watch, Stream.runCollect)), {
            startImmediately: true,
          })
          yield* emit(said("bye"))
          return fiber
        }),
      )
      assert.deepStrictEqual(yield* Fiber.join(watcher), [said("bye")])
    }).pipe(Effect.provide(MemoryWorkspace.layer())),
  )
})
