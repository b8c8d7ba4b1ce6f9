/**
 * Owns the way of instruction files to the model: each file once, with what it imports before it, rules for certain paths kept until
 * one of those is touched. For every file that was looked at there is a decision, and a diagnostic where people should know.
 */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { Review } from "../settings/Trust.ts"
import * as InstructionFile from "./InstructionFile.ts"
import type { Fragment, LoadReason } from "./InstructionFragment.ts"
import * as InstructionText from "./InstructionText.ts"
import * as RuleFiles from "./RuleFiles.ts"

type Kind = InstructionFile.Kind

/** A file that counts if it is there. */
export interface Candidate {
  readonly path: string
  readonly kind: Kind
  readonly reason: LoadReason
  readonly trigger?: string
  /** For rules, which alone have front matter: the directories their patterns start from. */
  readonly bases?: ReadonlyArray<string>
}

export interface Found extends Candidate {
  readonly opened: InstructionFile.Opened
}

/** What became of a file that was looked at. */
export interface Decision {
  readonly path: string
  readonly kind: Kind
  readonly outcome: "loaded" | "waits" | InstructionFile.Refusal
  readonly why: string
  readonly parent?: string
  readonly line?: number
}

/** What people should know about a file. */
export interface Diagnostic {
  readonly path: string
  readonly line?: number
  readonly message: string
}

export interface Report {
  readonly decisions: ReadonlyArray<Decision>
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** What leads out of the project and waits for a person. */
  readonly reviews: ReadonlyArray<Review>
}

export interface Loader {
  /** Opens all of them that are there; nothing is decided yet. */
  readonly open: (candidates: ReadonlyArray<Candidate>) => Effect.Effect<ReadonlyArray<Found>>
  /** In their order. */
  readonly load: (found: ReadonlyArray<Found>) => Effect.Effect<ReadonlyArray<Fragment>>
  /** The rules that wait for such a file. */
  readonly release: (
    trigger: string,
    below: (base: string) => Effect.Effect<string | undefined>,
  ) => Effect.Effect<ReadonlyArray<Fragment>>
  readonly report: () => Report
}

export interface LoaderOptions extends InstructionFile.Grounds {
  readonly trusted: (review: Review) => boolean
  /** Beside the project: a place above it, whose files no repository brought along. */
  readonly beside: (path: string, real: string) => Effect.Effect<boolean>
  readonly injected: Iterable<string>
}

type Text = Extract<InstructionFile.Opened, { readonly _tag: "Opened" }>

/** How many imports may lead from one to the next. */
const deepest = 4
const atOnce = 8

export const make = Effect.fnUntraced(function* (options: LoaderOptions) {
  const path = yield* Path.Path
  const { home } = yield* Host
  const files = yield* Files
  const open = yield* InstructionFile.make(options)

  const told = new Set(options.injected)
  const decisions: Array<Decision> = []
  const diagnostics: Array<Diagnostic> = []
  const reviews = new Map<string, Review>()
  const waiting = new Map<Found, { readonly opened: Text; readonly rule: RuleFiles.Rule }>()
  for (const { pattern, why } of options.excludes.problems) {
    diagnostics.push({ path: `claudeMdExcludes: ${pattern}`, message: why })
  }

  const decide = (decision: Decision) => {
    decisions.push(decision)
    if (quiet.has(decision.outcome)) return
    const { line, parent, path: at, why } = decision
    const message = `${parent === undefined ? "" : `@${at} is `}not read: ${why}`
    diagnostics.push({ path: parent ?? at, ...(line !== undefined && { line }), message })
  }

  /** Whether a file of the project may lead to these places outside of it. */
  const mayLeave = (from: string, kind: Kind, to: ReadonlyArray<string>): boolean => {
    const keys = [...new Set(to)].sort()
    const source = { kind: kind === "Local" ? "local" : "project", name: from } as const
    const review: Review = { source, keys, hash: files.hash(JSON.stringify(keys)) }
    if (options.trusted(review)) return true
    reviews.set(from, review)
    return false
  }

  const openOne = Effect.fnUntraced(function* (candidate: Candidate): Effect.fn.Return<Found> {
    const { kind, path: at } = candidate
    const opened = yield* open(at, kind)
    if (opened._tag !== "Leaves") return { ...candidate, opened }
    const may = (yield* options.beside(at, opened.real)) || mayLeave(at, kind, [opened.real])
    return { ...candidate, opened: may ? yield* open(at, kind, true) : opened }
  })

  const loadOne = Effect.fnUntraced(function* (found: Found) {
    const { kind, opened } = found
    if (opened._tag !== "Opened") {
      decide({ path: found.path, kind, ...refusal(opened) })
      return []
    }
    if (found.bases === undefined || told.has(opened.real)) return yield* tell(found, opened, whole(opened))
    const rule = yield* RuleFiles.read(opened.text)
    for (const { line, message } of rule.problems) diagnostics.push({ path: found.path, line, message })
    if (rule.globs === undefined) return yield* tell(found, opened, rule)
    waiting.set(found, { opened, rule })
    const why = `for files that match ${rule.globs.join(", ")}`
    decisions.push({ path: found.path, kind, outcome: "waits", why })
    return []
  })

  /** What it imports, then the file itself. */
  const tell = (
    from: Candidate,
    opened: Text,
    { body, bodyLine, globs }: Pick<RuleFiles.Rule, "body" | "bodyLine" | "globs">,
    parents: ReadonlyArray<string> = [],
  ): Effect.Effect<ReadonlyArray<Fragment>> =>
    Effect.gen(function* () {
      const parent = parents.at(-1)
      const place = { path: opened.path, kind: from.kind, ...(parent !== undefined && { parent }) }
      if (told.has(opened.real)) {
        decide({ ...place, outcome: "duplicate", why: "the model is told it already" })
        return []
      }
      told.add(opened.real)
      const loadReason = parent === undefined ? from.reason : "include"
      decide({ ...place, outcome: "loaded", why: parent === undefined ? reasons[loadReason] : `imported by ${parent}` })
      const { imports, text: content } = InstructionText.read(body, bodyLine)
      const fragment: Fragment = {
        origin: opened.real,
        ...place,
        content,
        loadReason,
        ...(globs !== undefined && { globs }),
        ...(from.trigger !== undefined && { trigger: from.trigger }),
      }
      const imported = yield* include(from, opened, imports, parents)
      return content === "" ? imported : [...imported, fragment]
    })

  const include = Effect.fnUntraced(function* (
    from: Candidate,
    { path: parent, real }: Text,
    imports: ReadonlyArray<InstructionText.Import>,
    parents: ReadonlyArray<string>,
  ) {
    const { kind } = from
    const resolve = (written: string): string =>
      written.startsWith("~/") ? path.join(home, written.slice(2)) : path.resolve(path.dirname(real), written)
    const named = yield* Effect.forEach(
      imports,
      (one) => Effect.map(open(resolve(one.path), kind), (opened) => ({ ...one, opened })),
      { concurrency: atOnce },
    )
    const leaving = named.flatMap(({ opened }) => (opened._tag === "Leaves" ? [opened.real] : []))
    const may = leaving.length > 0 && mayLeave(parent, kind, leaving)
    const fragments: Array<Fragment> = []
    for (const { line, opened: first, path: written } of named) {
      const opened = first._tag === "Leaves" && may ? yield* open(first.path, kind, true) : first
      const place = { path: opened.path, kind, parent, line }
      if (opened._tag !== "Opened") {
        const refused = refusal(opened)
        // `@somebody` is no file and not meant as one.
        if (refused.outcome !== "missing" || InstructionText.looksLikePath(written)) decide({ ...place, ...refused })
      } else if (parents.length >= deepest) {
        const why = `it is more than ${deepest} imports away; import it from nearer by`
        decide({ ...place, outcome: "too_deep", why })
      } else {
        fragments.push(...(yield* tell(from, opened, whole(opened), [...parents, parent])))
      }
    }
    return fragments
  })

  const loader: Loader = {
    open: Effect.fnUntraced(function* (candidates) {
      // Most are not there, and that is asked for all at once.
      const stamps = yield* files.stamps(candidates.map(({ path: at }) => at))
      const there = candidates.filter((_, index) => stamps[index] !== undefined)
      return yield* Effect.forEach(there, openOne, { concurrency: atOnce })
    }),
    load: (found) => Effect.map(Effect.forEach(found, loadOne), (fragments) => fragments.flat()),
    release: Effect.fnUntraced(function* (trigger, below) {
      const fragments: Array<Fragment> = []
      for (const [found, { opened, rule }] of waiting) {
        const places = yield* Effect.forEach(found.bases ?? [], below)
        if (!places.some((place) => place !== undefined && rule.glob.has(place))) continue
        waiting.delete(found)
        fragments.push(...(yield* tell({ ...found, reason: "path_glob_match", trigger }, opened, rule)))
      }
      return fragments
    }),
    // Files are opened side by side: which of them asks first says nothing.
    report: () => ({ decisions, diagnostics, reviews: [...reviews.values()].sort(byName) }),
  }
  return loader
})

const byName = (a: Review, b: Review): number => (a.source.name < b.source.name ? -1 : 1)

/** What is as it should be. */
const quiet: ReadonlySet<Decision["outcome"]> = new Set(["loaded", "waits", "excluded", "duplicate"])

const whole = ({ text }: Text) => ({ body: text, bodyLine: 1, globs: undefined })

const refusal = (opened: Exclude<InstructionFile.Opened, Text>) =>
  opened._tag === "Refused"
    ? { outcome: opened.why, why: opened.detail }
    : {
        outcome: "outside" as const,
        why: `it leads out of the project, to ${opened.real}; agree to it with \`troupe config trust\`, or copy it into the project`,
      }

const reasons: Readonly<Record<LoadReason, string>> = {
  session_start: "read when a session begins",
  nested_traversal: "a file below its directory was touched",
  path_glob_match: "a file that it is meant for was touched",
  include: "imported",
  compact: "read again after the conversation was summarised",
}
