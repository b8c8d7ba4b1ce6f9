/**
 * Owns what is in PDF documents: the text of their pages, and some of the pages as a document of their own. The library is loaded at
 * first use: it is large, and few sessions read one.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

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
  /** Readable here without a password, but not everywhere. */
  readonly encrypted: boolean
  /** These pages as a document; `undefined` where it would not say the same. */
  readonly part: (from: number, to: number) => Effect.Effect<Uint8Array | undefined>
}

const failed = (cause: unknown): PdfError => {
  const name = cause instanceof Error ? cause.name : ""
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new PdfError({ reason: name === "PasswordException" ? "encrypted" : "damaged", detail })
}

const isEncrypted = Schema.is(Schema.Struct({ EncryptFilterName: Schema.String }))

/** Open until the scope closes. */
export const open = (bytes: Uint8Array): Effect.Effect<Pdf, PdfError, Scope.Scope> =>
  Effect.gen(function* () {
    const library = yield* Effect.promise(() => import("unpdf"))
    const document = yield* Effect.acquireRelease(
      Effect.tryPromise({
        // A copy, because the library keeps what it is given; and quietly, because it likes to talk.
        try: () => library.getDocumentProxy(Uint8Array.from(bytes), { verbosity: 0 }),
        catch: failed,
      }),
      (opened) => Effect.promise(() => opened.loadingTask.destroy().catch(() => {})),
    )
    const { info } = yield* Effect.tryPromise({ try: () => document.getMetadata(), catch: failed })
    const text: Pdf["text"] = (page) =>
      Effect.tryPromise({
        try: async () => {
          const { items } = await (await document.getPage(page)).getTextContent()
          return items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("")
        },
        catch: failed,
      })
    const part: Pdf["part"] = (from, to) =>
      Effect.gen(function* () {
        const cut = yield* Effect.tryPromise({
          try: () => document.extractPages([{ document: null, includePages: [[from - 1, to - 1]] }]),
          catch: failed,
        })
        // Who refuses a damaged document later would refuse it each time it is shown again.
        const again = yield* open(cut)
        if (again.pages !== to - from + 1) return undefined
        for (let page = from; page <= to; page++) {
          if ((yield* again.text(page - from + 1)) !== (yield* text(page))) return undefined
        }
        return cut
      }).pipe(
        Effect.scoped,
        Effect.orElseSucceed(() => undefined),
      )
    return { pages: document.numPages, text, encrypted: isEncrypted(info), part }
  })
