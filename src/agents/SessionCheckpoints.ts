/** Owns what a session keeps of files before they are changed: whether it does, where, and in which directories. */
import * as Effect from "effect/Effect"
import { Host } from "../platform/Host.ts"
import * as PathFence from "../security/PathFence.ts"
import * as Checkpoints from "../session/Checkpoints.ts"
import * as FileHistory from "../session/FileHistory.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import type { Ground } from "../session/Rewind.ts"

export interface KeepingOptions {
  readonly recorder: RecorderShape
  readonly wanted: boolean
  readonly allowed: boolean
  readonly cwd: string
  readonly addDirs: ReadonlyArray<string>
  readonly isBusy: () => boolean
}

const off: Checkpoints.CheckpointsShape = {
  promptBegan: () => Effect.void,
  before: () => Effect.void,
  after: () => Effect.void,
}

export const make = Effect.fnUntraced(function* (options: KeepingOptions) {
  const { addDirs, allowed, cwd, isBusy, recorder, wanted } = options
  const { configDir, home } = yield* Host
  // Until the workspace is there, which may grow.
  let fence: Pick<PathFence.PathFence, "realRoots"> = yield* PathFence.make({
    roots: [cwd, ...addDirs],
    home,
    configDir,
    cwd: () => cwd,
  })
  const roots = () => fence.realRoots
  const history = yield* FileHistory.make(recorder.sessionId, recorder.history.elders)
  const checkpoints = yield* Checkpoints.make({ recorder, history, roots, isBusy })
  const ground: Ground = { roots, history, checkpoints }
  return {
    ground,
    shape: wanted && allowed ? checkpoints.shape : off,
    worksIn: (workspace: PathFence.PathFence) => {
      fence = workspace
    },
  }
})
