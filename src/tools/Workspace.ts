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
import * as Schema from "effect/Schema"
import { HookEngine } from "../hooks/HookEngine.ts"
import { Host } from "../platform/Host.ts"
import * as PathFence from "../security/PathFence.ts"
import { under } from "../security/Sensitive.ts"

export interface WorkspaceOptions {
  readonly sessionId: string
  readonly cwd: string
  readonly addDirs?: ReadonlyArray<string>
}

/** A directory that cannot become a part of the workspace. */
export class NotAddable extends Schema.TaggedError<NotAddable>()("NotAddable", {
  directory: Schema.String,
  why: Schema.String,
}) {
  override get message(): string {
    return `${this.directory} cannot be added: ${this.why}.`
  }
}

export class Workspace extends Context.Service<
  Workspace,
  {
    readonly sessionId: string
    /** Where the session was opened. */
    readonly root: string
    /** The root and the directories added to it. It grows in its place with `add`. */
    readonly roots: ReadonlyArray<string>
    /** One more directory to work in; answers its path. */
    readonly add: (directory: string) => Effect.Effect<string, NotAddable>
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
      const root = fence.realRoots.findIndex((one) => under(one, at))
      if (root === -1) return false
      // Without the links on the way below the root: from behind one, `..` and git would lead elsewhere than the name says.
      const plain = (roots[root] ?? "") + at.slice((fence.realRoots[root] ?? "").length)
      const isDirectory = yield* fs.stat(to).pipe(
        Effect.map((info) => info.type === "Directory"),
        Effect.orElseSucceed(() => false),
      )
      if (!isDirectory) return false
      const from = cwd
      cwd = plain
      const { concerns, fire } = yield* HookEngine
      // Waited for: the next command may need the variables they leave.
      if (from !== plain && concerns("CwdChanged")) yield* fire("CwdChanged", { old_cwd: from, new_cwd: plain })
      return true
    }),
    add: Effect.fnUntraced(function* (given) {
      const directory = fence.resolve(given)
      const kind = yield* fs.stat(directory).pipe(
        Effect.map(({ type }) => type),
        Effect.orElseSucceed(() => undefined),
      )
      if (kind === undefined) return yield* new NotAddable({ directory, why: "there is nothing there" })
      if (kind !== "Directory") return yield* new NotAddable({ directory, why: "it is no directory" })
      if (yield* fence.contains(directory)) {
        return yield* new NotAddable({ directory, why: "it belongs to the workspace already" })
      }
      roots.push(directory)
      yield* fence.add(directory)
      return directory
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
