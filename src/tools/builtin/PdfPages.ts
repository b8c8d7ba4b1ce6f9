/** Owns PDF documents for the model: up to ten pages as they look, more of them as text. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Pdf from "../../platform/Pdf.ts"
import type { ToolFailure, ToolOutput } from "../Tool.ts"
import * as Excerpt from "./Excerpt.ts"
import * as Media from "./Media.ts"
import { failure, megabytes, type Source } from "./Source.ts"

/** Shown as they look; longer documents are read in parts. */
export const maxWhole = 10
/** In one part. */
export const maxPages = 20
/** Of a part that is shown as it looks: a conversation may hold several. */
const maxPartBytes = 4 * 1024 * 1024

/** A document as a whole, or a part of it. */
export const Output = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("pdf"),
    file: Schema.Struct({ filePath: Schema.String, originalSize: Schema.Finite }),
  }),
  Schema.Struct({
    type: Schema.Literal("parts"),
    file: Schema.Struct({ filePath: Schema.String, originalSize: Schema.Finite, count: Schema.Finite }),
    firstPage: Schema.Finite,
  }),
])
type Answer = ToolOutput<typeof Output.Type>

/** `"3"`, `"1-5"`, `"7-"`; `undefined` when it is none of these. */
export const range = (given: string): Range | undefined => {
  const [, first, dash, last] = /^\s*(\d{1,6})\s*(-?)\s*(\d{1,6})?\s*$/.exec(given) ?? []
  if (first === undefined || (dash === "" && last !== undefined)) return undefined
  const from = Number(first)
  const to = dash === "" ? from : last === undefined ? Number.POSITIVE_INFINITY : Number(last)
  return from >= 1 && to >= from ? { from, to } : undefined
}

/** Scoped inside: nothing of the document stays open. */
export const read = (source: Source, title: string, pages: string | undefined): Effect.Effect<Answer, ToolFailure> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { path, bytes } = source
      if (!Media.isPdf(bytes)) return yield* failure(`${path} is not a PDF document, whatever its name says.`)
      const pdf = yield* Pdf.open(bytes).pipe(
        Effect.mapError((error) => failure(`Cannot read ${path}: ${error.message}.`)),
      )
      if (pages !== undefined && pages.trim() !== "") return yield* part(source, pdf, title, pages)
      const parts = `Read a part of it with pages, at most ${maxPages} at once: pages: "1-${Math.min(pdf.pages, maxPages)}".`
      if (pdf.pages > maxWhole)
        return yield* failure(`${path} has ${pdf.pages} pages, too many to show at once. ${parts}`)
      if (bytes.length > Media.maxPdfBytes) {
        return yield* failure(
          `${path} is too large to show (${megabytes(bytes.length)}, the limit is ${megabytes(Media.maxPdfBytes)}). ${parts}`,
        )
      }
      // The service takes only what everybody can read.
      if (pdf.encrypted) return yield* asText(source, pdf, { from: 1, to: pdf.pages }, "the document is encrypted")
      const output: Answer = {
        content: [Media.pdfBlock(bytes, title)],
        structured: { type: "pdf", file: { filePath: path, originalSize: bytes.length } },
      }
      return output
    }),
  )

interface Range {
  readonly from: number
  readonly to: number
}

const part = Effect.fnUntraced(function* (source: Source, pdf: Pdf.Pdf, title: string, pages: string) {
  const wanted = range(pages)
  if (wanted === undefined) {
    return yield* failure(`pages must look like "3", "1-5" or "7-", not ${JSON.stringify(pages)}. Pages count from 1.`)
  }
  const { from } = wanted
  if (from > pdf.pages) return yield* failure(`${source.path} has ${pdf.pages} pages; there is no page ${from}.`)
  const to = Math.min(wanted.to, pdf.pages)
  const count = to - from + 1
  if (count > maxPages) {
    return yield* failure(
      `${count} pages are too many at once; the limit is ${maxPages}. Begin with pages: "${from}-${from + maxPages - 1}".`,
    )
  }
  if (count > maxWhole) return yield* asText(source, pdf, { from, to }, `at most ${maxWhole} pages are shown at once`)
  if (pdf.encrypted) return yield* asText(source, pdf, { from, to }, "the document is encrypted")
  const cut = yield* pdf.part(from, to)
  if (cut === undefined) return yield* asText(source, pdf, { from, to }, "they cannot be taken out of the document")
  if (cut.length > maxPartBytes) {
    const limit = `the limit is ${megabytes(maxPartBytes)}${count > 1 ? "; ask for fewer" : ""}`
    return yield* asText(source, pdf, { from, to }, `with their pictures they have ${megabytes(cut.length)}, ${limit}`)
  }
  const named = `${title}, ${count === 1 ? `page ${from}` : `pages ${from} to ${to}`} of ${pdf.pages}`
  const output: Answer = {
    content: [Media.pdfBlock(cut, named)],
    structured: partOf(source, from, count),
  }
  return output
})

const partOf = ({ path, bytes }: Source, firstPage: number, count: number) =>
  ({ type: "parts", file: { filePath: path, originalSize: bytes.length, count }, firstPage }) as const

const asText = Effect.fnUntraced(function* (source: Source, pdf: Pdf.Pdf, { from, to }: Range, why: string) {
  const said: Array<string> = []
  let tokens = 0
  let page = from
  for (; page <= to; page++) {
    const words = yield* pdf
      .text(page)
      .pipe(Effect.mapError((error) => failure(`Cannot read ${source.path}: ${error.message}.`)))
    const text = words.trim() === "" ? "[This page has no text; it may be a picture.]" : words
    tokens += Excerpt.estimate(text)
    if (tokens > Excerpt.maxTokens && page > from) break
    const most = Math.floor(Excerpt.maxTokens * 3)
    said.push(
      `[page ${page} of ${pdf.pages}]`,
      text.length > most ? `${text.slice(0, most)}\n[cut: the page is too long]` : text,
    )
  }
  if (page <= to) said.push(`[Pages ${from} to ${page - 1}. Read on with pages: "${page}-${to}".]`)
  said.push(`[Only the words of these pages, without pictures: ${why}.]`)
  const output: Answer = { content: said.join("\n"), structured: partOf(source, from, page - from) }
  return output
})
