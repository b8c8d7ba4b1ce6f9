/** Owns an open agent as plain promises: turns as async iterators, endings as values, failures as errors with a code. */
/// <reference lib="esnext.disposable" preserve="true" />
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Agents from "../agents/Agent.ts"
import type { Output } from "../agents/Output.ts"
import * as Budget from "../kernel/Budget.ts"
import type { Health } from "../protocol/Compaction.ts"
import type { Content } from "../protocol/Content.ts"
import type { Event, EventOf } from "../protocol/Event.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as Terminal from "../protocol/Terminal.ts"
import type { RewindReport } from "../session/Rewind.ts"
import type { Checkpoint } from "../session/RewindPlan.ts"
import type { Usage } from "../protocol/Usage.ts"
import * as Allowance from "./Allowance.ts"
import * as TroupeError from "./TroupeError.ts"

/** What a single turn may be told. */
export interface PromptOptions {
  /** Aborting it ends the turn; the promise or iterator is rejected with the code `aborted`. */
  readonly signal?: AbortSignal | undefined
  /** What this turn may use, inside what the agent may. */
  readonly budget?: Budget.Limits | undefined
}

/** How a turn ended and what came of it. */
export interface RunResult<A = unknown> {
  /** What the model said last. */
  readonly text: string
  /** The answer as JSON, of an agent that was opened with a schema for it. */
  readonly structuredOutput: unknown
  /** The same decoded, of an agent that was opened with an `output` Schema. */
  readonly value: A | undefined
  /** Why it ended; `completed` is not the only good reason. */
  readonly terminal: Terminal.Terminal
  /** Whether it ended well. A limit, a refusal, an interrupt or a failing service do not throw: they are told here. */
  readonly ok: boolean
  readonly usage: Usage
  readonly costUsd: number
  /** How many replies it took. */
  readonly turns: number
  readonly durationMs: number
}

/** The events of a turn, once. Leaving the loop early, or disposing of it, aborts the turn. */
export interface Turn extends AsyncIterableIterator<Event>, AsyncDisposable {}

/** An open session. Close it, or declare it with `await using`. */
export interface Agent<A = unknown> extends AsyncDisposable {
  readonly sessionId: string
  readonly cwd: string
  /** Where everything that happens is recorded. */
  readonly journalPath: string
  /** The same in the form that other tools read. */
  readonly transcriptPath: string
  /** What was wrong with the session and was put right when it was opened. */
  readonly problems: ReadonlyArray<string>
  /**
   * Runs a turn: everything that happens, up to and with its `TurnEnded`. It begins with the first event that is asked for, and
   * waits for a turn that is running already.
   */
  readonly prompt: (content: Content, options?: PromptOptions) => Turn
  /** Runs a turn to its end. Rejects with `no_output` when an answer keeps to the JSON Schema but not to the `output` Schema. */
  readonly run: (content: Content, options?: PromptOptions) => Promise<RunResult<A>>
  /** A message for the running turn: between two rounds of tools, or at once (`now`). Without a turn it is a prompt. */
  readonly steer: (content: Content, options?: { readonly now?: boolean }) => Promise<void>
  /** Ends the running turn, at once or after the tools that run (`stop`); tells whether there was one. */
  readonly interrupt: (kind?: "abort" | "stop") => Promise<boolean>
  readonly setModel: (model: string) => Promise<void>
  readonly setPermissionMode: (mode: PermissionMode) => Promise<void>
  /** How full the conversation is, and of what. The prompt `/compact` sums it up. */
  readonly context: () => Promise<Health>
  /** What can be gone back to, in its order: the prompts, and earlier goings back. Open the session with `checkpoints: true`. */
  readonly checkpoints: () => Promise<ReadonlyArray<Checkpoint>>
  /**
   * Goes back to before a prompt (its id, or its number from 1): files, conversation or both. Rejects with `rewind_refused` while a turn
   * runs, and where others have changed the same files, unless told to `force` it.
   */
  readonly rewind: (to: string, options?: Agents.RewindOptions) => Promise<RewindReport>
  /** Whether a turn runs, how many prompts wait behind it, and what the next request will use. */
  readonly status: () => Promise<AgentStatus>
  /** Ends what runs and gives the session free. It stays on disk and can be resumed. Closing twice is fine. */
  readonly close: () => Promise<void>
}

/** What an agent is doing. */
export interface AgentStatus {
  readonly busy: boolean
  readonly queued: number
  readonly model: string
  readonly permissionMode: PermissionMode
}

/** Everything that makes the promises of one agent. */
export interface Parts<A> {
  readonly agent: Agents.Agent
  readonly scope: Scope.Closeable
  readonly context: Context.Context<never>
  readonly budget: Budget.Level | undefined
  readonly output: Pick<Output<A>, "decode"> | undefined
}

export const make = <A>({ agent, scope, context, budget, output }: Parts<A>): Agent<A> => {
  const runPromiseExit = Effect.runPromiseExitWith(context)
  const isClosed = () => scope.state._tag === "Closed"
  const what = `The agent of session ${agent.sessionId}`
  const error = (cause: Parameters<typeof TroupeError.fromCause>[0]) =>
    isClosed() ? TroupeError.closed(what) : TroupeError.fromCause(cause, what)

  const run = async <B, E>(effect: Effect.Effect<B, E>): Promise<B> => {
    if (isClosed()) throw TroupeError.closed(what)
    const exit = await runPromiseExit(Effect.provideService(effect, Budget.Current, budget))
    if (Exit.isSuccess(exit)) return exit.value
    throw error(exit.cause)
  }

  const turn = (content: Content, { signal, budget: limits }: PromptOptions = {}) => {
    const events = Stream.unwrap(
      Effect.gen(function* () {
        if (isClosed()) return yield* Effect.fail(TroupeError.closed(what))
        if (signal?.aborted) return yield* Effect.fail(TroupeError.aborted(signal))
        const level = yield* Allowance.open(limits, budget)
        return Stream.provideService(agent.prompt(content), Budget.Current, level)
      }),
    )
    return Stream.catchCause(signal === undefined ? events : until(events, signal), (cause) =>
      Stream.fail(error(cause)),
    )
  }

  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))

  return {
    sessionId: agent.sessionId,
    cwd: agent.cwd,
    journalPath: agent.journalPath,
    transcriptPath: agent.transcriptPath,
    problems: agent.problems,
    prompt: (content, options) => iterate(turn(content, options), context),
    run: (content, options) =>
      run(
        Effect.gen(function* () {
          const end = yield* Stream.runFold(turn(content, options), (): Ended | undefined => undefined, keepEnd)
          if (end === undefined) return yield* Effect.fail(TroupeError.closed(what))
          return yield* result(end, output)
        }),
      ),
    steer: (content, options) =>
      run(agent.steer(content, { delivery: options?.now === true ? "submit_interrupt" : "between_rounds" })),
    interrupt: (kind) => run(agent.interrupt(kind)),
    setModel: (model) => run(agent.setModel(model)),
    setPermissionMode: (mode) => run(agent.setPermissionMode(mode)),
    context: () => run(agent.context),
    checkpoints: () => run(agent.checkpoints),
    rewind: (to, options) => run(agent.rewind(to, options)),
    status: () => run(Effect.zipWith(agent.status, agent.controls, (status, controls) => ({ ...status, ...controls }))),
    close,
    [Symbol.asyncDispose]: close,
  }
}

type Ended = EventOf<"TurnEnded">
const keepEnd = (kept: Ended | undefined, event: Event) => (event._tag === "TurnEnded" ? event : kept)

const result = Effect.fnUntraced(function* <A>(end: Ended, output: Parts<A>["output"]) {
  const { terminal, usage, costUsd, turns, durationMs } = end
  const hasValue = output !== undefined && end.structuredOutput !== undefined
  return {
    text: end.result,
    structuredOutput: end.structuredOutput,
    value: hasValue ? yield* output.decode(end) : undefined,
    terminal,
    ok: !Terminal.isError(terminal),
    usage,
    costUsd,
    turns,
    durationMs,
  } satisfies RunResult<A>
})

/** The stream, failed by the signal; its scope then aborts the turn. */
const until = <A, E>(stream: Stream.Stream<A, E>, signal: AbortSignal) => {
  const aborted = Effect.callback<never, TroupeError.TroupeError>((resume) => {
    const abort = () => resume(Effect.fail(TroupeError.aborted(signal)))
    signal.addEventListener("abort", abort, { once: true })
    if (signal.aborted) abort()
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })
  return Stream.merge(stream, Stream.fromEffect(aborted), { haltStrategy: "left" })
}

const iterate = (stream: Stream.Stream<Event, TroupeError.TroupeError>, context: Context.Context<never>): Turn => {
  const iterator = Stream.toAsyncIterableWith(stream, context)[Symbol.asyncIterator]()
  const leave = async (): Promise<IteratorResult<Event>> =>
    (await iterator.return?.()) ?? { done: true, value: undefined }
  return {
    next: () => iterator.next(),
    return: leave,
    [Symbol.asyncIterator]() {
      return this
    },
    [Symbol.asyncDispose]: async () => void (await leave()),
  }
}
