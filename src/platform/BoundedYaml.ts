/**
 * Owns the reading of YAML that strangers wrote: within bounds of size, depth and repetition that are checked before the
 * library does anything that could take the process with it. Tags mean nothing, so nothing can execute.
 */
import type * as YamlModule from "yaml"

type Yaml = typeof YamlModule

/** Counted in the whole file, from 1. */
export interface Problem {
  readonly line: number
  readonly column: number
  readonly message: string
  /** The key that is missing from the data because of it. */
  readonly ignored?: string
}

export interface Reading {
  readonly data: Readonly<Record<string, unknown>>
  readonly problems: ReadonlyArray<Problem>
  /** Not a slip of the pen: nothing of it is to be used. */
  readonly hostile?: boolean
}

/** The library recurses: at some hundred levels it ends the process, not only the reading. */
const maxDepth = 64
/** In characters; the library needs a second for some texts of this size. */
const maxLength = 128 * 1024
const maxProblems = 20

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What JSON has no word for becomes the text that stands for it: the value is the same after it was stored. */
const storable = (value: unknown): unknown => {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value)
  if (Array.isArray(value)) return value.map(storable)
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, storable(one)]))
  return value ?? null
}

/** What a token of the concrete syntax contains, whatever kind it is. */
const inside = (token: unknown): ReadonlyArray<unknown> => {
  if (!isRecord(token)) return []
  const items = Array.isArray(token["items"]) ? token["items"] : []
  return [token["value"], token["key"], ...items].filter((part) => typeof part === "object" && part !== null)
}

const isTooDeep = (tokens: ReadonlyArray<unknown>): boolean => {
  let level = tokens
  // An item and its value are two levels of tokens for one of meaning.
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > 2 * maxDepth) return true
    level = level.flatMap(inside)
  }
  return false
}

/** The library's words for what people do most often, in those of the people who do it. */
const explained = ({ code, message }: { readonly code: string; readonly message: string }): string => {
  if (code === "BLOCK_AS_IMPLICIT_KEY") return "a colon and a space inside the text begin a new key"
  const missing = /must be .*end with a (\S)$/.exec(message)?.[1]
  return missing === undefined ? message : `the closing ${missing} is missing`
}

/** Keys and values of a text whose first line is the file's line `first`. Never throws. */
export const read = (yaml: Yaml, text: string, first: number): Reading => {
  const refused = (message: string, hostile: boolean): Reading => ({
    data: {},
    problems: [{ line: first, column: 1, message: `${message}; the front matter is ignored` }],
    hostile,
  })
  if (text.length > maxLength) return refused(`it is larger than ${maxLength} characters`, true)
  const counter = new yaml.LineCounter()
  try {
    const tokens = [...new yaml.Parser(counter.addNewLine).parse(text)]
    if (isTooDeep(tokens)) return refused(`it is nested deeper than ${maxDepth} levels`, true)
    // Whether a key is there twice is asked elsewhere: the library compares each with each.
    const options = { prettyErrors: false, logLevel: "silent", schema: "core", uniqueKeys: false } as const
    const [document, another] = [...new yaml.Composer(options).compose(tokens, true, text.length)]
    if (document === undefined) return { data: {}, problems: [] }
    const problems = document.errors.slice(0, maxProblems).map((error): Problem => {
      const at = counter.linePos(error.pos[0])
      return { line: Math.max(at.line, 1) + first - 1, column: Math.max(at.col, 1), message: explained(error) }
    })
    if (problems.length > 0) return { data: {}, problems }
    if (another !== undefined) return refused("it has a second part behind a line that starts with ---", false)
    const value = storable(document.toJS({ maxAliasCount: 50 }))
    if (value === null) return { data: {}, problems }
    return isRecord(value) ? { data: value, problems } : refused("it must be keys and values", false)
  } catch (cause) {
    // A star before a word is more often an emphasis than a reference.
    if (cause instanceof ReferenceError && cause.message.startsWith("Unresolved")) return refused(cause.message, false)
    return refused("its aliases (*name) stand for too much", true)
  }
}
