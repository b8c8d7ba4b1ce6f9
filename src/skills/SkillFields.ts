/**
 * Owns reading the fields of a skill's front matter in every spelling and form that people use: `allowed-tools`, `allowed_tools`,
 * `allowedTools`; lists, commas, spaces. What does not fit is left out and named.
 */
import { nearest } from "../platform/Near.ts"
import type { Head, Problem } from "./Skill.ts"

const fields = [
  "name",
  "description",
  "when_to_use",
  "argument-hint",
  "arguments",
  "disable-model-invocation",
  "user-invocable",
  "allowed-tools",
  "disallowed-tools",
  "model",
  "effort",
  "context",
  "agent",
  "background",
  "hooks",
  "paths",
  "shell",
  "metadata",
  "license",
  "compatibility",
] as const
export type FieldName = (typeof fields)[number]

/** However it is spelled. */
const folded = (key: string): string => key.toLowerCase().replaceAll(/[\s_-]/g, "")

const known: ReadonlyMap<string, FieldName> = new Map([
  ...fields.map((field) => [folded(field), field] as const),
  ["userinvokable", "user-invocable"],
  ["argumenthints", "argument-hint"],
])

/** Text for one line: no line ends, nothing that cannot be seen. */
export const oneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]|\p{Co}|[\u{e0000}-\u{e007f}]/gu, "")
    .replaceAll(/\s+/g, " ")
    .trim()

type Complain = (severity: Problem["severity"], key: string | undefined, message: string) => void

const yes = new Set(["true", "yes", "on", "1"])
const no = new Set(["false", "no", "off", "0"])

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? "a list" : isMap(value) ? "a map" : `a ${typeof value}`

export const reader = ({ data }: Pick<Head, "data">, complainAt: Complain) => {
  const found = new Map<FieldName, { readonly key: string; readonly value: unknown }>()
  const extra: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(data)) {
    const field = known.get(folded(key))
    if (field === undefined) extra[key] = value
    else if (found.has(field)) complainAt("warning", key, `"${key}" says the same as "${field}"; the first one counts`)
    else if (value !== null && value !== undefined) found.set(field, { key, value })
  }
  const complain = (severity: Problem["severity"], field: FieldName | undefined, message: string) =>
    complainAt(severity, field === undefined ? undefined : (found.get(field)?.key ?? field), message)
  const wrong = (field: FieldName, wanted: string): undefined => {
    const value = found.get(field)?.value
    complain("warning", field, `"${field}" must be ${wanted}, not ${kindOf(value)}; it is ignored`)
  }

  const text = (field: FieldName): string | undefined => {
    const value = found.get(field)?.value
    if (value === undefined) return undefined
    if (isPlain(value)) return String(value).trim() === "" ? undefined : String(value)
    // A description written as a list of reasons is still a description.
    if (Array.isArray(value) && value.every(isPlain)) return value.join(" ")
    return wrong(field, "text")
  }

  const list = (field: FieldName): ReadonlyArray<string> => {
    const value = found.get(field)?.value
    if (value === undefined) return []
    if (isPlain(value)) return [String(value)]
    if (!Array.isArray(value)) return (wrong(field, "text or a list"), [])
    return value.flatMap((item: unknown) => {
      if (isPlain(item)) return [String(item)]
      complain("warning", field, `an item of "${field}" is ${kindOf(item)}, not text; it is left out`)
      return []
    })
  }

  return {
    complain,
    text,
    list,
    /** Separated by commas or spaces. */
    words: (field: FieldName): ReadonlyArray<string> =>
      list(field).flatMap((item) => item.split(/[\s,]+/).filter((word) => word !== "")),
    /** Separated by commas outside braces: `src/**\/*.{ts,tsx}, docs`. */
    globs: (field: FieldName): ReadonlyArray<string> =>
      list(field).flatMap((item) =>
        item
          .split(/,(?![^{]*\})/)
          .map((glob) => glob.trim())
          .filter((glob) => glob !== ""),
      ),
    /** Brackets are its usual punctuation, and a list to YAML. */
    hint: (field: FieldName): string | undefined => {
      const value = found.get(field)?.value
      if (Array.isArray(value))
        return value
          .flat()
          .map((item) => `[${String(item)}]`)
          .join(" ")
      const hint = text(field)
      return hint === undefined ? undefined : oneLine(hint)
    },
    flag: (field: FieldName): boolean | undefined => {
      const value = found.get(field)?.value
      if (value === undefined) return undefined
      const word = isPlain(value) ? String(value).trim().toLowerCase() : ""
      if (yes.has(word)) return true
      if (no.has(word)) return false
      return wrong(field, "true or false")
    },
    choice: <A extends string>(field: FieldName, choices: ReadonlyArray<A>): A | undefined => {
      const value = text(field)?.trim().toLowerCase()
      if (value === undefined) return undefined
      const chosen = choices.find((choice) => choice === value)
      if (chosen !== undefined) return chosen
      const near = nearest(value, choices)
      const hint = near === undefined ? "" : ` Did you mean ${near}?`
      complain(
        "warning",
        field,
        `"${field}" must be one of ${choices.join(", ")}, not "${value}"; it is ignored.${hint}`,
      )
      return undefined
    },
    map: (field: FieldName): Readonly<Record<string, unknown>> | undefined => {
      const value = found.get(field)?.value
      return value === undefined || isMap(value) ? value : wrong(field, "a map")
    },
    ignored: (field: FieldName, why: string) => {
      if (found.has(field)) complain("warning", field, `"${field}" has no effect here: ${why}`)
    },
    unknown: () => {
      for (const key of Object.keys(extra)) {
        const near = nearest(key, fields)
        const hint = near === undefined ? "" : `; did you mean "${near}"?`
        complainAt("warning", key, `"${key}" is no field of a skill; it is kept and not used${hint}`)
      }
      return extra
    },
  }
}
