/** Owns the contract of child processes: groups, output caps, timeouts, the kill ladder. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** The command could not be started at all. A command that started and failed is a result, not an error. */
export class ProcessError extends Schema.TaggedError<ProcessError>()("ProcessError", {
  command: Schema.String,
  cwd: Schema.String,
  reason: Schema.Literals(["NotFound", "PermissionDenied", "BadDirectory", "TooBig", "NoResources", "Unknown"]),
  detail: Schema.String,
}) {
  override get message(): string {
    return `Cannot start "${this.command}" in ${this.cwd}: ${advice[this.reason]}${this.detail === "" ? "" : ` (${this.detail})`}`
  }
}

const advice: Record<ProcessError["reason"], string> = {
  NotFound: "the program was not found; install it or check PATH",
  PermissionDenied: "it is not executable for this user; check its mode",
  BadDirectory: "the working directory does not exist or is not a directory",
  TooBig: "its arguments and environment are too long; pass the data by stdin or a file",
  NoResources: "the system has no processes, memory or file handles left; end something and try again",
  Unknown: "the operating system refused",
}

export interface Output {
  readonly from: "stdout" | "stderr"
  readonly text: string
}

export interface Command {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  /** The whole environment of the child; the caller decides what it inherits (`host.allEnv`). */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Between TERM and KILL. */
  readonly killGrace?: Duration.Input
}

export interface RunOptions extends Command {
  /** Without it the child reads an empty stdin. */
  readonly stdin?: string | Uint8Array
  /** By Clock; the group is killed and the result says `timedOut`. */
  readonly timeout?: Duration.Input
  /** Kept in memory per channel: the first and the last half of it. */
  readonly maxOutputBytes: number
  /** When the cap is passed, the whole combined output goes to this file (mode 0600). */
  readonly spillTo?: string
  /** The file stops growing here; default 256 MiB. */
  readonly maxSpillBytes?: number
  /** Called synchronously as output arrives; it must be cheap and must not throw. */
  readonly onOutput?: (output: Output) => void
  /** Children still in the group when the leader ends: killed (default), or kept for a caller that tracks them. */
  readonly leftovers?: "kill" | "keep"
}

export interface RunResult {
  /** 128 + n when a signal ended it, as shells report it. */
  readonly exitCode: number
  readonly signal?: string
  readonly stdout: string
  readonly stderr: string
  /** Both channels in order of arrival. */
  readonly combined: string
  /** Something of a channel is not in the strings above. */
  readonly truncated: boolean
  readonly totalBytes: number
  readonly spilledTo?: string
  /** Why that file has only the beginning: its limit, a full disk. */
  readonly spillProblem?: string
  readonly timedOut: boolean
  readonly pid: number
  /** The command left background children behind, and they were ended. */
  readonly leftoversKilled: boolean
}

export interface ExitStatus {
  readonly exitCode: number
  readonly signal?: string
}

export interface SpawnOptions extends Command {
  /** `pipe` to use `write`; default is an empty stdin. */
  readonly stdin?: "pipe" | "empty"
  /**
   * Output goes to this file (mode 0600) as it comes, and `output` stays empty: for work that outlives our attention. What the
   * leader leaves behind goes on writing to it.
   */
  readonly logTo?: string
  /** The file stops growing here, and says so; default 64 MiB. */
  readonly maxLogBytes?: number
  /** Called synchronously as output arrives; it must be cheap and must not throw. */
  readonly onOutput?: (output: Output) => void
}

/** What became of output that goes to a file. */
export interface LogState {
  readonly totalBytes: number
  readonly writtenBytes: number
  /** Why nothing more is written: the limit, a full disk. */
  readonly problem?: string
}

/** A child that belongs to a scope: closing the scope ends the whole group. */
export interface Handle {
  readonly pid: number
  /** Lossless; a consumer that stops reading makes the child wait. */
  readonly output: Stream.Stream<Output>
  /** Once the leader ended; does not wait for background children that hold its output. */
  readonly exit: Effect.Effect<ExitStatus>
  /** The leader ended, and what it had printed has arrived. */
  readonly drained: Effect.Effect<void>
  readonly log: () => LogState
  /** Something of it is alive: the leader, or what it started and left behind. Looks at every process of the machine. */
  readonly alive: Effect.Effect<boolean>
  readonly write: (data: string | Uint8Array) => Effect.Effect<void, ProcessError>
  readonly closeStdin: Effect.Effect<void>
  /** One signal to the whole group. */
  readonly signal: (signal: Signal) => Effect.Effect<void>
  /** TERM, then KILL after the grace; returns when nothing of it is left. */
  readonly kill: Effect.Effect<void>
}

export type Signal =
  | "SIGINT"
  | "SIGTERM"
  | "SIGKILL"
  | "SIGHUP"
  | "SIGQUIT"
  | "SIGSTOP"
  | "SIGCONT"
  | "SIGUSR1"
  | "SIGUSR2"

export interface ProcessShape {
  /** Runs to the end. Interrupting it kills the group without making the interrupter wait. */
  readonly run: (options: RunOptions) => Effect.Effect<RunResult, ProcessError>
  readonly spawn: (options: SpawnOptions) => Effect.Effect<Handle, ProcessError, Scope.Scope>
  /**
   * Ends everything whose environment has this variable: what an earlier process of ours left running when it was killed.
   * Answers whether there was any.
   */
  readonly endStrays: (name: string, value: string) => Effect.Effect<boolean>
  /** Waits until every kill under way has ended; for orderly shutdown. */
  readonly settled: Effect.Effect<void>
}

export class Process extends Context.Service<Process, ProcessShape>()("troupe/platform/Process") {
  /** Commands answered by a function: whole sessions under TestClock need no real process. */
  static readonly layerScripted = (
    answer: (options: RunOptions) => Effect.Effect<Partial<RunResult>, ProcessError>,
  ): Layer.Layer<Process> =>
    Layer.succeed(Process, {
      run: (options) =>
        Effect.map(answer(options), (given) => {
          const stdout = given.stdout ?? ""
          const stderr = given.stderr ?? ""
          const combined = given.combined ?? stdout + stderr
          for (const [from, text] of [
            ["stdout", stdout],
            ["stderr", stderr],
          ] as const) {
            if (text !== "") options.onOutput?.({ from, text })
          }
          return {
            exitCode: 0,
            truncated: false,
            totalBytes: combined.length,
            timedOut: false,
            pid: 1,
            leftoversKilled: false,
            ...given,
            stdout,
            stderr,
            combined,
          }
        }),
      spawn: (options) =>
        Effect.fail(
          new ProcessError({
            command: options.command,
            cwd: options.cwd,
            reason: "NotFound",
            detail: "scripted processes answer run only",
          }),
        ),
      endStrays: () => Effect.succeed(false),
      settled: Effect.void,
    })
}
