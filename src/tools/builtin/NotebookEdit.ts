/** Owns changing one cell of a Jupyter notebook. What is not changed stays as it is written, to the byte. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { applyEdits, type JSONPath, modify } from "jsonc-parser"
import { Files } from "../../platform/Files.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import * as Change from "./Change.ts"
import * as Notebook from "./Notebook.ts"
import { decodeText, failure, load, type Services, touched } from "./Source.ts"

const CellType = Schema.Literals(["code", "markdown"])
const Input = Schema.Struct({
  notebook_path: Schema.String.annotate({ description: "Absolute path of the .ipynb file" }),
  cell_id: Schema.optionalKey(
    Schema.String.annotate({ description: "The cell, by the id that Read shows. insert: after it; without it, first" }),
  ),
  new_source: Schema.String.annotate({ description: "The new source of the cell" }),
  cell_type: Schema.optionalKey(CellType.annotate({ description: "Needed for insert" })),
  edit_mode: Schema.optionalKey(
    Schema.Literals(["replace", "insert", "delete"]).annotate({ description: "Default: replace" }),
  ),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  new_source: Schema.String,
  old_source: Schema.optionalKey(Schema.String),
  cell_id: Schema.optionalKey(Schema.String),
  cell_type: CellType,
  language: Schema.String,
  edit_mode: Schema.String,
  notebook_path: Schema.String,
  original_file: Schema.String,
  updated_file: Schema.String,
  /** For the memory of what this session has seen. */
  filePath: Schema.String,
  fileHash: Schema.String,
})
type Output = typeof Output.Type

const description = `Changes one cell of a Jupyter notebook that has been read in this session: replaces its source, inserts a cell after it, or deletes it.
- A replaced code cell loses its outputs. Everything else in the notebook stays as it is.`

const Shape = Schema.Struct({
  nbformat: Schema.optionalKey(Schema.Finite),
  nbformat_minor: Schema.optionalKey(Schema.Finite),
  metadata: Schema.optionalKey(
    Schema.Struct({ language_info: Schema.optionalKey(Schema.Struct({ name: Schema.optionalKey(Schema.String) })) }),
  ),
  cells: Schema.Array(
    Schema.Struct({
      id: Schema.optionalKey(Schema.String),
      cell_type: Schema.String,
      source: Schema.Union([Schema.String, Schema.Array(Schema.String)]),
    }),
  ),
})
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Shape))

interface Plan {
  readonly change: Change.Change
  readonly old: string | undefined
  readonly cellId: string | undefined
  readonly cellType: "code" | "markdown"
  readonly language: string
}

const plan = Effect.fnUntraced(function* (input: Input): Effect.fn.Return<Plan, Tool.ToolFailure, Services> {
  const workspace = yield* Workspace
  const files = yield* Files
  const path = workspace.resolve(input.notebook_path)
  const mode = input.edit_mode ?? "replace"
  if (!path.toLowerCase().endsWith(".ipynb")) {
    return yield* failure(`${path} is not a notebook (.ipynb). Use Edit for other files.`)
  }
  if (mode === "insert" && input.cell_type === undefined)
    return yield* failure("insert needs a cell_type: code or markdown.")
  if (mode !== "insert" && input.cell_id === undefined) return yield* failure(`${mode} needs the cell_id of the cell.`)
  const source = yield* load(path)
  const file = yield* decodeText(source)
  yield* Change.fresh(source, "some")
  const notebook = yield* Effect.mapError(decode(file.text), () =>
    failure(`${path} is not a notebook that can be read: it is not valid notebook JSON.`),
  )
  const { cells } = notebook
  const index = input.cell_id === undefined ? -1 : placeOf(cells, input.cell_id)
  const cell = cells[index]
  if (input.cell_id !== undefined && cell === undefined) {
    const known = cells.slice(0, 20).map(Notebook.idOf).join(", ")
    return yield* failure(
      `There is no cell ${input.cell_id} in ${path}. ${cells.length === 0 ? "It has no cells." : `Its cells are: ${known}${cells.length > 20 ? ", …" : ""}.`}`,
    )
  }
  const style = formatting(file.text)
  const set = (text: string, at: JSONPath, value: unknown, isArrayInsertion = false) =>
    applyEdits(text, modify(text, at, value, { formattingOptions: style, isArrayInsertion }))
  const language = notebook.metadata?.language_info?.name ?? "python"
  const type = input.cell_type ?? (cell?.cell_type === "markdown" ? "markdown" : "code")
  const make = (text: string) => Change.make(path, { source, file }, text)

  if (mode === "insert") {
    const hasIds =
      (notebook.nbformat ?? 4) > 4 || ((notebook.nbformat ?? 4) === 4 && (notebook.nbformat_minor ?? 0) >= 5)
    // Of what it is made of, so that the same call always makes the same cell.
    const id = hasIds ? files.hash(`${source.hash} ${index} ${input.new_source}`).slice(0, 8) : undefined
    const fresh = {
      cell_type: type,
      ...(type === "code" && { execution_count: null }),
      ...(id !== undefined && { id }),
      metadata: {},
      ...(type === "code" && { outputs: [] }),
      source: linesOf(input.new_source),
    }
    const change = yield* make(set(file.text, ["cells", index + 1], fresh, true))
    return { change, old: undefined, cellId: id ?? `cell-${index + 1}`, cellType: type, language }
  }
  const old = cell === undefined ? "" : Notebook.joined(cell.source)
  if (mode === "delete") {
    const change = yield* make(set(file.text, ["cells", index], undefined))
    return { change, old, cellId: input.cell_id, cellType: type, language }
  }
  const written = typeof cell?.source === "string" ? input.new_source : linesOf(input.new_source)
  let text = set(file.text, ["cells", index, "source"], written)
  if (type !== cell?.cell_type) text = set(text, ["cells", index, "cell_type"], type)
  if (type === "code") {
    text = set(text, ["cells", index, "execution_count"], null)
    text = set(text, ["cells", index, "outputs"], [])
  } else if (cell?.cell_type === "code") {
    text = set(text, ["cells", index, "execution_count"], undefined)
    text = set(text, ["cells", index, "outputs"], undefined)
  }
  return { change: yield* make(text), old, cellId: input.cell_id, cellType: type, language }
})

/** By its id, else by its place: `cell-0`, or the number of the cell from 0. */
const placeOf = (cells: ReadonlyArray<{ readonly id?: string }>, wanted: string): number => {
  const named = cells.findIndex((cell) => cell.id === wanted)
  if (named !== -1) return named
  const [, number] = /^(?:cell-)?(\d+)$/.exec(wanted) ?? []
  return number === undefined ? -1 : Number(number)
}

/** As notebooks keep text: a line each, with its end. */
const linesOf = (source: string): ReadonlyArray<string> => source.split(/(?<=\n)/).filter((line) => line !== "")

const formatting = (text: string) => {
  const indent = /^\{\s*?\n([ \t]+)"/.exec(text)?.[1] ?? " "
  return { insertSpaces: !indent.startsWith("\t"), tabSize: indent.startsWith("\t") ? 1 : indent.length, eol: "\n" }
}

export const NotebookEdit = Tool.make<Input, Services, Output>({
  name: "NotebookEdit",
  description,
  input: Input,
  output: Output,
  idempotency: "once",
  maxResultChars: 100_000,
  deferred: true,
  summary: (input) => `NotebookEdit ${input.notebook_path}${input.cell_id === undefined ? "" : ` ${input.cell_id}`}`,
  effects: (input) => Effect.map(touched(input.notebook_path), (writes) => ({ writes })),
  validate: (input) => Effect.asVoid(plan(input)),
  evidence: (input) => Change.evidence(Effect.map(plan(input), ({ change }) => change)),
  judge: Change.judge,
  run: Effect.fnUntraced(function* (input) {
    const { change, old, cellId, cellType, language } = yield* plan(input)
    yield* Change.apply(change)
    const mode = input.edit_mode ?? "replace"
    const did = { replace: "Replaced the source of", insert: "Inserted", delete: "Deleted" }[mode]
    return {
      content: `${did} cell ${cellId ?? ""} in ${change.path}.`,
      structured: {
        new_source: mode === "delete" ? "" : input.new_source,
        ...(old !== undefined && { old_source: old }),
        ...(cellId !== undefined && { cell_id: cellId }),
        cell_type: cellType,
        language,
        edit_mode: mode,
        notebook_path: change.path,
        original_file: Change.originalFile(change) ?? "",
        updated_file: change.text.length <= 64 * 1024 ? change.text : "",
        filePath: change.path,
        fileHash: change.hash,
      },
    }
  }),
})
