/**
 * Owns where skills and commands lie on the disk: which directories count for a session, which files in them are skills, and what
 * each is called. Nothing is parsed here.
 */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import { Files } from "../platform/Files.ts"
import { findRoot } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import { managedDirectories } from "../settings/Sources.ts"
import type { Origin, Plugin, Problem, Source } from "./Skill.ts"

/** Where a session works, and what of it counts. */
export interface Place {
  readonly cwd: string
  readonly addDirs?: ReadonlyArray<string>
  /** Directories below that work has come to: their own skills count from then on. */
  readonly nested?: ReadonlyArray<string>
  /** `--setting-sources`; the machine's always count. */
  readonly sources?: ReadonlyArray<"user" | "project" | "local">
  /** Only what the machine's policy and plugins bring (`strictPluginOnlyCustomization`). */
  readonly locked?: boolean
  readonly managedDirectory?: string
}

/** A directory of skills, or of commands. */
export interface Root {
  readonly origin: Origin
  readonly form: Source["form"]
  readonly directory: string
  readonly below?: string
  readonly plugin?: Plugin
}

/** A file that is a skill by its place. */
export interface Candidate {
  readonly name: string
  readonly alias?: string
  readonly source: Source
  /** Something about the place that is not as it should be. */
  readonly problem?: string
}

export interface Found {
  readonly candidates: ReadonlyArray<Candidate>
  readonly problems: ReadonlyArray<Problem>
}

/** The strongest first. A directory need not exist. */
export const roots = Effect.fnUntraced(function* (place: Place) {
  const host = yield* Host
  const path = yield* Path.Path
  const counts = (kind: "user" | "project") => place.locked !== true && (place.sources?.includes(kind) ?? true)
  const inside = (origin: Origin, directory: string, below?: string): ReadonlyArray<Root> =>
    (["skill", "command"] as const).map((form) => ({
      origin,
      form,
      directory: path.join(directory, `${form}s`),
      ...(below !== undefined && { below }),
    }))
  const managed = place.managedDirectory ?? managedDirectories[host.platform]
  const found = [...inside("managed", path.join(managed, ".claude"))]
  if (counts("user")) found.push(...inside("user", host.configDir))
  const own = (directory: string) => path.join(directory, ".claude")
  if (counts("project")) {
    for (const directory of yield* upwards(place.cwd)) found.push(...inside("project", own(directory)))
    for (const directory of place.addDirs ?? []) found.push(...inside("added", own(path.resolve(place.cwd, directory))))
    for (const directory of place.nested ?? []) {
      const below = path.relative(place.cwd, directory).split(path.sep).join("/")
      found.push(...inside("nested", own(directory), below).filter(({ form }) => form === "skill"))
    }
  }
  // In the home directory the user's skills are found a second time, as the project's: they count once.
  return found.filter(({ directory }, at) => found.findIndex((other) => other.directory === directory) === at)
})

/** From a directory up to the root of its repository; only itself outside of one. */
const upwards = Effect.fnUntraced(function* (cwd: string) {
  const path = yield* Path.Path
  const top = (yield* findRoot(cwd)) ?? cwd
  const directories = [cwd]
  for (let at = cwd; at !== top && path.dirname(at) !== at;) {
    at = path.dirname(at)
    directories.push(at)
  }
  return directories
})

/** Spellings of SKILL.md that are understood, the proper one first. */
const spellings = ["SKILL.md", "skill.md", "Skill.md"]

const bounds = { depth: 8, limit: 5_000 }

export const look = Effect.fnUntraced(function* (root: Root) {
  return yield* root.form === "skill" ? skillsIn(root) : commandsIn(root)
})

/** What a path that somebody names holds: a skill, a command, or a directory of either. */
export const at = Effect.fnUntraced(function* (given: string) {
  const files = yield* Files
  const path = yield* Path.Path
  const root = (form: Source["form"], directory: string): Root => ({ origin: "project", form, directory })
  const [isFile] = yield* files.stamps([given])
  if (isFile !== undefined) {
    const isSkill = /^skill\.md$/i.test(path.basename(given))
    const directory = path.dirname(given)
    const name = isSkill ? path.basename(directory) : path.basename(given).replace(/\.md$/i, "")
    return { candidates: [named(name, root(isSkill ? "skill" : "command", directory), given, directory)], problems: [] }
  }
  const own = spellings.map((spelling) => path.join(given, spelling))
  const stamps = yield* files.stamps(own)
  const file = own.find((_, index) => stamps[index] !== undefined)
  if (file !== undefined) {
    return { candidates: [named(path.basename(given), root("skill", path.dirname(given)), file, given)], problems: [] }
  }
  // A project, its `.claude`, or one of the directories in there.
  const inside = path.basename(given) === ".claude" ? [given] : [given, path.join(given, ".claude")]
  const roots = inside.flatMap((one) => [
    root("skill", path.join(one, "skills")),
    root("command", path.join(one, "commands")),
  ])
  const here = root(path.basename(given) === "commands" ? "command" : "skill", given)
  const found = yield* Effect.forEach([...(path.basename(given) === ".claude" ? [] : [here]), ...roots], look)
  return {
    candidates: found.flatMap((one) => one.candidates),
    problems: found.flatMap((one) => one.problems),
  } satisfies Found
})

const skillsIn = Effect.fnUntraced(function* (root: Root) {
  const files = yield* Files
  const path = yield* Path.Path
  const { directories, files: loose } = yield* files.walk(root.directory, { ...bounds, depth: 0 })
  // Other clients keep downloaded skills there.
  const own = directories.filter((at) => path.basename(at).toLowerCase() !== "synced")
  const missing = new Set(own)
  const file = new Map<string, string>()
  for (const spelling of spellings) {
    const left = [...missing]
    const stamps = yield* files.stamps(left.map((at) => path.join(at, spelling)))
    for (const [index, at] of left.entries()) {
      if (stamps[index] === undefined) continue
      missing.delete(at)
      file.set(at, path.join(at, spelling))
    }
  }
  const candidates = own.flatMap((directory): ReadonlyArray<Candidate> => {
    const found = file.get(directory)
    if (found === undefined) return []
    const written = path.basename(found)
    const wrong =
      written === "SKILL.md" ? undefined : `it is named ${written}; name it SKILL.md, or other clients miss it`
    return [
      { ...named(path.basename(directory), root, found, directory), ...(wrong !== undefined && { problem: wrong }) },
    ]
  })
  const problems = loose
    .filter((at) => /\.md$/i.test(at) && !/^readme\.md$/i.test(path.basename(at)))
    .map((at): Problem => {
      const name = path.basename(at).replace(/\.md$/i, "")
      const should = name.toLowerCase() === "skill" ? "<name>/SKILL.md" : `${name}/SKILL.md`
      return {
        severity: "error",
        file: at,
        message: `a skill is a directory; move this file to ${path.join(root.directory, should)}`,
      }
    })
  return { candidates, problems } satisfies Found
})

const commandsIn = Effect.fnUntraced(function* (root: Root) {
  const files = yield* Files
  const path = yield* Path.Path
  const walked = yield* files.walk(root.directory, bounds)
  const candidates = walked.files
    .filter((at) => /\.md$/i.test(at))
    .map((at): Candidate => {
      const parts = path.relative(root.directory, at).split(path.sep)
      const last = (parts.pop() ?? "").replace(/\.md$/i, "")
      // A directory with a SKILL.md is one command, called by the directory.
      const names = last === "SKILL" && parts.length > 0 ? parts : [...parts, last]
      const full = named(names.join(":"), root, at, path.dirname(at))
      const alias = names.length > 1 ? names.at(-1) : undefined
      return { ...full, ...(alias !== undefined && { alias }) }
    })
  const problems: ReadonlyArray<Problem> = walked.truncated
    ? [
        {
          severity: "warning",
          file: root.directory,
          message: `more than ${bounds.limit} files; the rest is not looked at`,
        },
      ]
    : []
  return { candidates, problems } satisfies Found
})

/** What a directory or a file is called as a command: nobody can type a space into a name. */
const named = (written: string, root: Root, file: string, directory: string): Candidate => {
  const name = written.normalize("NFC").trim().replaceAll(/\s+/g, "-")
  const { below, form, origin, plugin } = root
  return {
    name: plugin === undefined ? name : `${plugin.name}:${name}`,
    ...(plugin !== undefined && { alias: name }),
    ...(name !== written && { problem: `"${written}" cannot be typed behind a slash; it is called /${name}` }),
    source: {
      origin,
      form,
      file,
      directory,
      ...(below !== undefined && { below }),
      ...(plugin !== undefined && { plugin }),
    },
  }
}
