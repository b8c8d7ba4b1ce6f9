/** Owns the tolerant reading of transcript lines, ours or another program's: what a line says about its place in the chain. */
import * as Schema from "effect/Schema"

/** One line that is a JSON object. Everything about it may be missing or of another version. */
export interface TranscriptLine {
  /** Counted from 1. */
  readonly line: number
  readonly type: string
  readonly uuid: string | undefined
  readonly parentUuid: string | undefined
  /** Belongs to a subagent's conversation. */
  readonly isSidechain: boolean
  readonly value: Readonly<Record<string, unknown>>
}

export interface ParsedTranscript {
  readonly lines: ReadonlyArray<TranscriptLine>
  readonly problems: ReadonlyArray<string>
  /** The text ends in the middle of a line, readable or not. */
  readonly openEnd: boolean
}

const isObject = Schema.is(Schema.Record(Schema.String, Schema.Unknown))

/** The types whose lines hang together by `parentUuid`; all others are notes beside the conversation. */
const chained = new Set(["user", "assistant", "system", "attachment", "progress"])

export const isChained = (line: TranscriptLine): line is TranscriptLine & { readonly uuid: string } =>
  line.uuid !== undefined && !line.isSidechain && chained.has(line.type)

export const stringIn = (value: Readonly<Record<string, unknown>>, key: string): string | undefined => {
  const found = value[key]
  return typeof found === "string" ? found : undefined
}

export const objectIn = (
  value: Readonly<Record<string, unknown>>,
  key: string,
): Readonly<Record<string, unknown>> | undefined => {
  const found = value[key]
  return isObject(found) ? found : undefined
}

const parseLine = (raw: string, line: number): TranscriptLine | undefined => {
  try {
    const value: unknown = JSON.parse(raw)
    if (!isObject(value) || Array.isArray(value)) return undefined
    return {
      line,
      type: stringIn(value, "type") ?? "",
      uuid: stringIn(value, "uuid"),
      parentUuid: stringIn(value, "parentUuid"),
      isSidechain: value["isSidechain"] === true,
      value,
    }
  } catch {
    return undefined
  }
}

export const parse = (source: Uint8Array | string): ParsedTranscript => {
  const text = typeof source === "string" ? source.replace(/^\uFEFF/, "") : new TextDecoder().decode(source)
  const lines: Array<TranscriptLine> = []
  const problems: Array<string> = []
  const raws = text.split("\n")
  for (const [index, raw] of raws.entries()) {
    if (raw.trim() === "") continue
    const parsed = parseLine(raw, index + 1)
    if (parsed !== undefined) lines.push(parsed)
    else
      problems.push(
        index === raws.length - 1
          ? `line ${index + 1}: the last line is cut off; it was left out`
          : `line ${index + 1}: not a JSON object; it was left out`,
      )
  }
  return { lines, problems, openEnd: text !== "" && !text.endsWith("\n") }
}
