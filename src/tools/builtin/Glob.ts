/** Owns finding files by name, the most recently changed first. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Host } from "../../platform/Host.ts"
import { Ripgrep } from "../../platform/Ripgrep.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { locate, refused, shortName, unsearched, withoutHistory, tellable } from "./SearchPlace.ts"
import { failure, type Services, touched } from "./Source.ts"

const Input = Schema.Struct({
  pattern: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "Glob, such as src/**/*.ts" }),
  path: Schema.optionalKey(
    Schema.String.annotate({ description: "Directory to search (default: the working directory)" }),
  ),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  filenames: Schema.Array(Schema.String),
  durationMs: Schema.Finite,
  numFiles: Schema.Finite,
  truncated: Schema.Boolean,
  /** Also those that are not told of. */
  totalMatches: Schema.Finite,
  /** False: there are even more. */
  countIsComplete: Schema.Boolean,
})

const maxFiles = 100

const description = `Finds files by name with a glob such as **/*.ts or src/**/{a,b}*.json.
- Newest first, at most ${maxFiles}. Files ignored by git and hidden files are included.
- To search inside files use Grep.`

/** The directory a pattern is anchored in, and the rest of it: an absolute pattern brings its own. */
const split = Effect.fnUntraced(function* (input: Input) {
  const workspace = yield* Workspace
  const paths = yield* Path.Path
  const pattern = input.pattern.replace(/^(?:\.\/)+/, "")
  const base = input.path === undefined || input.path === "" ? workspace.cwd() : workspace.resolve(input.path)
  if (!/^(?:\/|~\/|\.\.\/)/.test(pattern) && !paths.isAbsolute(pattern)) return { base, pattern }
  const whole = pattern.startsWith("..") ? paths.join(base, pattern) : workspace.resolve(pattern)
  const parts = whole.split("/")
  const first = parts.findIndex((part) => /[*?[{]/.test(part))
  const at = first === -1 ? parts.length - 1 : first
  return { base: parts.slice(0, at).join("/") || "/", pattern: parts.slice(at).join("/") }
})

const isOff = (value: string | undefined): boolean => value === "false" || value === "0"

export const Glob = Tool.make<Input, Services, typeof Output.Type>({
  name: "Glob",
  description,
  input: Input,
  output: Output,
  readOnly: true,
  concurrencySafe: true,
  maxResultChars: 100_000,
  summary: (input) => `Glob ${input.pattern}`,
  effects: (input) =>
    Effect.map(
      Effect.flatMap(split(input), ({ base }) => touched(base)),
      (reads) => ({ reads }),
    ),
  run: Effect.fnUntraced(function* (input) {
    const ripgrep = yield* Ripgrep
    const host = yield* Host
    const paths = yield* Path.Path
    const startedAt = yield* Clock.currentTimeMillis
    const { base, pattern } = yield* split(input)
    const { at, isDirectory } = yield* locate(base)
    if (!isDirectory) return yield* failure(`${at} is a file. Glob searches directories; use Read for a file.`)
    const args = [
      "--files",
      "--sortr=modified",
      ...(isOff(host.env("CLAUDE_CODE_GLOB_NO_IGNORE")) ? [] : ["--no-ignore"]),
      ...(isOff(host.env("CLAUDE_CODE_GLOB_HIDDEN")) ? [] : ["--hidden"]),
      "--glob",
      pattern,
      ...withoutHistory,
    ]
    const found = yield* ripgrep.run(args, at).pipe(Effect.mapError(refused))
    const isTellable = yield* tellable(at)
    const all = found.lines.filter((line) => isTellable === undefined || isTellable(paths.join(at, line)))
    const kept = all.slice(0, maxFiles)
    const filenames = yield* Effect.forEach(kept, (line) => shortName(paths.join(at, line)))
    const truncated = all.length > maxFiles || found.truncated
    const notes = [
      ...(truncated ? [`[${maxFiles} of ${all.length} files, the newest. Narrow the pattern or the path.]`] : []),
      ...unsearched(found.problems),
    ]
    const durationMs = (yield* Clock.currentTimeMillis) - startedAt
    return {
      content: [...(filenames.length === 0 ? ["No files match."] : filenames), ...notes].join("\n"),
      structured: {
        filenames,
        durationMs,
        numFiles: filenames.length,
        truncated,
        totalMatches: all.length,
        countIsComplete: !found.truncated,
      },
    }
  }),
})
