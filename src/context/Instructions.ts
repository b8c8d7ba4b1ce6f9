/**
 * Owns where instructions for the model stand: the machine's, the user's, those of every directory from the root down to the
 * session's, and those further down or for certain paths, which come when a file there is touched.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { Files } from "../platform/Files.ts"
import { findRoot } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import * as PathGlob from "../platform/PathGlob.ts"
import * as PathFence from "../security/PathFence.ts"
import { under } from "../security/Sensitive.ts"
import type { Review } from "../settings/Trust.ts"
import * as TrustStore from "../settings/TrustStore.ts"
import type { ContextSettings } from "./ContextSettings.ts"
import type { FeedSource } from "./Feed.ts"
import type { Kind } from "./InstructionFile.ts"
import { type Fragment, render } from "./InstructionFragment.ts"
import * as InstructionLoader from "./InstructionLoader.ts"
import * as RuleFiles from "./RuleFiles.ts"

export interface InstructionsOptions {
  readonly cwd: string
  readonly addDirs?: ReadonlyArray<string> | undefined
  readonly settings: ContextSettings
  /** Whether a person agreed to what a project's file leads to; as remembered unless told. */
  readonly trusted?: ((review: Review) => boolean) | undefined
  /** A permission rule denies reading it. */
  readonly hides?: ((path: string) => boolean) | undefined
  /** Origins the model was told in an earlier life of the session. */
  readonly injected?: Iterable<string> | undefined
  readonly reason?: "session_start" | "compact" | undefined
}

export interface Instructions {
  /** What a session begins with, in the order the model reads it. */
  readonly start: ReadonlyArray<Fragment>
  /** What comes because these files (absolute paths) were read or changed. */
  readonly touched: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Fragment>>
  readonly report: () => InstructionLoader.Report
}

type Candidate = InstructionLoader.Candidate
type How = Pick<Candidate, "reason" | "trigger">

export const make = Effect.fnUntraced(function* (options: InstructionsOptions) {
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path | Files>()
  const path = yield* Path.Path
  const { configDir } = yield* Host
  const { cwd, settings } = options
  const { managedDirectory } = settings
  const counts = (scope: ContextSettings["scopes"][number]) => settings.scopes.includes(scope)
  const realOf = (at: string) => Effect.map(Effect.provideContext(PathFence.real(at), services), (found) => found ?? at)

  const root = (yield* findRoot(cwd)) ?? cwd
  const added = settings.fromAddedDirectories ? (options.addDirs ?? []) : []
  const loader = yield* InstructionLoader.make({
    roots: yield* Effect.forEach([root, ...added], realOf),
    excludes: PathGlob.make(settings.claudeMdExcludes),
    hides: options.hides ?? (() => false),
    trusted: options.trusted ?? (yield* TrustStore.approved),
    beside: (at, real) =>
      under(root, at) ? Effect.succeed(false) : Effect.map(realOf(path.dirname(at)), (place) => under(place, real)),
    injected: options.injected ?? [],
  })

  const rulesOf = (directory: string, kind: Kind, bases: ReadonlyArray<string>, how: How) =>
    RuleFiles.find(directory).pipe(
      Effect.map((files) => files.map((file): Candidate => ({ path: file, kind, bases, ...how }))),
      Effect.provideContext(services),
    )

  /** The files of one directory, in the order they are read. */
  const inDirectory = Effect.fnUntraced(function* (directory: string, how: How) {
    const file = (kind: Kind, ...names: ReadonlyArray<string>): Candidate => ({
      path: path.join(directory, ...names),
      kind,
      ...how,
    })
    const claude = path.join(directory, ".claude")
    // The user's directory may stand above the project; it is no project's.
    const hasOwn = claude !== configDir
    const named = [file("Project", "CLAUDE.md"), ...(hasOwn ? [file("Project", ".claude", "CLAUDE.md")] : [])]
    const rules = hasOwn ? rulesOf(path.join(claude, "rules"), "Project", [directory], how) : Effect.succeed([])
    const nothing = Effect.succeed<ReadonlyArray<InstructionLoader.Found>>([])
    const [project, agents, ruled, local] = yield* Effect.all(
      [
        counts("project") ? loader.open(named) : nothing,
        counts("project") ? loader.open([file("Project", "AGENTS.md")]) : nothing,
        counts("project") ? Effect.flatMap(rules, loader.open) : nothing,
        counts("local") ? loader.open([file("Local", "CLAUDE.local.md")]) : nothing,
      ],
      { concurrency: 4 },
    )
    // AGENTS.md speaks where nobody wrote a CLAUDE.md.
    return [...(project.length > 0 ? project : agents), ...ruled, ...local]
  })

  const peoples = Effect.gen(function* () {
    const how: How = { reason: options.reason ?? "session_start" }
    const file = (kind: Kind, directory: string): Candidate => ({
      path: path.join(directory, "CLAUDE.md"),
      kind,
      ...how,
    })
    const rules = counts("user") ? yield* rulesOf(path.join(configDir, "rules"), "User", [cwd, root], how) : []
    return yield* loader.open([
      ...(managedDirectory === undefined ? [] : [file("Managed", managedDirectory)]),
      ...(counts("user") ? [file("User", configDir)] : []),
      ...rules,
    ])
  })

  const above = ancestors(path, cwd)
  const looked = new Set([...above, ...added])
  const stated = settings.managedText?.trim() ?? ""
  const reason = options.reason ?? "session_start"
  const found = yield* Effect.all([peoples, ...[...looked].map((at) => inDirectory(at, { reason }))], {
    concurrency: 8,
  })
  const start: ReadonlyArray<Fragment> = [
    ...(stated === "" ? [] : [{ ...policy, content: stated, loadReason: reason }]),
    ...(yield* loader.load(found.flat())),
  ]

  /** The place of a file below a directory, by its name or by where links lead. */
  const placeBelow = (at: string) =>
    Effect.fnUntraced(function* (directory: string) {
      if (under(directory, at)) return path.relative(directory, at)
      const real = yield* realOf(at)
      const realDirectory = yield* realOf(directory)
      return under(realDirectory, real) ? path.relative(realDirectory, real) : undefined
    })

  const touchedOne = Effect.fnUntraced(function* (at: string) {
    const below = placeBelow(at)
    const fragments: Array<Fragment> = []
    for (const base of [cwd, ...added]) {
      const names = (yield* below(base))?.split(path.sep).slice(0, -1) ?? []
      for (const [index] of names.entries()) {
        const directory = path.join(base, ...names.slice(0, index + 1))
        if (looked.has(directory)) continue
        looked.add(directory)
        const there = yield* inDirectory(directory, { reason: "nested_traversal", trigger: at })
        fragments.push(...(yield* loader.load(there)))
      }
    }
    return [...fragments, ...(yield* loader.release(at, below))]
  })

  const instructions: Instructions = {
    start,
    touched: (paths) => Effect.map(Effect.forEach(paths, touchedOne), (fragments) => fragments.flat()),
    report: loader.report,
  }
  return instructions
})

const policy = { origin: "claudeMd", path: "the policy of this machine (claudeMd)", kind: "Managed" } as const

/** From the root of the disk down to the directory itself. */
const ancestors = (path: Path.Path, directory: string): ReadonlyArray<string> => {
  const parent = path.dirname(directory)
  return parent === directory ? [directory] : [...ancestors(path, parent), directory]
}

const prefix = "instructions:"

/** Tells what comes later, when files are touched; `loaded` hears of each file (for hooks). */
export const source =
  (instructions: Instructions, loaded: (fragment: Fragment) => Effect.Effect<void> = () => Effect.void): FeedSource =>
  (moment) =>
    moment.kind === "prompt"
      ? Effect.succeed([])
      : Effect.flatMap(instructions.touched(moment.touched), (fragments) =>
          Effect.forEach(fragments, (fragment) =>
            Effect.as(loaded(fragment), { origin: `${prefix}${fragment.origin}`, content: render(fragment) }),
          ),
        )

/** Of everything the feed told in an earlier life, what were instructions: for `injected`. */
export const injectedOf = (origins: Iterable<string>): ReadonlyArray<string> =>
  [...origins].flatMap((origin) => (origin.startsWith(prefix) ? [origin.slice(prefix.length)] : []))
