/**
 * Owns where a shell command runs: inside the sandbox, or not. It is planned when the call is judged and kept until it runs, so that
 * what was approved as sandboxed never runs outside.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { HiddenFiles } from "../../permissions/HiddenFiles.ts"
import { Host } from "../../platform/Host.ts"
import type { Command } from "../../platform/Process.ts"
import { Ripgrep } from "../../platform/Ripgrep.ts"
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

/** What rules keep from being read is out of sight inside too: a program need not say which files it opens. */
const hiddenFiles = Effect.gen(function* () {
  const hidden = yield* HiddenFiles
  if (!hidden.any()) return []
  const { fence } = yield* Workspace
  const ripgrep = yield* Ripgrep
  const args = ["--files", "--hidden", "--no-ignore", "--", ...fence.realRoots]
  const { lines, truncated } = yield* Effect.mapError(ripgrep.run(args, "/"), (error) => failure(error.message))
  if (truncated)
    return yield* failure("The workspace has too many files to hide some of them from a sandboxed command.")
  return lines.filter((path) => hidden.hides(path) && !path.includes("*"))
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
): Effect.fn.Return<Started, ToolFailure, Sandbox.Sandbox | Host | Workspace | Ripgrep | Scope.Scope> {
  const planned = yield* plan(input)
  if (planned._tag !== "Inside") {
    const said = planned._tag === "Unavailable" ? [`[${planned.message}]`] : []
    return { command, notes: () => Effect.succeed(said) }
  }
  const sandbox = yield* Sandbox.Sandbox
  const { settings } = planned
  const denyRead = [...settings.denyRead, ...(yield* hiddenFiles)]
  const wrapped = yield* sandbox
    .wrap({ ...planned, settings: { ...settings, denyRead } }, { ...command, writes })
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
