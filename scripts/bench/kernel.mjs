// Measures the kernel alone: what an actor costs to start, to keep, to talk to and to restart. Run with --expose-gc.
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Actor from "../../dist/lib/kernel/Actor.js"
import * as Protocol from "../../dist/lib/kernel/Protocol.js"
import * as Supervisor from "../../dist/lib/kernel/Supervisor.js"
import { now } from "./clock.mjs"
import { median } from "./median.mjs"

const scale = process.argv.includes("--quick") ? 0.2 : 1
const Counter = Protocol.make({ Add: { payload: Schema.Finite, success: Schema.Finite }, Boom: {} })
const counter = Actor.make(Counter, {
  start: Effect.succeed(0),
  handlers: {
    Add: (total, by) => Effect.succeed([total + by, total + by]),
    Boom: () => Effect.die("boom"),
  },
})
const often = { intensity: { max: 1e9, period: "1 hour" } }

const heap = () => {
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

/** Microseconds for one of `times`. */
const timed = (times, effect) =>
  Effect.gen(function* () {
    const from = now()
    yield* effect
    return ((now() - from) * 1000) / times
  })

const starting = Effect.fnUntraced(function* (count) {
  const supervisor = yield* Supervisor.make("bench")
  const refs = []
  const before = heap()
  const us = yield* timed(
    count,
    Effect.gen(function* () {
      for (let i = 0; i < count; i++) refs.push(yield* supervisor.start(`actor ${i}`, counter))
    }),
  )
  return { us, bytes: (heap() - before) / refs.length }
}, Effect.scoped)

const talking = Effect.fnUntraced(function* (count) {
  const supervisor = yield* Supervisor.make("bench", often)
  const ref = yield* supervisor.start("counter", counter)
  const ask = yield* timed(
    count,
    Effect.gen(function* () {
      for (let i = 0; i < count; i++) yield* ref.ask.Add(1)
    }),
  )
  const tell = yield* timed(
    count,
    Effect.gen(function* () {
      for (let i = 0; i < count; i++) yield* ref.tell.Add(1)
      yield* ref.ask.Add(0)
    }),
  )
  const restarts = Math.ceil(count / 50)
  const restart = yield* timed(
    restarts,
    Effect.gen(function* () {
      for (let i = 0; i < restarts; i++) {
        yield* Effect.flip(ref.ask.Boom())
        yield* ref.ask.Add(1)
      }
    }),
  )
  return { ask, tell, restart }
}, Effect.scoped)

const program = Effect.gen(function* () {
  yield* starting(500)
  yield* talking(20_000 * scale)
  const started = []
  const talked = []
  for (let i = 0; i < 5; i++) {
    started.push(yield* starting(4_000 * scale))
    talked.push(yield* talking(50_000 * scale))
  }
  const of = (all, key) => median(all.map((one) => one[key]))
  return {
    spawnUs: of(started, "us"),
    bytes: of(started, "bytes"),
    askUs: of(talked, "ask"),
    tellUs: of(talked, "tell"),
    restartUs: of(talked, "restart"),
  }
})

process.send(await Effect.runPromise(Effect.provide(program, Logger.layer([]))))
process.disconnect()
