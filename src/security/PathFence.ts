/**
 * Owns whether a path may be touched: where it really leads once links are followed, whether that is inside the workspace, and
 * what about it deceives. What is checked here can change before it is used: writes go through `Files.writeInside`.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as PathName from "./PathName.ts"
import * as Sensitive from "./Sensitive.ts"

export interface Grounds {
  /** The workspace: the session's directory and those added to it, absolute. */
  readonly roots: ReadonlyArray<string>
  /** Inside as well, though no part of the workspace: a session's own outputs. */
  readonly own?: ReadonlyArray<string>
  readonly home: string
  readonly configDir: string
  /** Where relative paths start; it moves. */
  readonly cwd: () => string
}

export type Intent = "read" | "write"

export interface Verdict {
  readonly given: string
  /** Absolute and normalised, links not followed. */
  readonly at: string
  /** The place it finally names, also when nothing exists there yet. */
  readonly real: string
  readonly inside: boolean
  /** Writing it could change how tools, shells or this program behave. */
  readonly protected: boolean
  /** It holds credentials. */
  readonly secret: boolean
  /** Why it must not be touched at all, and what to do instead. */
  readonly problem?: string
}

export interface PathFence {
  /** The roots with links followed, as they were when they became one. It grows in its place with `add`. */
  readonly realRoots: ReadonlyArray<string>
  /** One more root, absolute. */
  readonly add: (root: string) => Effect.Effect<void>
  /** Absolute and normalised; `~` is the user's home. */
  readonly resolve: (path: string) => string
  readonly real: (path: string) => Effect.Effect<string>
  readonly contains: (path: string) => Effect.Effect<boolean>
  /** By name: ask for the real path too. */
  readonly isProtected: (path: string) => boolean
  readonly isSecret: (path: string) => boolean
  readonly check: (path: string, intent: Intent) => Effect.Effect<Verdict>
}

const mostHops = 40

/** The place a path finally names: links are followed up to the deepest ancestor that exists. `undefined`: they lead in a circle. */
export const real = Effect.fnUntraced(function* (at: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const follow = (here: string, hops: number): Effect.Effect<string | undefined> =>
    fs.realPath(here).pipe(
      Effect.catch(() =>
        // Missing, or a link whose target is missing: writing would follow the link, so it is followed here too.
        fs.readLink(here).pipe(
          Effect.flatMap((link) =>
            hops >= mostHops ? Effect.undefined : follow(path.resolve(path.dirname(here), link), hops + 1),
          ),
          Effect.catch(() => {
            const parent = path.dirname(here)
            return parent === here
              ? Effect.succeed(here)
              : Effect.map(follow(parent, hops), (above) =>
                  above === undefined ? undefined : path.join(above, path.basename(here)),
                )
          }),
        ),
      ),
    )
  return yield* follow(at, 0)
})

export const make = Effect.fnUntraced(function* (grounds: Grounds) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const follow = (at: string) => Effect.provideContext(real(at), services)
  const followed = (at: string) => Effect.map(follow(at), (found) => found ?? at)

  const realRoots = yield* Effect.forEach(grounds.roots, followed)
  const realConfig = yield* followed(grounds.configDir)
  const allRoots = [...new Set([...grounds.roots, ...realRoots])]

  const resolve = (given: string): string =>
    given === "~" || given.startsWith("~/")
      ? path.join(grounds.home, given.slice(1))
      : path.resolve(grounds.cwd(), given)

  const holds = Effect.fnUntraced(function* (at: string) {
    if (realRoots.some((root) => Sensitive.under(root, at))) return true
    const own = yield* Effect.forEach(grounds.own ?? [], followed)
    return own.some((directory) => Sensitive.under(directory, at))
  })

  const isProtected = (given: string): boolean => {
    const at = resolve(given)
    const base = allRoots.filter((root) => Sensitive.under(root, at)).sort((a, b) => b.length - a.length)[0]
    const config = [grounds.configDir, realConfig].find((directory) => Sensitive.under(directory, at))
    if (config !== undefined && (base === undefined || !Sensitive.under(config, base))) return true
    return Sensitive.isProtected(at, allRoots)
  }

  /** `link/..` is one place to the system and another on paper; which one was meant, nobody can tell. */
  const climbsFromLink = Effect.fnUntraced(function* (given: string) {
    const parts = given.split(path.sep)
    for (let index = 1; index < parts.length; index++) {
      if (parts[index] !== "..") continue
      const above = parts.slice(0, index).join(path.sep)
      if (above === "" || /(?:^|[/\\])\.\.?$/.test(above)) continue
      const link = yield* fs.readLink(resolve(above)).pipe(Effect.orElseSucceed(() => undefined))
      if (link !== undefined) return `${given} goes up (..) from ${above}, which is a link. Name the place directly.`
    }
    return undefined
  })

  /** A name that a person cannot tell from one that is there already. */
  const twin = Effect.fnUntraced(function* (at: string) {
    let here = at
    for (;;) {
      const directory = path.dirname(here)
      if (directory === here) return undefined
      const siblings = yield* fs.readDirectory(directory).pipe(Effect.orElseSucceed(() => undefined))
      if (siblings === undefined) {
        here = directory
        continue
      }
      const name = path.basename(here)
      if (siblings.includes(name)) return undefined
      const same = siblings.find((one) => PathName.composed(one) === PathName.composed(name))
      if (same !== undefined) {
        return `"${name}" differs only in Unicode normalisation from "${same}", which exists in ${directory}. Use the name that exists.`
      }
      // Not listed and there all the same: the file system takes another spelling for it.
      if (!(yield* fs.exists(here).pipe(Effect.orElseSucceed(() => false)))) return undefined
      const other = siblings.find((one) => PathName.folded(one) === PathName.folded(name))
      return other === undefined
        ? undefined
        : `"${name}" is "${other}" to the file system of ${directory}, which ignores case. Use the name that exists.`
    }
  })

  const problemOfKind = (at: string) =>
    fs.stat(at).pipe(
      Effect.map((info) =>
        info.type === "File" || info.type === "Directory" || info.type === "SymbolicLink" || info.type === "Unknown"
          ? undefined
          : `${at} is no regular file (${info.type}): reading or writing it may never end.`,
      ),
      Effect.orElseSucceed(() => undefined),
    )

  const check = Effect.fnUntraced(function* (given: string, intent: Intent) {
    const lettered = PathName.problemOfText(given)
    const at = given.includes("\0") ? given : resolve(given)
    const judged = { given, at, protected: isProtected(at), secret: Sensitive.isSecret(at, grounds) }
    if (lettered !== undefined) return { ...judged, real: at, inside: false, problem: lettered } satisfies Verdict
    const found = yield* follow(at)
    const place = found ?? at
    const inside = yield* holds(place)
    const problem =
      (found === undefined ? `${given} is a link that leads in a circle.` : undefined) ??
      PathName.problemOfPlace(at) ??
      // The real place of /dev/stdout and its like is a descriptor, and harmless all the same.
      (PathName.isHarmlessDevice(at) ? undefined : PathName.problemOfPlace(place)) ??
      PathName.problemOfText(place) ??
      (yield* climbsFromLink(given)) ??
      (PathName.isHarmlessDevice(at) ? undefined : yield* problemOfKind(place)) ??
      (intent === "write" || inside
        ? ((yield* twin(at)) ?? (place === at ? undefined : yield* twin(place)))
        : undefined)
    return {
      ...judged,
      real: place,
      inside,
      protected: judged.protected || isProtected(place),
      secret: judged.secret || Sensitive.isSecret(place, grounds),
      ...(problem !== undefined && { problem }),
    } satisfies Verdict
  })

  const fence: PathFence = {
    realRoots,
    add: Effect.fnUntraced(function* (root) {
      const place = yield* followed(root)
      realRoots.push(place)
      allRoots.push(...new Set([root, place]))
    }),
    resolve,
    real: (given) => followed(resolve(given)),
    contains: (given) => Effect.flatMap(followed(resolve(given)), holds),
    isProtected,
    isSecret: (given) => Sensitive.isSecret(resolve(given), grounds),
    check,
  }
  return fence
})
