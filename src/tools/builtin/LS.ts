/** Owns listing one directory. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { fromPlatform } from "../../platform/FileError.ts"
import * as Tool from "../Tool.ts"
import { locate } from "./SearchPlace.ts"
import { failure, type Services, touched } from "./Source.ts"

const Input = Schema.Struct({
  path: Schema.String.annotate({ description: "The directory" }),
  ignore: Schema.optionalKey(Schema.Array(Schema.String).annotate({ description: "Globs of names to leave out" })),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  path: Schema.String,
  entries: Schema.Array(Schema.String),
  truncated: Schema.Boolean,
})
type Output = typeof Output.Type

const maxEntries = 1_000

export const LS = Tool.make<Input, Services, Output>({
  name: "LS",
  listed: false,
  description: `Lists what is in a directory, hidden names included; directories end in "/". Use Glob to search deeper.`,
  input: Input,
  output: Output,
  readOnly: true,
  concurrencySafe: true,
  maxResultChars: 100_000,
  deferred: true,
  summary: (input) => `LS ${input.path}`,
  effects: (input) => Effect.map(touched(input.path), (reads) => ({ reads })),
  run: Effect.fnUntraced(function* (input) {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const { at, isDirectory } = yield* locate(input.path)
    if (!isDirectory) return yield* failure(`${at} is a file, not a directory. Look at it with Read.`)
    const names = yield* fs
      .readDirectory(at)
      .pipe(Effect.mapError((error) => failure(fromPlatform("list", at, error).message)))
    const ignored = (input.ignore ?? []).map(matcher)
    const wanted = names.filter((name) => !ignored.some((glob) => glob.test(name))).sort()
    const entries = yield* Effect.forEach(
      wanted.slice(0, maxEntries),
      (name) =>
        fs.stat(paths.join(at, name)).pipe(
          Effect.map((info) => (info.type === "Directory" ? `${name}/` : name)),
          // A link that leads nowhere is an entry all the same.
          Effect.orElseSucceed(() => name),
        ),
      { concurrency: 32 },
    )
    const truncated = wanted.length > maxEntries
    const notes = truncated ? [`[${maxEntries} of ${wanted.length} entries. Narrow it down with Glob.]`] : []
    return {
      content: [`${at}/`, ...(entries.length === 0 ? ["[empty]"] : entries.map((name) => `- ${name}`)), ...notes].join(
        "\n",
      ),
      structured: { path: at, entries, truncated },
    }
  }),
})

/** A glob for one name: `*.log`, `node_modules`, `**\/build/`. */
const matcher = (glob: string): RegExp => {
  const name = glob.replace(/\/(\*\*)?$/, "").replace(/^.*\//, "")
  const source = name
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll(/\*+/g, ".*")
    .replaceAll("?", ".")
  return new RegExp(`^${source}$`)
}
