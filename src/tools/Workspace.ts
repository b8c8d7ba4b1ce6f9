/**
 * Owns where a session works: its directories, the shell's current one, and what lies outside or must not be touched lightly.
 *
 * A path counts as inside only after its links are followed: a link that leads out is outside.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { Host } from "../platform/Host.ts"
import * as PathFence from "../security/PathFence.ts"
import { under } from "../security/Sensitive.ts"

export interface WorkspaceOptions {
  readonly sessionId: string
  readonly cwd: string
  readonly addDirs?: ReadonlyArray<string>
}

export class Workspace extends Context.Service<
  Workspace,
  {
    readonly sessionId: string
    /** Where the session was opened. */
    readonly root: string
    /** The root and the directories added to it. */
    readonly roots: ReadonlyArray<string>
    /** The shell's directory; relative paths start here. */
    readonly cwd: () => string
    /** Moves the shell's directory; `false` and no move when that leaves the workspace or is no directory. */
    readonly enter: (directory: string) => Effect.Effect<boolean>
    /** Absolute and normalised; `~` is the user's home. */
    readonly resolve: (path: string) => string
    /** The place a path finally names, also when nothing exists there yet. */
    readonly real: (path: string) => Effect.Effect<string>
    /** Inside the roots (or this session's own outputs) once links are followed. */
    readonly contains: (path: string) => Effect.Effect<boolean>
    /** Writing it could change how tools, shells or this program behave. By name: ask for the `real` path too. */
    readonly isSensitive: (path: string) => boolean
    /** Short form for people: relative to the root when inside it. */
    readonly relative: (path: string) => string
    /** Where output goes that is too long for the model. */
    readonly spillDir: string
    /** What may be touched, and what about a path deceives. */
    readonly fence: PathFence.PathFence
  }
>()("troupe/tools/Workspace") {
  static readonly layer = (
    options: WorkspaceOptions,
  ): Layer.Layer<Workspace, never, FileSystem.FileSystem | Path.Path | Host> => Layer.effect(Workspace, make(options))
}

const make = Effect.fnUntraced(function* (options: WorkspaceOptions) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const host = yield* Host

  const resolveFrom = (base: string, given: string): string =>
    given === "~" || given.startsWith("~/") ? path.join(host.home, given.slice(1)) : path.resolve(base, given)
  const root = resolveFrom(host.cwd, options.cwd)
  const roots = [...new Set([root, ...(options.addDirs ?? []).map((directory) => resolveFrom(root, directory))])]
  const spillDir = path.join(host.configDir, "troupe", "sessions", options.sessionId, "outputs")
  let cwd = root
  const fence = yield* PathFence.make({
    roots,
    own: [spillDir],
    home: host.home,
    configDir: host.configDir,
    cwd: () => cwd,
  })

  return Workspace.of({
    sessionId: options.sessionId,
    root,
    roots,
    fence,
    cwd: () => cwd,
    enter: Effect.fnUntraced(function* (directory: string) {
      const to = fence.resolve(directory)
      const at = yield* fence.real(to)
      if (!fence.realRoots.some((one) => under(one, at))) return false
      const isDirectory = yield* fs.stat(to).pipe(
        Effect.map((info) => info.type === "Directory"),
        Effect.orElseSucceed(() => false),
      )
      if (isDirectory) cwd = to
      return isDirectory
    }),
    resolve: fence.resolve,
    real: fence.real,
    contains: fence.contains,
    isSensitive: fence.isProtected,
    relative: (given) => {
      const at = fence.resolve(given)
      return under(root, at) ? path.relative(root, at) || "." : at
    },
    spillDir,
  })
})
