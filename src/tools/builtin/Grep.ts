/** Owns searching inside files with regular expressions. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Path from "effect/Path"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Files } from "../../platform/Files.ts"
import { type Found, Ripgrep } from "../../platform/Ripgrep.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { locate, refused, shortName, unsearched, withoutHistory, tellable } from "./SearchPlace.ts"
import { type Services, touched } from "./Source.ts"

const Lines = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Input = Schema.Struct({
  pattern: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "Regular expression (ripgrep syntax)" }),
  path: Schema.optionalKey(
    Schema.String.annotate({ description: "File or directory (default: the working directory)" }),
  ),
  glob: Schema.optionalKey(Schema.String.annotate({ description: "Only files like this: *.js, *.{ts,tsx}" })),
  type: Schema.optionalKey(Schema.String.annotate({ description: "Only files of this type: js, py, rust, go …" })),
  output_mode: Schema.optionalKey(
    Schema.Literals(["content", "files_with_matches", "count"]).annotate({
      description: "Matching lines, names of matching files (default), or matching lines per file",
    }),
  ),
  "-A": Schema.optionalKey(Lines.annotate({ description: "Lines after each match (content)" })),
  "-B": Schema.optionalKey(Lines.annotate({ description: "Lines before each match (content)" })),
  "-C": Schema.optionalKey(Lines.annotate({ description: "Lines around each match (content)" })),
  context: Schema.optionalKey(Lines.annotate({ description: "Same as -C" })),
  "-n": Schema.optionalKey(Schema.Boolean.annotate({ description: "Line numbers (content; default true)" })),
  "-i": Schema.optionalKey(Schema.Boolean.annotate({ description: "Ignore case" })),
  "-o": Schema.optionalKey(Schema.Boolean.annotate({ description: "Only the matched parts (content)" })),
  multiline: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Let matches span lines; . then matches newlines too" }),
  ),
  head_limit: Schema.optionalKey(
    Lines.annotate({ description: "Only the first N lines or files (default 250, 0 for all)" }),
  ),
  offset: Schema.optionalKey(Lines.annotate({ description: "Skip the first N before head_limit" })),
})
type Input = typeof Input.Type
type Mode = NonNullable<Input["output_mode"]>

/** One shape for each mode; the totals count what is on other pages too. */
const paged = { appliedLimit: Schema.optionalKey(Schema.Finite), appliedOffset: Schema.optionalKey(Schema.Finite) }
const Output = Schema.Union([
  Schema.Struct({
    mode: Schema.Literal("files_with_matches"),
    numFiles: Schema.Finite,
    filenames: Schema.Array(Schema.String),
    totalFiles: Schema.Finite,
    ...paged,
  }),
  Schema.Struct({
    mode: Schema.Literal("content"),
    numFiles: Schema.Literal(0),
    filenames: Schema.Tuple([]),
    content: Schema.String,
    numLines: Schema.Finite,
    totalLines: Schema.Finite,
    ...paged,
  }),
  Schema.Struct({
    mode: Schema.Literal("count"),
    numFiles: Schema.Finite,
    filenames: Schema.Tuple([]),
    content: Schema.String,
    numMatches: Schema.Finite,
    ...paged,
  }),
])
type Answer = Tool.ToolOutput<typeof Output.Type>

const defaultLimit = 250

const description = `Searches file contents with ripgrep. Use it instead of grep or rg in Bash.
- Full regular expressions; escape literal braces and dots: interface\\{\\}. A match stays within a line unless multiline is set.
- Files ignored by git are skipped, hidden ones are not.
- Start with the names of the files, then look at content with -C, or Read.`

export const Grep = Tool.make<Input, Services, typeof Output.Type>({
  name: "Grep",
  description,
  input: Input,
  output: Output,
  readOnly: true,
  concurrencySafe: true,
  maxResultChars: 100_000,
  summary: (input) => `Grep ${input.pattern}${input.path === undefined ? "" : ` in ${input.path}`}`,
  effects: Effect.fnUntraced(function* (input) {
    const workspace = yield* Workspace
    return { reads: yield* touched(input.path === undefined || input.path === "" ? workspace.cwd() : input.path) }
  }),
  run: (input) => Effect.scoped(search(input)),
})

const search = Effect.fnUntraced(function* (input: Input) {
  const ripgrep = yield* Ripgrep
  const workspace = yield* Workspace
  const { at } = yield* locate(input.path)
  const mode = input.output_mode ?? "files_with_matches"
  const isTellable = yield* tellable(at)
  // With a mark behind each name, where some of them must not be told.
  const marked = isTellable === undefined || mode === "files_with_matches" ? [] : ["--null"]
  const args = [...options(input, mode), ...marked, "--regexp", input.pattern, "--", yield* shortName(at)]
  const cwd = workspace.cwd()
  const byAge = mode === "files_with_matches" ? yield* ages(cwd) : undefined
  const found = yield* ripgrep
    .run(args, cwd, byAge === undefined ? {} : { onLines: byAge.see })
    .pipe(Effect.mapError(refused))
  const sorted = byAge === undefined ? found.lines : yield* byAge.newestFirst(found.lines.length)
  const told = isTellable === undefined ? sorted : sorted.flatMap((line) => filtered(line, mode, isTellable))
  // The place "." shows up in front of every name.
  const lines = told.map((line) => (line.startsWith("./") ? line.slice(2) : line))
  if (mode === "content") return content(page(input, lines), found)
  if (mode === "count") return counts(page(input, lines), found)
  return files(page(input, lines), found)
})

/** A line as it would be without the mark, or nothing. */
const filtered = (line: string, mode: Mode, isTellable: (name: string) => boolean): ReadonlyArray<string> => {
  if (mode === "files_with_matches") return isTellable(line) ? [line] : []
  const at = line.indexOf("\0")
  if (at === -1) return [line]
  const name = line.slice(0, at)
  const rest = line.slice(at + 1)
  return isTellable(name) ? [`${name}${/^\d+-/.test(rest) ? "-" : ":"}${rest}`] : []
}

const options = (input: Input, mode: Mode): ReadonlyArray<string> => {
  const number = (flag: string, value: number | undefined) => (value === undefined ? [] : [`${flag}=${value}`])
  const around = input["-C"] ?? input.context
  const content = [
    "--max-columns=500",
    "--max-columns-preview",
    "--no-heading",
    "--with-filename",
    // In one order every time, so that a second page continues the first.
    "--sort=path",
    input["-n"] === false ? "--no-line-number" : "--line-number",
    ...(input["-o"] === true ? ["--only-matching"] : []),
    ...(around === undefined
      ? [...number("--after-context", input["-A"]), ...number("--before-context", input["-B"])]
      : number("--context", around)),
  ]
  const shape: Record<Mode, ReadonlyArray<string>> = {
    content,
    count: ["--count", "--with-filename", "--sort=path"],
    files_with_matches: ["--files-with-matches"],
  }
  return [
    "--hidden",
    ...shape[mode],
    ...(input["-i"] === true ? ["--ignore-case"] : []),
    ...(input.multiline === true ? ["--multiline", "--multiline-dotall"] : []),
    ...(input.type === undefined || input.type === "" ? [] : [`--type=${input.type}`]),
    ...globs(input.glob ?? "").flatMap((glob) => ["--glob", glob]),
    ...withoutHistory,
  ]
}

/** Several globs may come in one string; a comma inside braces belongs to its glob. */
const globs = (given: string): ReadonlyArray<string> =>
  given
    .split(/\s+/)
    .flatMap((part) => (/[{}]/.test(part) ? [part] : part.split(",")))
    .filter((glob) => glob !== "")

/**
 * Puts finds in order, the newest first. How old each is, is found out while the search goes on: where there are thousands, looking
 * at them takes as long as the search itself.
 */
const ages = Effect.fnUntraced(function* (cwd: string) {
  const files = yield* Files
  const paths = yield* Path.Path
  const finds = yield* Queue.unbounded<ReadonlyArray<string>, Cause.Done>()
  const seen: Array<{ readonly name: string; readonly at: number }> = []
  const looking = yield* Stream.fromQueue(finds).pipe(
    Stream.runForEachArray((lists) => {
      const names = lists.flat()
      return Effect.map(files.changedAt(names.map((name) => paths.resolve(cwd, name))), (found) => {
        for (const [index, name] of names.entries()) seen.push({ name, at: found[index] ?? 0 })
      })
    }),
    Effect.forkScoped({ startImmediately: true }),
  )
  return {
    see: (names: ReadonlyArray<string>): void => void Queue.offerUnsafe(finds, names),
    /** Of the first ones: the rest of too many is given up. */
    newestFirst: Effect.fnUntraced(function* (count: number) {
      yield* Queue.end(finds)
      yield* Fiber.join(looking)
      const kept = seen.slice(0, count).sort((a, b) => b.at - a.at || (a.name < b.name ? -1 : 1))
      return kept.map(({ name }) => name)
    }),
  }
})

interface Page {
  readonly lines: ReadonlyArray<string>
  readonly all: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
  readonly applied: { readonly appliedLimit?: number; readonly appliedOffset?: number }
}

const page = (input: Input, all: ReadonlyArray<string>): Page => {
  const offset = input.offset ?? 0
  const limit = input.head_limit ?? defaultLimit
  const lines = all.slice(offset, limit === 0 ? undefined : offset + limit)
  const next = offset + lines.length
  return {
    lines,
    all,
    notes:
      next < all.length
        ? [`[${next} of ${all.length} shown. Continue with offset ${next}, or narrow the search.]`]
        : [],
    applied: {
      ...(next < all.length && { appliedLimit: limit }),
      ...(offset > 0 && { appliedOffset: offset }),
    },
  }
}

const none = (what: string, { all }: Page): string =>
  all.length === 0 ? `No ${what} found.` : `Nothing at this offset: there are only ${all.length} results.`

const said = (lines: ReadonlyArray<string>, shown: Page, found: Found): string =>
  [
    ...lines,
    ...shown.notes,
    ...(found.truncated ? ["[There were too many results to keep them all; narrow the search.]"] : []),
    ...unsearched(found.problems),
  ].join("\n")

const content = (shown: Page, found: Found): Answer => ({
  content: said(shown.lines.length === 0 ? [none("matches", shown)] : shown.lines, shown, found),
  structured: {
    mode: "content",
    numFiles: 0,
    filenames: [],
    content: shown.lines.join("\n"),
    numLines: shown.lines.length,
    totalLines: shown.all.length,
    ...shown.applied,
  },
})

const counts = (shown: Page, found: Found): Answer => {
  // Of all files, also of those on other pages.
  const numMatches = shown.all.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(":") + 1)), 0)
  const numFiles = shown.all.length
  const total = `${numMatches} matching lines in ${numFiles} files.`
  return {
    content: said(shown.lines.length === 0 ? [none("matches", shown)] : [...shown.lines, total], shown, found),
    structured: {
      mode: "count",
      numFiles,
      filenames: [],
      content: shown.lines.join("\n"),
      numMatches,
      ...shown.applied,
    },
  }
}

const files = (shown: Page, found: Found): Answer => ({
  content: said(shown.lines.length === 0 ? [none("files", shown)] : shown.lines, shown, found),
  structured: {
    mode: "files_with_matches",
    numFiles: shown.lines.length,
    filenames: shown.lines,
    totalFiles: shown.all.length,
    ...shown.applied,
  },
})
