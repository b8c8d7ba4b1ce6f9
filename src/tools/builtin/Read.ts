/** Owns reading a file for the model: numbered lines, pictures, documents, notebooks. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { FileMemory } from "../FileMemory.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import * as Excerpt from "./Excerpt.ts"
import * as Media from "./Media.ts"
import * as Notebook from "./Notebook.ts"
import * as PdfPages from "./PdfPages.ts"
import { decodeText, failure, load, type Services, type Source, touched } from "./Source.ts"

const Input = Schema.Struct({
  file_path: Schema.String.annotate({ description: "Absolute path of the file" }),
  offset: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "First line to read, from 1" }),
  ),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)).annotate({ description: "How many lines to read" }),
  ),
  pages: Schema.optionalKey(
    Schema.String.annotate({ description: `Pages of a PDF: "3", "1-5"; at most ${PdfPages.maxPages} at once` }),
  ),
})
type Input = typeof Input.Type

/** What was read, by its kind. Pictures and documents themselves are in the content; here they would be kept a second time. */
const Output = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("text"),
    file: Schema.Struct({
      filePath: Schema.String,
      content: Schema.String,
      numLines: Schema.Finite,
      startLine: Schema.Finite,
      totalLines: Schema.Finite,
      fileHash: Schema.String,
    }),
  }),
  Schema.Struct({
    type: Schema.Literal("image"),
    file: Schema.Struct({
      filePath: Schema.String,
      type: Media.ImageType,
      originalSize: Schema.Finite,
      dimensions: Schema.optionalKey(Schema.Struct({ originalWidth: Schema.Finite, originalHeight: Schema.Finite })),
    }),
  }),
  Schema.Struct({
    type: Schema.Literal("notebook"),
    file: Schema.Struct({ filePath: Schema.String, cells: Schema.Array(Notebook.Cell), fileHash: Schema.String }),
  }),
  ...PdfPages.Output.members,
])
type Output = typeof Output.Type
type Answer = Tool.ToolOutput<Output>

const description = `Reads a file. Lines come back numbered as by \`cat -n\`: number, tab, content; the number is not part of the file.
- Up to ${Excerpt.maxLines} lines from the start; pass offset and limit to read another part of a long file. Lines over ${Excerpt.maxLineChars} characters are cut.
- Shows images (PNG, JPEG, GIF, WebP) and short PDF files as they look, and notebooks (.ipynb) as cells with outputs.
- A PDF of more than ${PdfPages.maxWhole} pages is read in parts named by pages; parts of more than ${PdfPages.maxWhole} pages come as text.
- Reads files only; list directories with Glob or ls. Several files can be read at once in parallel calls.`

export const Read = Tool.make<Input, Services, Output>({
  name: "Read",
  description,
  input: Input,
  output: Output,
  readOnly: true,
  concurrencySafe: true,
  maxResultChars: Number.POSITIVE_INFINITY,
  summary: (input) => `Read ${input.file_path}`,
  effects: (input) => Effect.map(touched(input.file_path), (reads) => ({ reads })),
  run: Effect.fnUntraced(function* (input) {
    const workspace = yield* Workspace
    const memory = yield* FileMemory
    const paths = yield* Path.Path
    const source = yield* load(workspace.resolve(input.file_path))
    const kind = paths.extname(source.path).toLowerCase()

    if (imageKinds.has(kind)) return yield* readImage(source)
    if (kind === ".pdf") return yield* PdfPages.read(source, paths.basename(source.path), input.pages)

    const { text } = yield* decodeText(source)
    const cells = kind === ".ipynb" && input.offset === undefined ? Notebook.parse(text) : undefined
    if (cells !== undefined) {
      memory.sawAll(source.path, source.hash)
      const file = { filePath: source.path, cells, fileHash: source.hash }
      const answer: Answer = { content: Notebook.render(cells), structured: { type: "notebook", file } }
      return answer
    }
    return yield* readText(source, text, input)
  }),
})

const imageKinds = new Set([".png", ".jpg", ".jpeg", ".gif", ".webp"])

const readImage = (source: Source): Effect.Effect<Answer, Tool.ToolFailure> => {
  const found = Media.image(source.bytes)
  if (found === undefined) {
    return Effect.fail(
      failure(
        `${source.path} is not a PNG, JPEG, GIF or WebP image, whatever its name says (${source.bytes.length} bytes).`,
      ),
    )
  }
  const refusal = Media.refusal(found, source.bytes.length)
  if (refusal !== undefined) return Effect.fail(failure(`Cannot show ${source.path}: ${refusal}.`))
  return Effect.succeed({
    content: [Media.imageBlock(found.type, source.bytes)],
    structured: {
      type: "image",
      file: {
        filePath: source.path,
        type: found.type,
        originalSize: source.bytes.length,
        ...(found.size !== undefined && {
          dimensions: { originalWidth: found.size.width, originalHeight: found.size.height },
        }),
      },
    },
  })
}

const readText = Effect.fnUntraced(function* (source: Source, text: string, input: Input) {
  const memory = yield* FileMemory
  const excerpt = Excerpt.take(text, input.offset, input.limit)
  const { startLine, numLines, totalLines } = excerpt
  if (startLine > Math.max(1, totalLines)) {
    return yield* failure(`${source.path} has ${totalLines} lines; offset ${startLine} is past its end.`)
  }
  memory.sawLines(source.path, source.hash, { from: startLine, to: startLine + numLines - 1, total: totalLines })
  const end = startLine + numLines - 1
  const notes = [
    ...(totalLines === 0 ? ["[The file exists but is empty.]"] : []),
    ...(end < totalLines ? [`[Lines ${startLine} to ${end} of ${totalLines}. Read on with offset ${end + 1}.]`] : []),
    ...(excerpt.cutLines > 0
      ? [`[${excerpt.cutLines} long lines were cut; use cut -c in Bash to see more of them.]`]
      : []),
  ]
  const { content } = excerpt
  const answer: Answer = {
    content: [...(excerpt.numbered === "" ? [] : [excerpt.numbered]), ...notes].join("\n"),
    structured: {
      type: "text",
      file: { filePath: source.path, content, numLines, startLine, totalLines, fileHash: source.hash },
    },
  }
  return answer
})
