// Measures what a round adds to its tools, per call: 100 calls that do nothing, from the end of their blocks to their recorded results.
// That is all of the gate (look-up, decoding, what it would touch, the decision, the records, the bounds of its result), the partition
// and a fiber per call; it is not the disk under the journal. Beside it, the same tools' work run by itself.
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Recorder } from "../../dist/lib/session/Recorder.js"
import * as Round from "../../dist/lib/tools/Round.js"
import * as Tool from "../../dist/lib/tools/Tool.js"
import { now } from "./clock.mjs"
import { gate, hear } from "./gate.mjs"
import { median } from "./median.mjs"

const quick = process.argv.includes("--quick")
const warmups = 30
const rounds = quick ? 30 : 100
const count = 100

let ran = 0
const work = Effect.sync(() => {
  ran++
  return { content: "done" }
})
const tool = (name, more) =>
  Tool.make({ name, description: "", input: Schema.Struct({ text: Schema.String }), run: () => work, ...more })
const tools = [tool("Beside", { readOnly: true, concurrencySafe: true }), tool("Alone", {})]

const called = (name, number, i) => ({ id: `toolu_${number}_${i}`, name, input: { text: `call ${i}` } })
/** All beside each other, and every second one alone: groups of one call each. */
const kinds = {
  beside: () => "Beside",
  alternating: (i) => (i % 2 === 0 ? "Alone" : "Beside"),
}

let number = 0
const round = Effect.fnUntraced(function* (kind) {
  const recorder = yield* Recorder
  number++
  const calls = Array.from({ length: count }, (_, i) => called(kinds[kind](i), number, i))
  yield* hear(`req_${number}`, calls)
  ran = 0
  const from = now()
  const made = yield* Round.make
  for (const call of calls) yield* made.add(call)
  yield* made.finish
  const ms = now() - from
  if (ran !== count || recorder.history.pending().length > 0) throw new Error(`${ran} of ${count} calls ran`)
  return ms / count
}, Effect.scoped)

/** The same work beside each other, with nothing around it. */
const bare = Effect.gen(function* () {
  const from = now()
  yield* Effect.forEach(Array.from({ length: count }), () => work, { concurrency: 10, discard: true })
  return (now() - from) / count
})

const several = (one) =>
  Effect.gen(function* () {
    const times = []
    for (let i = 0; i < warmups + rounds; i++) times.push(yield* one)
    return median(times.slice(warmups))
  })

const program = Effect.gen(function* () {
  return {
    bareMs: yield* several(bare),
    besideMs: yield* several(round("beside")),
    alternatingMs: yield* several(round("alternating")),
  }
}).pipe(Effect.provide(gate({ cwd: process.cwd(), tools, permissionMode: "bypassPermissions" })), Effect.scoped)

process.send(await Effect.runPromise(program))
process.disconnect()
