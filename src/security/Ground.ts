/** Owns finding, in the directories a sandbox may write, what it must not see (secrets) and must not change (what steers tools). */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Sensitive from "./Sensitive.ts"

export interface Ground {
  readonly secretFiles: ReadonlyArray<string>
  readonly secretDirectories: ReadonlyArray<string>
  /** Present, to be mounted read-only. */
  readonly fixed: ReadonlyArray<string>
  /** Parents of those that must not be moved away from under them. */
  readonly pinned: ReadonlyArray<string>
  /** Steering files that are not there, or are links: nothing can be mounted on them, so they are looked at again afterwards. */
  readonly watched: ReadonlyArray<string>
  /** The workspace is too large or too deep to have been seen whole. */
  readonly partial: boolean
}

/** At the top of a root they may not appear either; below it they are fixed where they exist. */
const steering = new Set(
  (
    ".claude .mcp.json .claude.json .vscode .idea .husky .devcontainer .gitconfig .gitmodules .bashrc .bash_profile .bash_login " +
    ".bash_logout .bash_aliases .profile .inputrc .zshrc .zshenv .zprofile .zlogin .zlogout .ripgreprc .npmrc .yarnrc .yarnrc.yml"
  ).split(" "),
)
const gitSteering = ["hooks", "config", "config.worktree", "commondir"]
/** Large, made by tools, and without secrets of the user's own. */
const skipped = new Set(
  "node_modules .git .venv venv target dist build .next .cache __pycache__ .tox vendor".split(" "),
)
const deepest = 4
const most = 2000

export const survey = Effect.fnUntraced(function* (
  roots: ReadonlyArray<string>,
  options: { readonly denyRead: ReadonlyArray<string> },
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const globs = options.denyRead.filter((one) => one.includes("*"))
  const isDenied: (at: string) => boolean =
    globs.length === 0 ? () => false : (yield* Effect.promise(() => import("picomatch"))).default(globs, { dot: true })
  const found = {
    secretFiles: new Set<string>(),
    secretDirectories: new Set<string>(),
    fixed: new Set<string>(),
    pinned: new Set<string>(),
    watched: new Set<string>(),
  }
  const typeOf = (at: string) =>
    Effect.gen(function* () {
      const link = yield* fs.readLink(at).pipe(Effect.orElseSucceed(() => undefined))
      if (link !== undefined) return "Link" as const
      return yield* fs.stat(at).pipe(
        Effect.map((info) => (info.type === "Directory" ? ("Directory" as const) : ("File" as const))),
        Effect.orElseSucceed(() => undefined),
      )
    })

  const fix = Effect.fnUntraced(function* (at: string, top: boolean) {
    const type = yield* typeOf(at)
    if (type === "Directory" || type === "File") found.fixed.add(at)
    // Only where no link can be put in between: what is taken away later must be the command's own.
    else if (top) found.watched.add(at)
  })

  const repository = Effect.fnUntraced(function* (at: string, top: boolean) {
    if ((yield* typeOf(at)) !== "Directory") return yield* fix(at, false)
    // A writable mount only where no other command can have put a link on the way to it.
    if (top) found.pinned.add(at)
    // An empty one means nothing to git, and a mount needs a place.
    yield* Effect.ignore(fs.makeDirectory(path.join(at, "hooks"), { recursive: true }))
    for (const name of gitSteering) yield* fix(path.join(at, name), top)
  })

  // Rules that a person saves while a command runs must not be taken for the command's: there is always something to mount on.
  for (const root of roots) yield* Effect.ignore(fs.makeDirectory(path.join(root, ".claude")))

  let seen = 0
  let partial = false
  let level: ReadonlyArray<string> = [...roots]
  for (let depth = 0; level.length > 0; depth++) {
    const below: Array<string> = []
    for (const directory of level) {
      if (depth > deepest || ++seen > most) {
        partial = true
        break
      }
      const names = yield* fs.readDirectory(directory).pipe(Effect.orElseSucceed((): Array<string> => []))
      for (const name of names) {
        const at = path.join(directory, name)
        if (Sensitive.isEnvFile(name) || isDenied(at)) {
          const type = yield* typeOf(at)
          // A directory called `.env` is a Python environment.
          if (type === "Directory" && isDenied(at)) found.secretDirectories.add(at)
          if (type === "File") found.secretFiles.add(at)
          // The link stays; what it leads to is what must not be read.
          if (type === "Link") {
            const real = yield* fs.realPath(at).pipe(Effect.orElseSucceed(() => undefined))
            if (real !== undefined && (yield* typeOf(real)) === "File") found.secretFiles.add(real)
          }
        } else if (name === ".git") yield* repository(at, depth === 0)
        else if (steering.has(name)) yield* fix(at, depth === 0)
        // A name with a dot in it is a file far more often than not; asking the system about each would cost more than it finds.
        else if (!skipped.has(name) && !/[^.]\.\w+$/.test(name) && (yield* typeOf(at)) === "Directory") below.push(at)
      }
    }
    level = below
  }
  for (const root of roots)
    for (const name of steering) {
      const at = path.join(root, name)
      if (!found.fixed.has(at)) yield* fix(at, true)
    }
  const ground: Ground = {
    secretFiles: [...found.secretFiles],
    secretDirectories: [...found.secretDirectories],
    fixed: [...found.fixed],
    pinned: [...found.pinned],
    watched: [...found.watched],
    partial,
  }
  return ground
})

/** Steering files that a command made although none was there, moved below `to`, where they steer nothing. Says which, and where. */
export const quarantine = Effect.fnUntraced(function* (watched: ReadonlyMap<string, string | undefined>, to: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const moved: Array<{ readonly at: string; readonly to: string }> = []
  for (const [at, before] of watched) {
    const now = yield* sign(at)
    if (now === before || now === undefined) continue
    const move = Effect.gen(function* () {
      const parent = path.dirname(at)
      // Through a link it would be somebody else's file.
      if ((yield* fs.realPath(parent)) !== parent) return undefined
      yield* fs.makeDirectory(to, { recursive: true, mode: 0o700 })
      const place = path.join(yield* fs.makeTempDirectory({ directory: to, prefix: "made-" }), path.basename(at))
      yield* Effect.catch(fs.rename(at, place), () =>
        // Another file system.
        Effect.andThen(fs.copy(at, place), fs.remove(at, { recursive: true })),
      )
      return { at, to: place }
    })
    const done = yield* Effect.orElseSucceed(move, () => undefined)
    if (done !== undefined) moved.push(done)
  }
  return moved
})

/** Tells whether something is still what it was. */
export const sign = Effect.fnUntraced(function* (at: string) {
  const fs = yield* FileSystem.FileSystem
  const link = yield* fs.readLink(at).pipe(Effect.orElseSucceed(() => undefined))
  if (link !== undefined) return `link ${link}`
  return yield* fs.stat(at).pipe(
    Effect.map((info) => `${info.type}`),
    Effect.orElseSucceed(() => undefined),
  )
})
