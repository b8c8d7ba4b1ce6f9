/**
 * Owns a whole runtime without a machine: scripted model, files in memory, commands answered by a function. Under `TestClock` and
 * a seed a session gives the same journal, byte for byte, every time.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Runtime from "../Runtime.ts"
import * as Ids from "../kernel/Ids.ts"
import { Encoded } from "../kernel/Protocol.ts"
import type { HostFacts } from "../platform/Host.ts"
import { HttpFetch } from "../platform/HttpFetch.ts"
import type { MemoryDisk } from "../platform/MemoryDisk.ts"
import { Process, ProcessError, type RunOptions, type RunResult } from "../platform/Process.ts"
import { Ripgrep } from "../platform/Ripgrep.ts"
import * as ShellAnalysis from "../tools/ShellAnalysis.ts"
import type { SettingsError } from "../settings/SettingsError.ts"
import * as MemoryWorkspace from "./MemoryWorkspace.ts"
import type { Playbook, PlaybookError } from "./Playbook.ts"
import { ScriptedModel, type ScriptedModelOptions } from "./ScriptedModel.ts"

export interface TestRuntimeOptions extends ScriptedModelOptions {
  /** What is on the disk, by absolute path; the working directory is `/work`. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  readonly host?: HostFacts
  /** Whose settings, agents, skills and instructions among those files count; nobody's unless told. */
  readonly settings?: Runtime.RuntimeOptions["settings"]
  /** Answers the commands of tools. Without it no program is found. */
  readonly command?: (options: RunOptions) => Effect.Effect<Partial<RunResult>, ProcessError>
}

/** A runtime whose model plays the book. */
export const layer = (
  book: Playbook,
  options: TestRuntimeOptions = {},
): Layer.Layer<Runtime.Services | Runtime.Platform | MemoryDisk | ScriptedModel, PlaybookError | SettingsError> => {
  const model = ScriptedModel.layer(book, options)
  const world = Ripgrep.layerAt("rg").pipe(
    Layer.provideMerge(Process.layerScripted(options.command ?? notFound)),
    Layer.provideMerge(MemoryWorkspace.layer(options.files, options.host)),
    Layer.merge(noNetwork),
  )
  return Layer.merge(Runtime.layer({ provider: model, settings: options.settings }), model).pipe(
    Layer.provideMerge(world),
    Layer.provideMerge(Ids.seeded),
    // Loading takes real time, and no virtual time may pass meanwhile.
    Layer.merge(Layer.effectDiscard(ShellAnalysis.analyser)),
    // Every message between actors goes through its JSON form: nothing local sneaks into one.
    Layer.provideMerge(Layer.succeed(Encoded, true)),
    Layer.provideMerge(
      Layer.effect(Random.Random, Random.withSeed(Effect.service(Random.Random), options.seed ?? "troupe")),
    ),
  )
}

const notFound = (options: RunOptions) =>
  Effect.fail(
    new ProcessError({
      command: options.command,
      cwd: options.cwd,
      reason: "NotFound",
      detail: "no commands in this test",
    }),
  )

const noNetwork = Layer.succeed(HttpFetch, () => Promise.reject(new Error("There is no network in this test.")))
