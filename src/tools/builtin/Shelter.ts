/**
 * Owns where a shell command runs: inside the sandbox, or not. It is planned when the call is judged and kept until it runs, so that
 * what was approved as sandboxed never runs outside.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Host } from "../../platform/Host.ts"
import type { Command } from "../../platform/Process.ts"
import * as Sandbox from "../../security/Sandbox.ts"
import * as ShellAnalysis from "../ShellAnalysis.ts"
import type { ToolFailure } from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { failure } from "./Source.ts"

export interface Sheltered {
  readonly command: string
  /** Outside on purpose. */
  readonly dangerouslyDisableSandbox?: boolean
}

type Outcome = { readonly plan: Sandbox.Plan } | { readonly problem: ToolFailure }

/** By the very arguments: they are decoded anew for each look at a call. */
const plans = new WeakMap<Sheltered, Outcome>()

const outcomeOf = Effect.fnUntraced(function* (input: Sheltered) {
  const before = plans.get(input)
  if (before !== undefined) return before
  const sandbox = yield* Sandbox.Sandbox
  const { home } = yield* Host
  const look = yield* ShellAnalysis.analyser
  const seen = look(input.command, { cwd: (yield* Workspace).cwd(), home })
  const commands = seen._tag === "Understood" ? seen.commands.map(({ text }) => text) : []
  const planned = yield* Effect.result(sandbox.plan({ commands, outside: input.dangerouslyDisableSandbox === true }))
  const outcome: Outcome =
    planned._tag === "Success" ? { plan: planned.success } : { problem: failure(planned.failure.message) }
  plans.set(input, outcome)
  return outcome
})

/** Fails where the sandbox is required and cannot be had. */
export const plan = Effect.fnUntraced(function* (input: Sheltered) {
  const outcome = yield* outcomeOf(input)
  return "plan" in outcome ? outcome.plan : yield* outcome.problem
})

/** The sandbox stands for an approval. */
export const standsForApproval = Effect.fnUntraced(function* (input: Sheltered) {
  const outcome = yield* outcomeOf(input)
  return "plan" in outcome && outcome.plan._tag === "Inside" && outcome.plan.autoAllow
})

/** Whether commands of this session are sandboxed at all; then a call may ask to run outside. */
export const isOffered = Effect.gen(function* () {
  const planned = yield* Effect.result((yield* Sandbox.Sandbox).plan({ commands: [] }))
  return planned._tag === "Failure" || planned.success._tag !== "Off"
})

export interface Started {
  readonly command: Command
  /** Once it has ended: what is to be said about it. */
  readonly notes: (stderr: string) => Effect.Effect<ReadonlyArray<string>>
}

/** The command as it is to be started. `writes` are directories of ours that it may write wherever it runs. */
export const started = Effect.fnUntraced(function* (
  input: Sheltered,
  command: Command,
  writes: ReadonlyArray<string>,
): Effect.fn.Return<Started, ToolFailure, Sandbox.Sandbox | Host | Workspace | Scope.Scope> {
  const planned = yield* plan(input)
  if (planned._tag !== "Inside") {
    const said = planned._tag === "Unavailable" ? [`[${planned.message}]`] : []
    return { command, notes: () => Effect.succeed(said) }
  }
  const sandbox = yield* Sandbox.Sandbox
  const wrapped = yield* sandbox
    .wrap(planned, { ...command, writes })
    .pipe(Effect.mapError((error) => failure(error.message)))
  return {
    command: wrapped,
    notes: (stderr) =>
      Effect.map(wrapped.finish, (lines) => {
        const hint = Sandbox.hint(planned, stderr)
        return hint === undefined ? lines : [...lines, hint]
      }),
  }
})
