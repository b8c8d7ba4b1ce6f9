/** Owns PDF documents for the model: short ones as they look, parts of any as text. */
import * as Effect from "effect/Effect"
import * as Pdf from "../../platform/Pdf.ts"
import type { ToolFailure, ToolOutput } from "../Tool.ts"
import * as Excerpt from "./Excerpt.ts"
import * as Media from "./Media.ts"
import { failure, megabytes, type Source } from "./Source.ts"

/** Longer documents are read in parts. */
export const maxWhole = 10
/** In one part. */
export const maxPages = 20

/** `"3"`, `"1-5"`, `"7-"`; `undefined` when it is none of these. */
export const range = (given: string): { readonly from: number; readonly to: number } | undefined => {
  const [, first, dash, last] = /^\s*(\d{1,6})\s*(-?)\s*(\d{1,6})?\s*$/.exec(given) ?? []
  if (first === undefined || (dash === "" && last !== undefined)) return undefined
  const from = Number(first)
  const to = dash === "" ? from : last === undefined ? Number.POSITIVE_INFINITY : Number(last)
  return from >= 1 && to >= from ? { from, to } : undefined
}

/** Scoped inside: nothing of the document stays open. */
export const read = (
  source: Source,
  title: string,
  pages: string | undefined,
): Effect.Effect<ToolOutput, ToolFailure> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { path, bytes } = source
      if (!Media.isPdf(bytes)) return yield* failure(`${path} is not a PDF document, whatever its name says.`)
      const pdf = yield* Pdf.open(bytes).pipe(
        Effect.mapError((error) => failure(`Cannot read ${path}: ${error.message}.`)),
      )
      if (pages !== undefined && pages.trim() !== "") return yield* part(source, pdf, pages)
      const parts = `Read a part of it with pages, at most ${maxPages} at once: pages: "1-${Math.min(pdf.pages, maxPages)}".`
      if (pdf.pages > maxWhole)
        return yield* failure(`${path} has ${pdf.pages} pages, too many to show at once. ${parts}`)
      if (bytes.length > Media.maxPdfBytes) {
        return yield* failure(
          `${path} is too large to show (${megabytes(bytes.length)}, the limit is ${megabytes(Media.maxPdfBytes)}). ${parts}`,
        )
      }
      const output: ToolOutput = {
        content: [Media.pdfBlock(bytes, title)],
        structured: { type: "pdf", file: { filePath: path, originalSize: bytes.length } },
      }
      return output
    }),
  )

const part = Effect.fnUntraced(function* (source: Source, pdf: Pdf.Pdf, pages: string) {
  const wanted = range(pages)
  if (wanted === undefined) {
    return yield* failure(`pages must look like "3", "1-5" or "7-", not ${JSON.stringify(pages)}. Pages count from 1.`)
  }
  const { from } = wanted
  if (from > pdf.pages) return yield* failure(`${source.path} has ${pdf.pages} pages; there is no page ${from}.`)
  const to = Math.min(wanted.to, pdf.pages)
  if (to - from + 1 > maxPages) {
    return yield* failure(
      `${to - from + 1} pages are too many at once; the limit is ${maxPages}. Begin with pages: "${from}-${from + maxPages - 1}".`,
    )
  }
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
  const output: ToolOutput = {
    content: said.join("\n"),
    structured: {
      type: "parts",
      file: { filePath: source.path, originalSize: source.bytes.length, count: page - from },
      firstPage: from,
    },
  }
  return output
})
