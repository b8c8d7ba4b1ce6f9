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
  }
>()("troupe/tools/Workspace") {
  static readonly layer = (
    options: WorkspaceOptions,
  ): Layer.Layer<Workspace, never, FileSystem.FileSystem | Path.Path | Host> => Layer.effect(Workspace, make(options))
}

const sensitiveDirectories = new Set([
  ".git",
  ".claude",
  ".vscode",
  ".idea",
  ".husky",
  ".devcontainer",
  ".ssh",
  ".gnupg",
  ".aws",
])
const sensitiveFiles = new Set([
  ".gitconfig",
  ".gitmodules",
  ".gitattributes",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".profile",
  ".inputrc",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  "config.fish",
  ".envrc",
  ".netrc",
  ".npmrc",
  ".yarnrc",
  ".yarnrc.yml",
  ".ripgreprc",
  ".mcp.json",
  ".claude.json",
])

const make = Effect.fnUntraced(function* (options: WorkspaceOptions) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const host = yield* Host

  const resolveFrom = (base: string, given: string): string =>
    given === "~" || given.startsWith("~/") ? path.join(host.home, given.slice(1)) : path.resolve(base, given)

  const real = (at: string, hops = 0): Effect.Effect<string> =>
    fs.realPath(at).pipe(
      Effect.catch(() =>
        // Missing, or a link whose target is missing: writing would follow the link, so it is followed here too.
        fs.readLink(at).pipe(
          Effect.flatMap((link) =>
            hops > 40 ? Effect.succeed(at) : real(path.resolve(path.dirname(at), link), hops + 1),
          ),
          Effect.catch(() => {
            const parent = path.dirname(at)
            return parent === at
              ? Effect.succeed(at)
              : Effect.map(real(parent, hops), (above) => path.join(above, path.basename(at)))
          }),
        ),
      ),
    )

  const under = (directory: string, at: string): boolean => {
    if (at === directory) return true
    const prefix = directory.endsWith(path.sep) ? directory : directory + path.sep
    return at.startsWith(prefix)
  }

  const root = resolveFrom(host.cwd, options.cwd)
  const roots = [...new Set([root, ...(options.addDirs ?? []).map((directory) => resolveFrom(root, directory))])]
  const spillDir = path.join(host.configDir, "troupe", "sessions", options.sessionId, "outputs")
  const realRoots = yield* Effect.forEach(roots, (directory) => real(directory))
  const realConfig = yield* real(host.configDir)
  let cwd = root

  const contains = (given: string) =>
    Effect.gen(function* () {
      const at = yield* real(resolveFrom(cwd, given))
      return realRoots.some((directory) => under(directory, at)) || under(yield* real(spillDir), at)
    })

  /** Only what lies below a root counts: a workspace inside `.claude/worktrees` is not sensitive as a whole. */
  const isSensitive = (given: string): boolean => {
    const at = resolveFrom(cwd, given)
    const base = [...roots, ...realRoots]
      .filter((directory) => under(directory, at))
      .sort((a, b) => b.length - a.length)[0]
    const config = [host.configDir, realConfig].find((directory) => under(directory, at))
    if (config !== undefined && (base === undefined || !under(config, base))) return true
    const parts = (base === undefined ? at : path.relative(base, at)).toLowerCase().split(path.sep)
    return parts.some((part) => sensitiveDirectories.has(part)) || sensitiveFiles.has(parts.at(-1) ?? "")
  }

  return Workspace.of({
    sessionId: options.sessionId,
    root,
    roots,
    cwd: () => cwd,
    enter: Effect.fnUntraced(function* (directory: string) {
      const to = resolveFrom(cwd, directory)
      const at = yield* real(to)
      if (!realRoots.some((one) => under(one, at))) return false
      const isDirectory = yield* fs.stat(to).pipe(
        Effect.map((info) => info.type === "Directory"),
        Effect.orElseSucceed(() => false),
      )
      if (isDirectory) cwd = to
      return isDirectory
    }),
    resolve: (given) => resolveFrom(cwd, given),
    real: (given) => real(resolveFrom(cwd, given)),
    contains,
    isSensitive,
    relative: (given) => {
      const at = resolveFrom(cwd, given)
      return under(root, at) ? path.relative(root, at) || "." : at
    },
    spillDir,
  })
})
