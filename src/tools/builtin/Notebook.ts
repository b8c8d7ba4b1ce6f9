/** Owns how a Jupyter notebook reads: its cells with their outputs, as text and images. */
import * as Base64 from "effect/encoding/Base64"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { text, type ToolResultContent } from "../../protocol/Content.ts"
import * as Excerpt from "./Excerpt.ts"
import * as Media from "./Media.ts"

const Lines = Schema.Union([Schema.String, Schema.Array(Schema.String)])
const CellOutput = Schema.Struct({
  output_type: Schema.optionalKey(Schema.String),
  text: Schema.optionalKey(Lines),
  data: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  ename: Schema.optionalKey(Schema.String),
  evalue: Schema.optionalKey(Schema.String),
})
export const Cell = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  cell_type: Schema.String,
  source: Lines,
  outputs: Schema.optionalKey(Schema.Array(CellOutput)),
})
const Notebook = Schema.Struct({ cells: Schema.Array(Cell) })
type Cell = typeof Cell.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Notebook))

/** `undefined` when the text is not a notebook. */
export const parse = (json: string): ReadonlyArray<Cell> | undefined =>
  Option.getOrUndefined(Option.map(decode(json), (notebook) => notebook.cells))

/** What NotebookEdit calls a cell: its own id, or its place where it has none. */
export const idOf = (cell: Pick<Cell, "id">, index: number): string => cell.id ?? `cell-${index}`

export const joined = (lines: typeof Lines.Type): string => (typeof lines === "string" ? lines : lines.join(""))
const isLines = Schema.is(Lines)
const outputChars = 10_000

type Block = Exclude<ToolResultContent, string>[number]

/** The cells as the model sees them, as many as fit. */
export const render = (cells: ReadonlyArray<Cell>): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  let words: Array<string> = []
  let tokens = 0
  const flush = () => {
    if (words.length > 0) blocks.push(text(words.join("\n")))
    words = []
  }
  for (const [index, cell] of cells.entries()) {
    const name = `cell ${index + 1} (${idOf(cell, index)})`
    const said = [`[${name}, ${cell.cell_type}]`, joined(cell.source)]
    const images: Array<Block> = []
    for (const output of cell.outputs ?? []) {
      const plain = outputText(output)
      if (plain !== "") said.push("[output]", plain)
      images.push(...outputImages(output))
    }
    const part = said.join("\n")
    tokens += Excerpt.estimate(part)
    if (tokens > Excerpt.maxTokens && index > 0) {
      words.push(
        `[${cells.length - index} more cells are not shown: the notebook is too long. Use Grep or Bash for them.]`,
      )
      break
    }
    words.push(part, "")
    if (images.length > 0) {
      flush()
      blocks.push(...images)
    }
  }
  flush()
  return blocks.length === 0 ? [text("The notebook has no cells.")] : blocks
}

const outputText = (output: typeof CellOutput.Type): string => {
  const data = output.data?.["text/plain"]
  const whole =
    output.output_type === "error"
      ? `${output.ename ?? "error"}: ${output.evalue ?? ""}`
      : output.text !== undefined
        ? joined(output.text)
        : isLines(data)
          ? joined(data)
          : ""
  return whole.length <= outputChars
    ? whole
    : `${whole.slice(0, outputChars)}\n[${whole.length - outputChars} more characters]`
}

const outputImages = (output: typeof CellOutput.Type): ReadonlyArray<Block> =>
  ["image/png", "image/jpeg"].flatMap((type) => {
    const data = output.data?.[type]
    if (!isLines(data)) return []
    const bytes = Base64.decode(joined(data).replaceAll(/\s/g, ""))
    if (Result.isFailure(bytes)) return []
    const found = Media.image(bytes.success)
    return found === undefined || Media.refusal(found, bytes.success.length) !== undefined
      ? []
      : [Media.imageBlock(found.type, bytes.success)]
  })
