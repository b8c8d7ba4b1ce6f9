/** Owns what a real Messages API refuses of pictures and documents: a wrong name for their kind, damage, and too much of them. */
import type { ContentBlock } from "../protocol/Content.ts"

const maxImageChars = 5 * 1024 * 1024
const maxPages = 100

/** How the bytes of each kind begin, as base64 writes them. */
const images: Readonly<Record<string, RegExp>> = {
  "image/png": /^iVBORw0KGgo/,
  "image/jpeg": /^\/9j\//,
  "image/gif": /^R0lGOD/,
  "image/webp": /^UklGR/,
}

interface Source {
  readonly type?: unknown
  readonly media_type?: unknown
  readonly data?: unknown
}

const isSource = (value: unknown): value is Source => typeof value === "object" && value !== null

const isBase64 = (data: string): boolean => data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

/** What is wrong with the blocks of one message, also with those inside its tool results. */
export const problem = (at: string, blocks: ReadonlyArray<ContentBlock>): string | undefined => {
  for (const [index, block] of blocks.entries()) {
    const here = `${at}.content.${index}`
    const found =
      block.type === "image"
        ? ofImage(block.source)
        : block.type === "document"
          ? ofDocument(block.source)
          : block.type === "tool_result" && typeof block.content === "object"
            ? problem(`${here}.tool_result`, block.content)
            : undefined
    if (found !== undefined) return found.startsWith(at) ? found : `${here}.${block.type}.${found}`
  }
  return undefined
}

const ofImage = (source: unknown): string | undefined => {
  if (!isSource(source)) return "source: a source is required"
  if (source.type !== "base64") return named(source)
  const { data, media_type: kind } = source
  const beginning = typeof kind === "string" ? images[kind] : undefined
  if (beginning === undefined) return `source.base64.media_type: must be one of ${Object.keys(images).join(", ")}`
  if (typeof data !== "string" || !isBase64(data)) return "source.base64.data: invalid base64 data"
  if (data.length > maxImageChars) return `source.base64: image exceeds 5 MB maximum: ${data.length} bytes`
  return beginning.test(data) ? undefined : `source.base64.data: the image does not appear to be ${String(kind)}`
}

const ofDocument = (source: unknown): string | undefined => {
  if (!isSource(source)) return "source: a source is required"
  if (source.type === "text" || source.type === "content") return undefined
  if (source.type !== "base64") return named(source)
  const { data, media_type: kind } = source
  if (kind !== "application/pdf") return "source.base64.media_type: must be application/pdf"
  if (typeof data !== "string" || !isBase64(data)) return "source.base64.data: invalid base64 data"
  const text = Buffer.from(data, "base64").toString("latin1")
  if (!text.startsWith("%PDF-") || !/%%EOF\s*$/.test(text.slice(-1024)))
    return "source.base64.data: the PDF specified was not valid"
  if (/\/Encrypt\b/.test(text)) return "source.base64.data: the PDF specified is password protected"
  const pages = text.match(/\/Type\s*\/Page\b/g)?.length ?? 0
  return pages > maxPages
    ? `source.base64.data: a maximum of ${maxPages} PDF pages may be provided, not ${pages}`
    : undefined
}

const named = ({ type }: Source): string | undefined =>
  type === "url" || type === "file" ? undefined : "source.type: must be base64, url or file"
