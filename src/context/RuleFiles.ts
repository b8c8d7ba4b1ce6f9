/** Owns the files of a `.claude/rules` directory: which there are, and for which paths each of them is meant. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Files } from "../platform/Files.ts"
import * as Frontmatter from "../platform/Frontmatter.ts"
import * as PathGlob from "../platform/PathGlob.ts"

/** More than this is no set of rules, but a directory that somebody linked by mistake. */
const bounds = { depth: 12, limit: 1_000 }

/** Every `.md` file below, sorted, links followed. */
export const find = Effect.fnUntraced(function* (directory: string) {
  const { walk } = yield* Files
  return (yield* walk(directory, bounds)).files.filter((file) => file.endsWith(".md"))
})

export interface Rule {
  readonly body: string
  /** The line the body begins on. */
  readonly bodyLine: number
  /** For which paths it is meant; for all where there is none. */
  readonly globs: ReadonlyArray<string> | undefined
  readonly glob: PathGlob.PathGlob
  readonly problems: ReadonlyArray<Pick<Frontmatter.Problem, "line" | "message">>
}

const Globs = Schema.Union([Schema.String, Schema.Array(Schema.String)])
const isGlobs = Schema.is(Globs)

export const read = Effect.fnUntraced(function* (text: string) {
  const { body, bodyLine, data, lineOf, problems } = yield* Frontmatter.parse(text)
  const given = data["paths"]
  const line = lineOf("paths") ?? 1
  const known = given === undefined || given === null || isGlobs(given)
  const wrong = known
    ? []
    : [{ line, message: "paths must be a pattern or a list of patterns; the rule counts everywhere" }]
  const globs = isGlobs(given) ? (typeof given === "string" ? commaList(given) : given) : []
  const glob = PathGlob.make(globs)
  const rule: Rule = {
    body,
    bodyLine,
    globs: globs.length === 0 ? undefined : globs,
    glob,
    problems: [
      ...problems,
      ...wrong,
      ...glob.problems.map(({ pattern, why }) => ({ line, message: `${pattern}: ${why}` })),
    ],
  }
  return rule
})

/** `a, b` is two patterns, `{a,b}` is one. */
const commaList = (text: string): ReadonlyArray<string> => {
  const parts: Array<string> = [""]
  let depth = 0
  for (const char of text) {
    if (char === "{") depth++
    if (char === "}") depth--
    if (char === "," && depth <= 0) parts.push("")
    else parts.push(`${parts.pop() ?? ""}${char}`)
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "")
}
