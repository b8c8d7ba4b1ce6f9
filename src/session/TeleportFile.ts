/**
 * Owns the file a session travels in: a manifest and sections, a line of JSON each, with a checksum for every section. It is read in full
 * and judged before anything is done with it. A newer minor version adds sections and fields, which are kept; a newer major one is refused.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as JournalEvents from "./JournalEvents.ts"
import type { RawRecord } from "./Journal.ts"
import * as SessionPaths from "./SessionPaths.ts"

export const format = "troupe-teleport"
export const version = "1.0"
const major = 1

/** No file is larger than this, and no value in it nested deeper. */
export const mostBytes = 256 * 1024 * 1024
const deepest = 200
const mostSections = 100

/** Why a session cannot leave or arrive. */
export class TeleportError extends Schema.TaggedError<TeleportError>()("TeleportError", {
  what: Schema.String,
  why: Schema.String,
}) {
  override get message(): string {
    return `${this.what}: ${this.why}`
  }
}

const Sum = Schema.Struct({ name: Schema.String, bytes: Schema.Int, sha256: Schema.String })

export const Manifest = Schema.Struct({
  format: Schema.Literal(format),
  version: Schema.String,
  sessionId: Schema.String,
  traceId: Schema.String,
  title: Schema.optionalKey(Schema.String),
  exportedAt: Schema.Finite,
  exportedBy: Schema.Struct({ user: Schema.String, troupe: Schema.String }),
  cwd: Schema.String,
  git: Schema.optionalKey(
    Schema.Struct({
      head: Schema.String,
      branch: Schema.optionalKey(Schema.String),
      remote: Schema.optionalKey(Schema.String),
      dirty: Schema.Int,
    }),
  ),
  records: Schema.Int,
  /** The number of its last record. */
  sequence: Schema.Int,
  /** How many secrets were struck out, by kind. */
  redacted: Schema.Record(Schema.String, Schema.Int),
  sections: Schema.Array(Sum),
})
export type Manifest = typeof Manifest.Type

/** A file that was read and found to be sound. */
export interface TeleportFile {
  readonly manifest: Manifest
  readonly records: ReadonlyArray<RawRecord>
  /** All but the records, by name. */
  readonly sections: ReadonlyMap<string, unknown>
  /** What is worth knowing about it: kinds of records that only a newer version understands. */
  readonly notes: ReadonlyArray<string>
}

type Hash = (text: string) => string

const utf8 = new TextEncoder()

/** `sections`: all but the records. */
export const encode = (
  about: Omit<Manifest, "format" | "version" | "records" | "sequence" | "sections">,
  records: ReadonlyArray<RawRecord>,
  sections: ReadonlyMap<string, unknown>,
  hash: Hash,
): { readonly text: string; readonly manifest: Manifest } => {
  const lines = [["history", records] as const, ...sections].map(([section, value]) => ({
    name: section,
    text: JSON.stringify({ section, value }),
  }))
  const manifest: Manifest = {
    format,
    version,
    ...about,
    records: records.length,
    sequence: records.at(-1)?.seq ?? 0,
    sections: lines.map(({ name, text }) => ({ name, bytes: utf8.encode(text).length, sha256: hash(text) })),
  }
  return { manifest, text: [JSON.stringify(manifest), ...lines.map(({ text }) => text), ""].join("\n") }
}

type Judged<A> = Result.Result<A, string>

/** What the file says, or the first thing that is wrong with it. */
export const decode = (text: string, hash: Hash): Judged<TeleportFile> =>
  Result.gen(function* () {
    const [first = "", ...lines] = text.split("\n")
    const manifest = yield* manifestOf(first)
    const { sections: sums } = manifest
    if (lines.at(-1) === "") lines.pop()
    if (lines.length < sums.length) {
      return yield* Result.fail(
        `it is cut off: ${sums.length - lines.length} of its ${sums.length} sections are missing. Copy it again`,
      )
    }
    if (lines.length > sums.length) return yield* Result.fail("it has more sections than its first line names")
    const sections = new Map<string, unknown>()
    for (const [at, { bytes, name, sha256 }] of sums.entries()) {
      const line = lines[at] ?? ""
      const size = utf8.encode(line).length
      if (size < bytes) return yield* Result.fail(`it is cut off in its section "${name}". Copy it again`)
      if (size !== bytes || hash(line) !== sha256) {
        return yield* Result.fail(`its section "${name}" is damaged: the checksum is another one. Copy it again`)
      }
      const value = yield* parse(line, `its section "${name}"`)
      if (!isSection(value) || value.section !== name || sections.has(name)) {
        return yield* Result.fail(`its section "${name}" is not the one that stands there`)
      }
      sections.set(name, value.value)
    }
    const history = sections.get("history")
    sections.delete("history")
    const { notes, records } = yield* recordsOf(history, manifest)
    return { manifest, records, sections, notes }
  })

const isSection = Schema.is(Schema.Struct({ section: Schema.String, value: Schema.Unknown }))
const isMarked = Schema.is(Schema.Struct({ format: Schema.Literal(format), version: Schema.String }))
const readManifest = Schema.decodeUnknownResult(Manifest)

const manifestOf = (line: string): Judged<Manifest> =>
  Result.gen(function* () {
    const value = yield* Result.mapError(parse(line, "its first line"), () => "it is no exported session")
    if (!isMarked(value)) return yield* Result.fail("it is no exported session")
    const written = Number(/^(\d{1,6})\.\d{1,6}$/.exec(value.version)?.[1] ?? Number.NaN)
    if (Number.isNaN(written)) return yield* Result.fail(`its version "${value.version.slice(0, 40)}" is none`)
    if (written > major) {
      return yield* Result.fail(
        `it is of format version ${value.version}, and this Troupe reads up to ${major}.x. Update Troupe here`,
      )
    }
    const manifest = yield* Result.mapError(
      readManifest(value),
      (issue) => `its first line is not readable: ${brief(issue)}`,
    )
    if (!SessionPaths.isSessionId(manifest.sessionId)) return yield* Result.fail("its session id is no UUID")
    if (manifest.sections.length > mostSections) return yield* Result.fail("it has too many sections")
    if (!manifest.sections.some(({ name }) => name === "history")) return yield* Result.fail("it has no records")
    return manifest
  })

const brief = (issue: unknown): string => String(issue).split("\n").slice(0, 3).join(" ").slice(0, 300)

const parse = (text: string, what: string): Judged<unknown> => {
  if (isTooDeep(text)) return Result.fail(`${what} is nested too deep`)
  try {
    return Result.succeed(JSON.parse(text))
  } catch {
    return Result.fail(`${what} is not JSON`)
  }
}

/** Before it is parsed: whoever walks such a value later would run out of stack. */
const isTooDeep = (text: string): boolean => {
  let depth = 0
  let inText = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inText) {
      if (code === 0x5c) at++
      else if (code === 0x22) inText = false
    } else if (code === 0x22) inText = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > deepest) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}

const isRecords = Schema.is(
  Schema.Array(
    Schema.Struct({
      seq: Schema.Int,
      time: Schema.Finite,
      agent: Schema.String,
      event: Schema.Struct({ _tag: Schema.String }),
    }),
  ),
)
const isKind = (kind: string): boolean => /^[A-Za-z]\w{0,99}$/.test(kind)

const recordsOf = (
  value: unknown,
  manifest: Manifest,
): Judged<{ readonly records: ReadonlyArray<RawRecord>; readonly notes: ReadonlyArray<string> }> => {
  if (!isRecords(value)) return Result.fail("its records are not readable")
  const newer = new Set<string>()
  let last = 0
  for (const { event, seq } of value) {
    if (seq <= last) return Result.fail(`its record ${seq} stands behind record ${last}`)
    last = seq
    if (!isKind(event._tag)) return Result.fail(`its record ${seq} is of no kind that could be`)
    const known = JournalEvents.decode(event._tag, event)
    if (typeof known !== "string") continue
    if (!known.endsWith("of a newer version")) return Result.fail(`its record ${seq} is not readable: ${known}`)
    newer.add(event._tag)
  }
  if (value.length !== manifest.records || last !== manifest.sequence) {
    return Result.fail("its records are not those that its first line counts")
  }
  const notes = [...newer].map(
    (kind) => `Records of the kind "${kind}" are of a newer version; they are kept, and not used here.`,
  )
  return Result.succeed({ records: value, notes })
}
