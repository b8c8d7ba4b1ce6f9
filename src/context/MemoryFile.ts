/** Owns what one memory is, as a file: front matter with its name, what it is about and its kind, then the text. Pure. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const MemoryType = Schema.Literals(["user", "feedback", "project", "reference"])
export type MemoryType = typeof MemoryType.Type

const line = (most: number) => Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(most))

/** A memory to be written. */
export const Draft = Schema.Struct({
  name: line(120),
  /** One sentence by which it is found again. */
  description: line(400),
  type: MemoryType,
  content: Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(8_000)),
  /** The file of a memory that it replaces. */
  file: Schema.optionalKey(Schema.NullOr(Schema.String)),
})
export type Draft = typeof Draft.Type

const decodeDraft = Schema.decodeUnknownOption(Draft)

/** What a model made up, without what does not fit: one bad memory is no reason to lose the others. */
export const drafts = (made: ReadonlyArray<unknown>): ReadonlyArray<Draft> =>
  made.flatMap((one) => Option.toArray(decodeDraft(one)))

/** A memory that is there, without its text. */
export interface Entry {
  /** Below the memory directory, with `/`. */
  readonly file: string
  readonly name: string
  readonly description: string
  readonly type: MemoryType | undefined
  /** Milliseconds since 1970. */
  readonly modified: number
  /** In `team/`: others wrote it. */
  readonly shared: boolean
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim()

/** JSON's strings are YAML's. */
export const encode = (draft: Draft, modified: string): string =>
  [
    "---",
    `name: ${JSON.stringify(oneLine(draft.name))}`,
    `description: ${JSON.stringify(oneLine(draft.description))}`,
    `type: ${draft.type}`,
    `modified: ${modified}`,
    "---",
    "",
    `${draft.content.trim()}\n`,
  ].join("\n")

/** `feedback_use_pnpm.md` */
export const fileName = ({ name, type }: Pick<Draft, "name" | "type">): string => {
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const slug = words.join("_").slice(0, 60).replace(/_+$/, "")
  return `${type}_${slug === "" ? "note" : slug}.md`
}

/** A plain name below the directory: no way up, nothing hidden, Markdown. */
export const isFileName = (file: string): boolean =>
  /^(?:[^/\\\0.][^/\\\0]*\/)*[^/\\\0.][^/\\\0]*\.md$/.test(file) && !file.startsWith("logs/") && file !== indexName

export const indexName = "MEMORY.md"
export const limits = { lines: 200, bytes: 25_000 }

/** `- [name](file) — description` */
export const indexLine = ({ description, file, name }: Pick<Entry, "description" | "file" | "name">): string =>
  `- [${oneLine(name).replace(/[[\]]/g, "")}](${file}) — ${oneLine(description)}`

/** The index with these memories in it: one that is there is renewed in its place, one that is missing comes last. */
export const indexWith = (
  index: string,
  entries: ReadonlyArray<Pick<Entry, "description" | "file" | "name">>,
): string => {
  const lines = index.trimEnd() === "" ? ["# Memory", ""] : index.trimEnd().split("\n")
  for (const entry of entries) {
    const at = lines.findIndex((one) => one.includes(`](${entry.file})`))
    if (at === -1) lines.push(indexLine(entry))
    else lines[at] = indexLine(entry)
  }
  return `${lines.join("\n")}\n`
}

const bytes = new TextEncoder()

export interface Index {
  readonly text: string
  /** Something was left out: how much of it there is. */
  readonly cut?: { readonly lines: number; readonly bytes: number }
}

/** As much of an index as every session begins with; whole lines. */
export const bounded = (index: string): Index => {
  const lines = index.trimEnd().split("\n")
  const total = { lines: lines.length, bytes: bytes.encode(index).length }
  let size = 0
  const kept = lines.slice(0, limits.lines).filter((one) => (size += bytes.encode(one).length + 1) <= limits.bytes)
  const text = kept.join("\n").trim()
  return kept.length === lines.length ? { text } : { text, cut: total }
}

/** What the model should hear about an index it has just written. */
export const indexWarning = (index: string): string | undefined => {
  const { cut } = bounded(index)
  const most = `${limits.lines} lines or ${limits.bytes / 1_000} KB`
  const advice = "Keep one line for each memory, move detail into its file, and merge or drop what is stale."
  if (cut !== undefined) {
    return `${indexName} is over its limit (${cut.lines} lines, ${cut.bytes} bytes; ${most} are read). Whatever comes after that is lost to the next session. Rewrite it now. ${advice}`
  }
  const lines = index.trimEnd().split("\n").length
  const near = lines > limits.lines * 0.9 || bytes.encode(index).length > limits.bytes * 0.9
  return near ? `${indexName} is close to its limit (${most} are read). ${advice}` : undefined
}

/** `written 12 days ago` */
export const age = (modified: number, now: number): string => {
  const days = Math.floor((now - modified) / 86_400_000)
  return days < 1 ? "written today" : `written ${days} day${days === 1 ? "" : "s"} ago`
}
