/**
 * Owns the look at the workspace: which files lie in it, and which of them have changed since the last look.
 *
 * A look costs one `lstat` for each file and directory, and starts no program while no directory has changed: only then ripgrep says
 * which files there are in that one, beside the looking. What ignore files hide and what lies in `.git` is not looked at. A file that was changed
 * within the grain of the clock looks the same afterwards, so those that were just written are told of once more.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Files, type Look } from "../platform/Files.ts"
import { Ripgrep } from "../platform/Ripgrep.ts"
import { under } from "../security/Sensitive.ts"

/** More files than this are not looked at. */
export const MostFiles = Context.Reference<number>("troupe/session/WorkTree/MostFiles", { defaultValue: () => 50_000 })

/** A file that may have changed: `before` and `after` are the same where only its content can tell. */
export interface Seen {
  readonly path: string
  readonly before: Look | undefined
  readonly after: Look | undefined
}

export interface WorkTree {
  /** What may have changed since the last look; the first one finds everything. Fails with why nothing can be looked at. */
  readonly look: Effect.Effect<ReadonlyArray<Seen>, string>
}

export interface WorkTreeOptions {
  readonly roots: () => ReadonlyArray<string>
  /** Our own files are nobody's work. */
  readonly without: string
}

/** Which files there are: everywhere, or in the directories that were asked about. */
interface Listing {
  readonly names: ReadonlySet<string>
  readonly whole: boolean
}

/** So many directories are asked about one by one. */
const few = 200

/** Two changes within this time may leave the same stamp. */
const grain = 50

export const make = Effect.fnUntraced(function* ({ roots, without }: WorkTreeOptions) {
  const disk = yield* Files
  const ripgrep = yield* Ripgrep
  const most = yield* MostFiles
  const files = new Map<string, Look>()
  /** Those that files lie in, and those beside them in which there are none to look at. */
  const directories = new Map<string, Look | undefined>()
  /** Of them those that files lie in. */
  let inside = new Set<string>()
  let lookedAt = Number.NEGATIVE_INFINITY

  /** What was changed within the grain of the last look may have been changed again. */
  const doubtful = () => lookedAt - grain

  /** Directories in which names may have come or gone; `undefined`: nobody has looked yet, or the roots are others. */
  const moved = Effect.suspend(() =>
    roots().some((root) => !directories.has(root))
      ? Effect.undefined
      : Effect.map(disk.differing(directories, doubtful()), (found) => found.map(({ path }) => path)),
  )

  const run = Effect.fnUntraced(function* (root: string, where: ReadonlyArray<string>, depth: ReadonlyArray<string>) {
    let count = 0
    const tooMany = yield* Deferred.make<never, string>()
    const counted = (lines: ReadonlyArray<string>) => {
      count += lines.length
      if (count > most) Deferred.doneUnsafe(tooMany, Effect.fail(`there are more than ${most} files in ${root}`))
    }
    const args = [
      "--files",
      "--hidden",
      "--no-ignore-dot",
      "--no-messages",
      ...depth,
      "--glob",
      "!.git",
      "--",
      ...where,
    ]
    const listed = ripgrep.run(args, root, { onLines: counted }).pipe(
      Effect.mapError(({ message }) => `the files of ${root} cannot be listed: ${message}`),
      Effect.flatMap(({ lines, truncated }) =>
        truncated ? Effect.fail(`the names of the files in ${root} are too long`) : Effect.succeed(lines),
      ),
    )
    return yield* Effect.raceFirst(listed, Deferred.await(tooMany))
  })

  const ownRoots = () => roots().filter((one) => !roots().some((other) => other !== one && under(other, one)))

  /** Every file of each root that lies in no other one. */
  const listAll = Effect.suspend(() =>
    Effect.map(
      Effect.forEach(ownRoots(), (root) => run(root, [root], [])),
      (found): Listing => ({ names: new Set(found.flat().filter((name) => !under(without, name))), whole: true }),
    ),
  )

  /** The files in some directories themselves, where none of them is new. */
  const listIn = Effect.fnUntraced(function* (some: ReadonlyArray<string>) {
    const below = (yield* disk.directories(some)).flat()
    const isKnown = some.length <= few && some.every((at) => inside.has(at)) && below.every((at) => known(at))
    const [root] = some
    if (!isKnown || root === undefined) return yield* listAll
    const names = yield* run(root, some, ["--max-depth", "1"])
    return { names: new Set(names), whole: false } satisfies Listing
  })
  const known = (at: string) => directories.has(at) || at.endsWith("/.git") || at === without

  /** Follows the directories that the files lie in, and the empty and the hidden ones beside them. */
  const follow = Effect.fnUntraced(function* ({ names, whole }: Listing, changed: ReadonlyArray<string>) {
    if (!whole) {
      const now = yield* disk.looks(changed)
      for (const [index, at] of changed.entries()) directories.set(at, now[index])
      return
    }
    inside = new Set(roots())
    for (const name of names) {
      for (let at = name.slice(0, name.lastIndexOf("/")); at !== "" && !inside.has(at);) {
        inside.add(at)
        at = at.slice(0, at.lastIndexOf("/"))
      }
    }
    for (const at of inside) if (!roots().some((root) => under(root, at))) inside.delete(at)
    const beside = (yield* disk.directories([...inside])).flat().filter((at) => !at.endsWith("/.git") && at !== without)
    const all = [...new Set([...inside, ...beside])]
    const now = yield* disk.looks(all)
    directories.clear()
    for (const [index, at] of all.entries()) directories.set(at, now[index])
  })

  const look = Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const changed = yield* moved
    const list = changed === undefined ? listAll : listIn(changed)
    const isQuiet = changed?.length === 0
    const listing = isQuiet ? undefined : yield* Effect.forkChild(list, { startImmediately: true })
    const found = (yield* disk.differing(files, doubtful())).map(({ now, path }): Seen => ({
      path,
      before: files.get(path),
      after: regular(now),
    }))
    const rules = found.some(({ path }) => path.endsWith("/.gitignore"))
    const first = listing === undefined ? undefined : yield* Fiber.join(listing)
    const listed = rules && first?.whole !== true ? yield* listAll : first
    if (listed !== undefined) {
      const fresh = [...listed.names].filter((name) => !files.has(name))
      const looks = yield* disk.looks(fresh)
      for (const [index, path] of fresh.entries()) {
        const after = regular(looks[index])
        if (after !== undefined) found.push({ path, before: undefined, after })
      }
      yield* follow(listed, changed ?? [])
    }
    for (const { path, after } of found) {
      if (after === undefined) files.delete(path)
      else files.set(path, after)
    }
    // Hidden by a rule since then, and still there: nobody looks at it any more.
    if (listed?.whole === true) for (const path of files.keys()) if (!listed.names.has(path)) files.delete(path)
    lookedAt = startedAt
    return found
  })

  return { look } satisfies WorkTree
})

const regular = (look: Look | undefined) => (look?.kind === "file" ? look : undefined)

export const isSame = (a: Look | undefined, b: Look | undefined): boolean =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    a.kind === b.kind &&
    a.size === b.size &&
    a.mtime === b.mtime &&
    a.ctime === b.ctime &&
    a.ino === b.ino &&
    a.mode === b.mode)
