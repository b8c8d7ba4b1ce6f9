/** Owns where a replay takes place: a machine with nothing on it, and the real way to a model, at whose end somebody reads from records. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { CostGovernor } from "../cost/CostGovernor.ts"
import { ModelTable } from "../cost/ModelTable.ts"
import * as Ids from "../kernel/Ids.ts"
import { Model } from "../model/Model.ts"
import { Provider } from "../model/Provider.ts"
import { Files, type FilesShape } from "../platform/Files.ts"
import { Git } from "../platform/Git.ts"
import { Host, type HostFacts } from "../platform/Host.ts"
import { MemoryDisk } from "../platform/MemoryDisk.ts"
import * as MemoryFileSystem from "../platform/MemoryFileSystem.ts"
import { Process, ProcessError } from "../platform/Process.ts"
import { Ripgrep } from "../platform/Ripgrep.ts"
import { Workspace } from "../tools/Workspace.ts"

export type World =
  | Model
  | ModelTable
  | Files
  | FileSystem.FileSystem
  | Path.Path
  | Host
  | Git
  | Ripgrep
  | Process
  | Workspace

const nothingRuns = Process.layerScripted(({ command, cwd }) =>
  Effect.fail(new ProcessError({ command, cwd, reason: "NotFound", detail: "nothing is run in a replay" })),
)

/** A machine without files, programs and network. */
export const machine = (facts: HostFacts) =>
  Layer.mergeAll(Git.layer, Ripgrep.layerAt("rg")).pipe(
    Layer.provideMerge(nothingRuns),
    Layer.provideMerge(Layer.mergeAll(Files.layerMemory, MemoryFileSystem.layer, Path.layer)),
    Layer.provideMerge(Layer.mergeAll(MemoryDisk.layer(), Host.layerTest(facts))),
  )

export const layer = (
  provider: Provider["Service"],
  sessionId: string,
  facts: HostFacts & { readonly cwd: string },
  /** The platform's, where there is one: it is faster than ours. */
  hash?: FilesShape["hash"],
): Layer.Layer<World> =>
  Model.layer.pipe(
    Layer.provide(
      Layer.effect(
        Files,
        Effect.map(Files, (files) => Files.of(hash === undefined ? files : { ...files, hash })),
      ),
    ),
    Layer.provide(Layer.succeed(Provider, provider)),
    Layer.provide(CostGovernor.layer()),
    Layer.provideMerge(ModelTable.layer({})),
    Layer.provideMerge(Workspace.layer({ sessionId, cwd: facts.cwd })),
    Layer.provideMerge(machine(facts)),
    Layer.provideMerge(Ids.seeded),
  )
