/** Owns several changes of one file as one: each on what the one before left, and all of them or none. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Text from "../../platform/Text.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import * as Change from "./Change.ts"
import * as Edit from "./Edit.ts"
import { decodeText, failure, loadIfPresent, missing, type Services, touched } from "./Source.ts"

const Passage = Schema.Struct({
  old_string: Schema.String,
  new_string: Schema.String,
  replace_all: Schema.optionalKey(Schema.Boolean),
})
const Input = Schema.Struct({
  file_path: Schema.String.annotate({ description: "Absolute path of the file" }),
  edits: Schema.Array(Passage)
    .check(Schema.isMinLength(1))
    .annotate({ description: "Each as for Edit, in order, on what the one before left" }),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  ...Change.outputFields,
  edits: Schema.Array(Passage),
  userModified: Schema.Boolean,
})
type Output = typeof Output.Type

const description = `Makes several edits of one file at once, as Edit does: all of them, or none if one does not fit.`

const plan = Effect.fnUntraced(function* (input: Input) {
  const workspace = yield* Workspace
  const path = workspace.resolve(input.file_path)
  const source = yield* loadIfPresent(path)
  const creates = input.edits[0]?.old_string === ""
  if (source === undefined && !creates) return yield* missing(path)
  const before = source === undefined ? undefined : { source, file: yield* decodeText(source) }
  if (before !== undefined) {
    if (creates && before.file.text !== "") {
      return yield* failure(
        `${path} exists and is not empty, so an empty old_string does not say where to put the text.`,
      )
    }
    yield* Change.fresh(before.source, "some")
  }
  let text = before?.file.text ?? ""
  for (const [index, edit] of input.edits.entries()) {
    const nth = `Edit ${index + 1} of ${input.edits.length} does not fit, so nothing was changed:`
    if (edit.old_string === edit.new_string) return yield* failure(`${nth} old_string and new_string are the same.`)
    if (edit.old_string === "" && text !== "")
      return yield* failure(`${nth} an empty old_string names no place in a file that has text.`)
    const file = { ...(before?.file ?? Text.plain), text }
    const made = yield* Effect.mapError(Edit.replaced(path, file, edit), ({ message }) => failure(`${nth} ${message}`))
    text = made.text
  }
  if (text === before?.file.text)
    return yield* failure(`The edits would leave ${path} as it is: there is nothing to change.`)
  return yield* Change.make(path, before, text)
})

export const MultiEdit = Tool.make<Input, Services, Output>({
  name: "MultiEdit",
  listed: false,
  description,
  input: Input,
  output: Output,
  idempotency: "once",
  maxResultChars: 100_000,
  deferred: true,
  summary: (input) => `MultiEdit ${input.file_path} (${input.edits.length} edits)`,
  effects: (input) => Effect.map(touched(input.file_path), (writes) => ({ writes })),
  validate: (input) => Effect.asVoid(plan(input)),
  evidence: (input) => Change.evidence(plan(input)),
  judge: Change.judge,
  run: Effect.fnUntraced(function* (input) {
    const change = yield* plan(input)
    yield* Change.apply(change)
    const count = input.edits.length === 1 ? "1 edit" : `${input.edits.length} edits`
    return {
      content: change.before === undefined ? `Created ${change.path}.` : `Made ${count} in ${change.path}.`,
      structured: { ...Change.output(change), edits: input.edits, userModified: false },
    }
  }),
})
