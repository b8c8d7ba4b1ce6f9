/** Owns changing a passage of a file: exactly one, or all of them when asked. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { TextFile } from "../../platform/Text.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import * as Change from "./Change.ts"
import * as NearMatch from "./NearMatch.ts"
import * as Replacement from "./Replacement.ts"
import { decodeText, failure, loadIfPresent, missing, type Services, touched } from "./Source.ts"

const Input = Schema.Struct({
  file_path: Schema.String.annotate({ description: "Absolute path of the file" }),
  old_string: Schema.String.annotate({ description: "The passage to replace, exactly as it is in the file" }),
  new_string: Schema.String.annotate({ description: "What takes its place; must differ" }),
  replace_all: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Replace every occurrence instead of the only one (default false)" }),
  ),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  ...Change.outputFields,
  oldString: Schema.String,
  newString: Schema.String,
  userModified: Schema.Boolean,
  replaceAll: Schema.Boolean,
})

const description = `Replaces a passage in a file that has been read in this session.
- old_string must match the file exactly, white space included, and without the line numbers that Read shows.
- It must occur exactly once: add lines around it until it does, or set replace_all to change every occurrence, as when renaming.
- An empty old_string creates a file that does not exist yet.
- Line endings, encoding and file mode stay as they are.`

const plan = Effect.fnUntraced(function* (input: Input) {
  const workspace = yield* Workspace
  const path = workspace.resolve(input.file_path)
  if (input.old_string === input.new_string) {
    return yield* failure("old_string and new_string are the same: there is nothing to change.")
  }
  const source = yield* loadIfPresent(path)
  if (source === undefined) {
    if (input.old_string !== "") return yield* missing(path)
    return { change: yield* Change.make(path, undefined, input.new_string), lines: [1] }
  }
  const file = yield* decodeText(source)
  if (input.old_string === "" && file.text !== "") {
    return yield* failure(
      `${path} exists and is not empty, so an empty old_string does not say where to put the text. Name a passage of it.`,
    )
  }
  yield* Change.fresh(source, "some")
  const { text, lines } = yield* replaced(path, file, input)
  return { change: yield* Change.make(path, { source, file }, text), lines }
})

/** One replacement, as an edit asks for it. */
export type Passage = Omit<Input, "file_path">

/** The text with the passage replaced, and the lines where that was. */
export const replaced = Effect.fnUntraced(function* (path: string, file: TextFile, input: Passage) {
  if (file.text === "") {
    if (input.old_string === "") return { text: input.new_string, lines: [1] }
    return yield* failure(`${path} is empty: old_string is not in it.`)
  }
  const mixed = file.lineEnding === "mixed"
  // Where every line ends in CRLF the text carries LF only, and so must the passage.
  const plain = (given: string) => (file.lineEnding === "crlf" ? given.replaceAll("\r\n", "\n") : given)
  const found = Replacement.find(file.text, plain(input.old_string), mixed)
  if (found.spans.length === 0) return yield* notFound(path, file.text, input)
  const lines = Replacement.lineNumbers(file.text, found)
  if (found.spans.length > 1 && input.replace_all !== true) {
    const shown = lines.slice(0, 10).join(", ") + (lines.length > 10 ? ", …" : "")
    return yield* failure(
      `old_string occurs ${lines.length} times in ${path} (lines ${shown}). ` +
        `Add more of the surrounding text so that it names one of them, or set replace_all.`,
    )
  }
  const text = Replacement.replace(file.text, found, plain(input.new_string), mixed)
  if (text === file.text) return yield* failure(`The edit would leave ${path} as it is: there is nothing to change.`)
  return { text, lines }
})

const notFound = (path: string, text: string, input: Passage): Tool.ToolFailure => {
  const said = `old_string is not in ${path}.`
  if (/^ *\d+\t/m.test(input.old_string)) {
    return failure(`${said} It seems to carry line numbers; they are not part of the file, leave them out.`)
  }
  const near = NearMatch.passage(input.old_string, text)
  if (near === undefined) return failure(`${said} Read the file again and copy the passage exactly.`)
  const why = near.sameWords ? "Only white space differs from" : "The closest passage begins at"
  return failure(`${said} ${why} line ${near.line}:\n${near.text}`)
}

export const Edit = Tool.make<Input, Services, typeof Output.Type>({
  name: "Edit",
  description,
  input: Input,
  output: Output,
  // Repeating it could replace what the first run put there; the evidence tells whether it happened.
  idempotency: "once",
  maxResultChars: 100_000,
  summary: (input) => `Edit ${input.file_path}`,
  effects: (input) => Effect.map(touched(input.file_path), (writes) => ({ writes })),
  validate: (input) => Effect.asVoid(plan(input)),
  evidence: (input) => Change.evidence(Effect.map(plan(input), ({ change }) => change)),
  judge: Change.judge,
  run: Effect.fnUntraced(function* (input) {
    const { change, lines } = yield* plan(input)
    yield* Change.apply(change)
    const where = lines.length === 1 ? `at line ${lines[0]}` : `in ${lines.length} places`
    return {
      content: change.before === undefined ? `Created ${change.path}.` : `Edited ${change.path} ${where}.`,
      structured: {
        ...Change.output(change),
        oldString: input.old_string,
        newString: input.new_string,
        userModified: false,
        replaceAll: input.replace_all ?? false,
      },
    }
  }),
})
