/**
 * Owns images and documents for the model: recognised by their bytes, checked against what the API accepts.
 *
 * A block the API refuses would be sent again with every later request of the session, so nothing doubtful passes.
 */
import * as Base64 from "effect/encoding/Base64"
import * as Schema from "effect/Schema"

export const ImageType = Schema.Literals(["image/png", "image/jpeg", "image/gif", "image/webp"])
export type ImageType = typeof ImageType.Type

export interface Image {
  readonly type: ImageType
  /** Absent where the header does not tell. */
  readonly size: { readonly width: number; readonly height: number } | undefined
}

/** 5 MB once encoded. */
export const maxImageBytes = Math.floor((5 * 1024 * 1024 * 3) / 4)
export const maxImageSide = 8000
export const maxPdfBytes = 20 * 1024 * 1024

const ascii = (bytes: Uint8Array, from: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(from, from + length))

/** What the bytes are, whatever the file is called. */
export const image = (bytes: Uint8Array): Image | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length >= 24 && ascii(bytes, 1, 3) === "PNG" && bytes[0] === 0x89) {
    return { type: "image/png", size: { width: view.getUint32(16), height: view.getUint32(20) } }
  }
  if (bytes.length >= 10 && /^GIF8[79]a$/.test(ascii(bytes, 0, 6))) {
    return { type: "image/gif", size: { width: view.getUint16(6, true), height: view.getUint16(8, true) } }
  }
  if (bytes.length >= 30 && ascii(bytes, 0, 4) === "RIFF" && ascii(bytes, 8, 4) === "WEBP") {
    return { type: "image/webp", size: webpSize(bytes, view) }
  }
  if (bytes.length >= 4 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) {
    return { type: "image/jpeg", size: jpegSize(view) }
  }
  return undefined
}

const webpSize = (bytes: Uint8Array, view: DataView): Image["size"] => {
  const chunk = ascii(bytes, 12, 4)
  if (chunk === "VP8 ") return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
  if (chunk === "VP8L") {
    const packed = view.getUint32(21, true)
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
  }
  if (chunk !== "VP8X") return undefined
  const three = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 65_536
  return { width: three(24) + 1, height: three(27) + 1 }
}

/** Walks the segments to the frame header, which alone carries the size. */
const jpegSize = (view: DataView): Image["size"] => {
  for (let at = 2; at + 9 < view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2)
  }
  return undefined
}

/** Why the API would not take it; `undefined` when it would. */
export const refusal = (found: Image, bytes: number): string | undefined => {
  if (bytes > maxImageBytes) {
    return `the image has ${bytes} bytes and the limit is ${maxImageBytes}; make a smaller copy and read that`
  }
  const { width, height } = found.size ?? { width: 1, height: 1 }
  if (width === 0 || height === 0) return "the image has no pixels; it may be damaged"
  if (Math.max(width, height) > maxImageSide) {
    return `the image is ${width}×${height} pixels and no side may have more than ${maxImageSide}; scale it down first`
  }
  return undefined
}

export const isPdf = (bytes: Uint8Array): boolean => ascii(bytes, 0, 5) === "%PDF-"

export const imageBlock = (type: ImageType, bytes: Uint8Array) =>
  ({ type: "image", source: { type: "base64", media_type: type, data: Base64.encode(bytes) } }) as const

export const pdfBlock = (bytes: Uint8Array, title: string) =>
  ({
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: Base64.encode(bytes) },
    title,
  }) as const
