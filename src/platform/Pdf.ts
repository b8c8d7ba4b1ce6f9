/** Owns the text of PDF documents. The library is loaded at first use: it is large, and few sessions read one. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The document cannot be opened. */
export class PdfError extends Schema.TaggedError<PdfError>()("PdfError", {
  reason: Schema.Literals(["damaged", "encrypted"]),
  detail: Schema.String,
}) {
  override get message(): string {
    return this.reason === "encrypted"
      ? "the document is protected with a password"
      : `the document is damaged or no PDF (${this.detail})`
  }
}

export interface Pdf {
  readonly pages: number
  /** The words of a page, from 1, in the order in which they are drawn. Empty for a picture of a page. */
  readonly text: (page: number) => Effect.Effect<string, PdfError>
}

const failed = (cause: unknown): PdfError => {
  const name = cause instanceof Error ? cause.name : ""
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new PdfError({ reason: name === "PasswordException" ? "encrypted" : "damaged", detail })
}

/** Open until the scope closes. */
export const open = Effect.fnUntraced(function* (bytes: Uint8Array) {
  const library = yield* Effect.promise(() => import("unpdf"))
  const document = yield* Effect.acquireRelease(
    Effect.tryPromise({
      // A copy, because the library keeps what it is given; and quietly, because it likes to talk.
      try: () => library.getDocumentProxy(Uint8Array.from(bytes), { verbosity: 0 }),
      catch: failed,
    }),
    (opened) => Effect.promise(() => opened.loadingTask.destroy().catch(() => {})),
  )
  const pdf: Pdf = {
    pages: document.numPages,
    text: (page) =>
      Effect.tryPromise({
        try: async () => {
          const { items } = await (await document.getPage(page)).getTextContent()
          return items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("")
        },
        catch: failed,
      }),
  }
  return pdf
})
