/**
 * Owns the tool calls of one reply: which start while the model still speaks, which run beside each other, which alone.
 *
 * Neighbouring calls that are safe beside others run together; any other call runs alone, in its place. Whatever the order of
 * their ends, the history pairs results with calls in the order in which the model made them.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Semaphore from "effect/Semaphore"
import * as Scope from "effect/Scope"
import type { BudgetExceeded } from "../kernel/Budget.ts"
import type { JournalError } from "../session/JournalError.ts"
import { Recorder } from "../session/Recorder.ts"
import { type Call, type Prepared, ToolRunner } from "./ToolRunner.ts"

/** How many calls may run at the same time (`CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY`). */
export const MaxConcurrentCalls = Context.Reference<number>("troupe/tools/Round/MaxConcurrentCalls", {
  defaultValue: () => 10,
})

export interface Round {
  /** Takes a call as soon as the model has completed it, and starts it if nothing speaks against that. */
  readonly add: (call: Call) => Effect.Effect<void, JournalError>
  /** From now on nothing starts by itself. */
  readonly hold: () => void
  readonly calls: () => ReadonlyArray<Call>
  /** The files that they read or would write. */
  readonly touched: () => ReadonlyArray<string>
  /** Something has been done because of this reply: it must not be asked for again. */
  readonly hasStarted: () => boolean
  /** Forgets the calls of a reply that is void. */
  readonly clear: () => void
  /** Runs what has not run yet; returns when every call has its result. */
  readonly finish: Effect.Effect<void, JournalError | BudgetExceeded>
  /** Ends the calls that started early; one that must not be cut off is waited for. */
  readonly stop: Effect.Effect<void>
}

/** Calls that run beside each other. */
interface Group {
  readonly running: Map<Prepared, Fiber.Fiber<void, JournalError | BudgetExceeded>>
  /** The call whose failure ends the others. */
  failed: Prepared | undefined
}

/** The calls belong to the scope: closing it stops the ones that run. */
export const make = Effect.gen(function* () {
  const runner = yield* ToolRunner
  const { history } = yield* Recorder
  const scope = yield* Scope.Scope
  const permits = yield* Semaphore.make(yield* MaxConcurrentCalls)
  const calls: Array<Prepared> = []
  const early: Group = { running: new Map(), failed: undefined }
  let started = 0
  let held = false

  const run = Effect.fnUntraced(function* (prepared: Prepared, group: Group) {
    const outcome = yield* Semaphore.withPermit(permits, runner.run(prepared))
    if (outcome !== "failed" || !cascades(prepared) || group.failed !== undefined) return
    group.failed = prepared
    const others = [...group.running].flatMap(([other, fiber]) => (other === prepared ? [] : [fiber]))
    // Not waited for: one of them may be waiting for this very place.
    yield* Effect.forkIn(Fiber.interruptAll(others), scope)
  })
  const start = Effect.fnUntraced(function* (prepared: Prepared, group: Group) {
    group.running.set(prepared, yield* Effect.forkIn(run(prepared, group), scope))
  })
  const stop = (group: Group) => Fiber.interruptAll([...group.running.values()])

  /** Waits for all of them. Those that ended with a failed one are answered: they were meant to work together. */
  const join = Effect.fnUntraced(function* (group: Group) {
    for (const [{ call }, fiber] of group.running) {
      const exit = yield* Fiber.await(fiber)
      if (exit._tag === "Success") continue
      const isOpen = history.pending().some(({ toolUseId }) => toolUseId === call.id)
      if (group.failed === undefined || !Cause.hasInterruptsOnly(exit.cause)) return yield* exit
      if (!isOpen) continue
      yield* runner.answer(call, "cancelled", `Cancelled: parallel tool call ${group.failed.call.name} errored.`)
    }
    group.running.clear()
  })

  const round: Round = {
    add: Effect.fnUntraced(function* (call) {
      const prepared = yield* runner.prepare(call)
      // Only behind calls that started early too: a read after a pending write must see what was written.
      const startsEarly = !held && started === calls.length && (yield* runner.mayStartEarly(prepared))
      calls.push(prepared)
      if (!startsEarly) return
      started++
      yield* start(prepared, early)
    }),
    hold: () => {
      held = true
    },
    calls: () => calls.map((prepared) => prepared.call),
    touched: () =>
      calls.flatMap((prepared) => (prepared._tag === "Ready" ? [...prepared.ask.reads, ...prepared.ask.writes] : [])),
    hasStarted: () => started > 0,
    clear: () => {
      calls.length = 0
    },
    finish: Effect.gen(function* () {
      for (const batch of batches(calls.slice(started))) {
        started = calls.length
        // Neighbours of what started early belong to it.
        const group = batch.every(isSafe) && early.running.size > 0 ? early : { running: new Map(), failed: undefined }
        if (group !== early) yield* join(early)
        yield* Effect.forEach(batch, (prepared) => start(prepared, group), { discard: true })
        yield* Effect.onInterrupt(join(group), () => stop(group))
      }
      yield* join(early)
    }),
    stop: Effect.suspend(() => stop(early)),
  }
  return round
})

const cascades = (prepared: Prepared): boolean => prepared._tag === "Ready" && prepared.tool.cascades

const isSafe = (prepared: Prepared): boolean => prepared._tag === "Ready" && prepared.invocation.concurrencySafe

/** Runs of neighbours that are safe beside each other; every other call alone. */
export const batches = (calls: ReadonlyArray<Prepared>): ReadonlyArray<ReadonlyArray<Prepared>> => {
  const found: Array<Array<Prepared>> = []
  for (const call of calls) {
    const last = found.at(-1)
    if (last !== undefined && isSafe(call) && last.every(isSafe)) last.push(call)
    else found.push([call])
  }
  return found
}
