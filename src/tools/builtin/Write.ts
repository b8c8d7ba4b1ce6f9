/** Owns writing a whole file. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import * as Change from "./Change.ts"
import { decodeText, loadIfPresent, type Services, touched } from "./Source.ts"

const Input = Schema.Struct({
  file_path: Schema.String.annotate({ description: "Absolute path of the file" }),
  content: Schema.String.annotate({ description: "The whole new content" }),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  type: Schema.Literals(["create", "update"]),
  ...Change.outputFields,
  content: Schema.String,
})

const description = `Writes a whole file: creates it, with missing directories, or replaces what is there.
- An existing file must have been read in this session first.
- To change a part of a file use Edit, which needs only the changed passage.
- Write no files that the task does not call for.`

const plan = Effect.fnUntraced(function* (input: Input) {
  const workspace = yield* Workspace
  const path = workspace.resolve(input.file_path)
  const source = yield* loadIfPresent(path)
  if (source === undefined) return yield* Change.make(path, undefined, input.content)
  const change = yield* Change.make(path, { source, file: yield* decodeText(source) }, input.content)
  // Writing what is already there harms nobody, and makes a repeated call succeed.
  if (change.hash !== source.hash) yield* Change.fresh(source, "all")
  return change
})

export const Write = Tool.make<Input, Services, typeof Output.Type>({
  name: "Write",
  description,
  input: Input,
  output: Output,
  idempotency: "idempotent",
  maxResultChars: 100_000,
  summary: (input) => `Write ${input.file_path}`,
  effects: (input) => Effect.map(touched(input.file_path), (writes) => ({ writes })),
  validate: (input) => Effect.asVoid(plan(input)),
  evidence: (input) => Change.evidence(plan(input)),
  judge: Change.judge,
  run: Effect.fnUntraced(function* (input) {
    const change = yield* plan(input)
    yield* Change.apply(change)
    const created = change.before === undefined
    return {
      content: created ? `Created ${change.path}.` : `Replaced the content of ${change.path}.`,
      structured: { type: created ? "create" : "update", ...Change.output(change), content: input.content },
    }
  }),
})
