/** Owns text as bytes: encoding, byte-order mark and line endings, read and put back exactly. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** The bytes are not text that could be edited and written back without loss. */
export class NotText extends Schema.TaggedError<NotText>()("NotText", {
  path: Schema.String,
  why: Schema.Literals(["binary", "invalid-utf8", "invalid-utf16"]),
  /** Where the first offending byte stands. */
  offset: Schema.Int,
}) {
  override get message(): string {
    return this.why === "binary"
      ? `${this.path} is a binary file (NUL byte at offset ${this.offset}); it cannot be read as text`
      : `${this.path} is not valid ${this.why === "invalid-utf8" ? "UTF-8" : "UTF-16"} (first bad byte at offset ${this.offset}); convert it first`
  }
}

export type Encoding = "utf8" | "utf16le" | "utf16be"
export type LineEnding = "lf" | "crlf" | "mixed" | "none"

export interface Format {
  readonly encoding: Encoding
  readonly bom: boolean
  readonly lineEnding: LineEnding
}

/** Decoded text. With uniform CRLF the text carries LF only; a mixed file keeps every character as it is. */
export interface TextFile extends Format {
  readonly text: string
}

export const plain: Format = { encoding: "utf8", bom: false, lineEnding: "lf" }

export const lineEndingOf = (text: string): LineEnding => {
  let lf = 0
  let crlf = 0
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    if (at > 0 && text.charCodeAt(at - 1) === 13) crlf++
    else lf++
  }
  if (lf === 0 && crlf === 0) return "none"
  return crlf === 0 ? "lf" : lf === 0 ? "crlf" : "mixed"
}

const sniff = (bytes: Uint8Array): { readonly encoding: Encoding; readonly skip: number } => {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { encoding: "utf8", skip: 3 }
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf16le", skip: 2 }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf16be", skip: 2 }
  return { encoding: "utf8", skip: 0 }
}

const labels = { utf8: "utf-8", utf16le: "utf-16le", utf16be: "utf-16be" } as const

const strict = (encoding: Encoding, bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder(labels[encoding], { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The length of the longest valid prefix: only computed to name the place in an error. */
const firstBad = (encoding: Encoding, bytes: Uint8Array): number => {
  const decoder = new TextDecoder(labels[encoding], { fatal: true, ignoreBOM: true })
  const step = 4096
  let good = 0
  try {
    for (; good < bytes.length; good += step) decoder.decode(bytes.subarray(good, good + step), { stream: true })
    return bytes.length
  } catch {
    // A sequence may begin in the piece before, so search from a little earlier.
    const from = Math.max(0, good - 4)
    for (let end = from; end < Math.min(good + step, bytes.length); end++) {
      const one = new TextDecoder(labels[encoding], { fatal: true, ignoreBOM: true })
      try {
        one.decode(bytes.subarray(0, end + 1), { stream: true })
      } catch {
        return end
      }
    }
    return good
  }
}

export const decode = (path: string, bytes: Uint8Array): Result.Result<TextFile, NotText> => {
  const { encoding, skip } = sniff(bytes)
  const body = skip === 0 ? bytes : bytes.subarray(skip)
  if (encoding === "utf8") {
    const nul = body.indexOf(0)
    if (nul !== -1) return Result.fail(new NotText({ path, why: "binary", offset: nul + skip }))
  }
  const raw = strict(encoding, body)
  if (raw === undefined) {
    const why = encoding === "utf8" ? "invalid-utf8" : "invalid-utf16"
    return Result.fail(new NotText({ path, why, offset: firstBad(encoding, body) + skip }))
  }
  const lineEnding = lineEndingOf(raw)
  // A lone CR before a CRLF would come back as one CRLF less: such a file is kept as it is.
  const uniform = lineEnding === "crlf" && !raw.includes("\r\r\n")
  return Result.succeed({
    text: uniform ? raw.replaceAll("\r\n", "\n") : raw,
    encoding,
    bom: skip > 0,
    lineEnding: lineEnding === "crlf" && !uniform ? "mixed" : lineEnding,
  })
}

const utf16 = (text: string, littleEndian: boolean): Uint8Array => {
  const bytes = new Uint8Array(text.length * 2)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), littleEndian)
  return bytes
}

/** The inverse of `decode`. */
export const encode = (text: string, format: Format): Uint8Array => {
  const lined = format.lineEnding === "crlf" ? text.replace(/\r?\n/g, "\r\n") : text
  const marked = format.bom ? `\uFEFF${lined}` : lined
  return format.encoding === "utf8" ? new TextEncoder().encode(marked) : utf16(marked, format.encoding === "utf16le")
}
