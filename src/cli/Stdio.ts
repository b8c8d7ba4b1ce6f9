/** Owns the process's edges as values: standard streams, signals, and the way out. Tests bring their own. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import process from "node:process"
import { canvas, sink, type Sink } from "./Output.ts"

export class InputError extends Schema.TaggedError<InputError>()("InputError", {
  detail: Schema.String,
}) {
  override get message(): string {
    return `Stdin cannot be read: ${this.detail}.`
  }
}

/** The shell's convention: 128 and the number of the signal. */
export const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const
export type Signal = keyof typeof signalCodes

export interface Stdio {
  readonly out: Sink
  readonly err: Sink
  /** Stdout for the screen of a session, which draws with control codes. */
  readonly screen: Sink
  readonly input: Stream.Stream<string, InputError>
  readonly inputIsTerminal: boolean
  readonly outputIsTerminal: boolean
  readonly columns: () => number
  /** The next signal that was sent to this process. */
  readonly signal: Effect.Effect<Signal>
  /** Leaves at once. What must not outlive the process has hooks of its own for that. */
  readonly quit: (code: number) => Effect.Effect<void>
}

const isSignal = (name: string): name is Signal => Object.hasOwn(signalCodes, name)

/** The real ones. While the scope is open, signals do not end the process by themselves. */
export const live: Effect.Effect<Stdio, never, Scope.Scope> = Effect.gen(function* () {
  const signals = yield* Queue.unbounded<Signal>()
  const hear = (name: string) => {
    if (isSignal(name)) Queue.offerUnsafe(signals, name)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const name in signalCodes) process.on(name, hear)
    }),
    () =>
      Effect.sync(() => {
        for (const name in signalCodes) process.off(name, hear)
      }),
  )
  return {
    out: sink(process.stdout),
    err: sink(process.stderr),
    screen: canvas(process.stdout),
    input: Stream.suspend(() => {
      process.stdin.setEncoding("utf8")
      return Stream.fromAsyncIterable<string, InputError>(
        process.stdin,
        (error) => new InputError({ detail: error instanceof Error ? error.message : String(error) }),
      )
    }),
    inputIsTerminal: process.stdin.isTTY === true,
    outputIsTerminal: process.stdout.isTTY === true,
    // A terminal that does not know its size says 0.
    columns: () => process.stdout.columns || 80,
    signal: Queue.take(signals),
    quit: (code) => Effect.sync(() => process.exit(code)),
  }
})
