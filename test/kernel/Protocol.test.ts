import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Actor from "../../src/kernel/Actor.ts"
import * as Protocol from "../../src/kernel/Protocol.ts"

class Point extends Schema.Class<Point>("Point")({ x: Schema.Finite, at: Schema.DateTimeUtc }) {}
class Lost extends Schema.TaggedError<Lost>()("Lost", { where: Point }) {}

const Map = Protocol.make({
  Move: { payload: Point, success: Point, error: Lost },
  Loose: { payload: Schema.Struct({ label: Schema.String }), success: Schema.Unknown },
  Ping: {},
})

/** Keeps what it was given, so that a test can compare identities. */
const map = Actor.make(Map, {
  start: Effect.succeed<Array<unknown>>([]),
  handlers: {
    Move: (seen, point) =>
      point.x < 0 ? Effect.fail(new Lost({ where: point })) : Effect.succeed([[...seen, point], point]),
    Loose: (seen, payload) => Effect.succeed([seen, payload]),
    Ping: (seen) => Effect.succeed([seen, undefined]),
  },
})

const encoded = Effect.provideService(Protocol.Encoded, true)
const defectOf = <A, E>(exit: Exit.Exit<A, E>) => (Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "success")

describe("Protocol", () => {
  it.effect("passes values as they are unless told to encode", () =>
    Effect.gen(function* () {
      const ref = yield* Actor.spawn("map", map)
      const point = new Point({ x: 1, at: DateTime.makeUnsafe(0) })
      assert.strictEqual(yield* ref.ask.Move(point), point)
    }),
  )

  it.effect("in the encoding mode gives the other side an equal value that shares nothing", () =>
    Effect.gen(function* () {
      const ref = yield* Actor.spawn("map", map)
      const point = new Point({ x: 1, at: DateTime.makeUnsafe(5) })
      const moved = yield* ref.ask.Move(point)
      assert.notStrictEqual(moved, point)
      assert.instanceOf(moved, Point)
      assert.strictEqual(moved.at.epochMilliseconds, 5)
      yield* ref.ask.Ping()
      yield* ref.tell.Ping()
    }).pipe(encoded),
  )

  it.effect("in the encoding mode brings typed failures back as themselves, and ActorDown too", () =>
    Effect.gen(function* () {
      const ref = yield* Actor.spawn("map", map)
      const lost = yield* Effect.flip(ref.ask.Move(new Point({ x: -1, at: DateTime.makeUnsafe(0) })))
      assert.instanceOf(lost, Lost)
      yield* Actor.stop(ref)
      assert.instanceOf(yield* Effect.flip(ref.ask.Ping()), Actor.ActorDown)
    }).pipe(encoded),
  )

  it.effect("in the encoding mode strips what the schema does not describe, so the handler cannot rely on it", () =>
    Effect.gen(function* () {
      const ref = yield* Actor.spawn("map", map)
      const smuggled = { label: "a", secret: () => 1 }
      assert.deepStrictEqual(yield* ref.ask.Loose(smuggled), { label: "a" })
    }).pipe(encoded),
  )

  it.effect("in the encoding mode a part that cannot travel is a defect of the sender, naming message and part", () =>
    Effect.gen(function* () {
      const ref = yield* Actor.spawn("map", map)
      const notAPoint: Point = JSON.parse('{"x":"one"}')
      const exit = yield* Effect.exit(ref.ask.Move(notAPoint))
      assert.include(defectOf(exit), "Move: its payload does not survive")
      assert.include(defectOf(yield* Effect.exit(ref.ask.Ping(JSON.parse("1")))), "declares no payload")
      yield* ref.ask.Ping()
    }).pipe(encoded),
  )

  it("keeps private messages out of the public protocol", () => {
    const internal = Protocol.extend(Map, { Tick: {} })
    assert.deepStrictEqual(Object.keys(internal.public), ["Move", "Loose", "Ping"])
    assert.deepStrictEqual(Object.keys(internal.messages), ["Move", "Loose", "Ping", "Tick"])
  })
})
