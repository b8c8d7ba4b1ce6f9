/**
 * Owns the commands in a skill's text: each is judged like one of the model's own, runs once where those run (sandbox included), and
 * its output takes its place. Nobody is asked: what is not allowed, or fails, ends the use of the skill.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Ids from "../kernel/Ids.ts"
import { Host } from "../platform/Host.ts"
import { Process, type RunResult } from "../platform/Process.ts"
import type { Ripgrep } from "../platform/Ripgrep.ts"
import type { Sandbox } from "../security/Sandbox.ts"
import { meaningOfOne } from "../tools/builtin/ExitCodes.ts"
import * as Shelter from "../tools/builtin/Shelter.ts"
import { Workspace } from "../tools/Workspace.ts"

/** A command that may not run, or that failed: the skill is not used. */
export class ShellFailed extends Schema.TaggedError<ShellFailed>()("ShellFailed", {
  command: Schema.String,
  reason: Schema.Literals(["NotAllowed", "Unquotable", "Failed"]),
  detail: Schema.String,
}) {
  override get message(): string {
    const pattern = `for pattern "${this.command}": ${this.detail}`
    switch (this.reason) {
      case "NotAllowed":
        return `Shell command permission check failed ${pattern}. Add it to the skill's allowed-tools, or allow it in the settings.`
      case "Unquotable":
        return `Shell command not run ${pattern}. Put double quotes around the placeholder in the skill, or use it outside the command.`
      case "Failed":
        return `Shell command failed ${pattern}`
    }
  }
}

/** What the policy says about a command, with these rules on top of those in force. */
export type MayRun = (
  command: string,
  allowed: ReadonlyArray<string>,
) => Effect.Effect<{ readonly behavior: "allow" | "ask" | "deny"; readonly reason: string }>

export type Services = Process | Host | Ripgrep | Sandbox | Workspace | FileSystem.FileSystem | Path.Path

export interface Job {
  readonly command: string
  /** Rules that the skill brings along. */
  readonly allowed: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
}

const maxOutputBytes = 29_000
const maxSpillBytes = 64 * 1024 * 1024

const timeoutMs = Effect.map(Host, ({ env }) => {
  const wanted = Number(env("BASH_DEFAULT_TIMEOUT_MS"))
  return Number.isFinite(wanted) && wanted > 0 ? wanted : 120_000
})

export const run = Effect.fnUntraced(function* (
  { allowed, command, env }: Job,
  mayRun: MayRun,
): Effect.fn.Return<string, ShellFailed, Services> {
  const verdict = yield* mayRun(command, allowed)
  if (verdict.behavior !== "allow") {
    return yield* new ShellFailed({ command, reason: "NotAllowed", detail: verdict.reason })
  }
  const timeout = yield* timeoutMs
  const result = yield* Effect.scoped(started(command, env, timeout))
  const output = said(result)
  if (result.timedOut) return yield* failed(command, `it was ended after ${timeout / 1000} s`, output)
  if (result.exitCode === 0 || (result.exitCode === 1 && meaningOfOne(command) !== undefined)) return output
  return yield* failed(command, `exit code ${result.exitCode}`, output)
})

const started = Effect.fnUntraced(
  function* (command: string, env: Job["env"], timeout: number) {
    const host = yield* Host
    const workspace = yield* Workspace
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const processes = yield* Process
    yield* Effect.ignore(fs.makeDirectory(workspace.spillDir, { recursive: true, mode: 0o700 }))
    const spec = {
      command: "bash",
      args: ["-c", command],
      cwd: workspace.cwd(),
      env: { ...host.allEnv, PWD: workspace.cwd(), CLAUDECODE: "1", GIT_EDITOR: "true", ...env },
    }
    const sheltered = yield* Shelter.started({ command }, spec, [])
    return yield* processes.run({
      ...sheltered.command,
      timeout,
      maxOutputBytes,
      maxSpillBytes,
      spillTo: path.join(workspace.spillDir, `${yield* Ids.short("skill")}.output.txt`),
    })
  },
  (effect, command) => Effect.mapError(effect, (error) => failed(command, error.message, "")),
)

const failed = (command: string, why: string, output: string): ShellFailed =>
  new ShellFailed({ command, reason: "Failed", detail: output === "" ? why : `${why}\n[stderr]\n${output}` })

const said = ({ combined, spilledTo, totalBytes }: RunResult): string => {
  const output = combined.replace(/^(?:[ \t]*\r?\n)+/, "").trimEnd()
  return spilledTo === undefined ? output : `${output}\n[The whole output, ${totalBytes} bytes, is in ${spilledTo}]`
}
