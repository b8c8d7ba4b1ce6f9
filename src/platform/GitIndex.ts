/** Owns reading git's index from its bytes: what a repository tracks, and as what kind of thing. */

export interface Entry {
  /** Relative to the root of the working tree. */
  readonly path: string
  readonly mode: number
  /** Of its content. */
  readonly id: string
  /** What git saw of the file in the working tree when it last looked; its times in milliseconds. */
  readonly size: number
  readonly mtime: number
}

export const submodule = 0o160000
const directory = 0o040000

/** `undefined`: it is no index as it is known here, or not everything is in this one file. */
export const read = (bytes: Uint8Array): ReadonlyArray<Entry> | undefined => {
  // Which of them it is stands in the configuration; only one of them adds up.
  const found = readWith(bytes, 20) ?? readWith(bytes, 32)
  return found?.some(({ mode }) => mode === directory) === true ? undefined : found
}

const readWith = (bytes: Uint8Array, hash: number): ReadonlyArray<Entry> | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = (from: number, to: number) => decoder.decode(bytes.subarray(from, to))
  if (bytes.length < 12 + hash || text(0, 4) !== "DIRC") return undefined
  const version = view.getUint32(4)
  if (version < 2 || version > 4) return undefined
  const entries: Array<Entry> = []
  const end = bytes.length - hash
  let at = 12
  let before = new Uint8Array()
  for (let left = view.getUint32(8); left > 0; left--) {
    const start = at
    at += 40 + hash + 2
    if (at > end) return undefined
    if (version > 2 && (view.getUint16(at - 2) & 0x4000) !== 0) at += 2
    let kept = 0
    if (version === 4) {
      // How much of the name before it is dropped: the rest is shared.
      let dropped = 0
      for (let more = true, first = true; more; first = false) {
        const byte = bytes[at++]
        if (byte === undefined) return undefined
        dropped = (first ? 0 : (dropped + 1) * 128) + (byte & 0x7f)
        more = byte >= 0x80
      }
      kept = before.length - dropped
      if (kept < 0) return undefined
    }
    const stop = bytes.indexOf(0, at)
    if (stop === -1 || stop > end) return undefined
    const name = new Uint8Array(kept + stop - at)
    name.set(before.subarray(0, kept))
    name.set(bytes.subarray(at, stop), kept)
    entries.push({
      path: decoder.decode(name),
      mode: view.getUint32(start + 24),
      id: hex(bytes.subarray(start + 40, start + 40 + hash)),
      size: view.getUint32(start + 36),
      mtime: view.getUint32(start + 8) * 1000 + view.getUint32(start + 12) / 1e6,
    })
    before = name
    at = version === 4 ? stop + 1 : start + (Math.floor((stop - start) / 8) + 1) * 8
  }
  while (at < end) {
    if (at + 8 > end || text(at, at + 4) === "link") return undefined
    at += 8 + view.getUint32(at + 4)
  }
  return at === end ? entries : undefined
}

const decoder = new TextDecoder()

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
const hex = (bytes: Uint8Array): string => {
  let text = ""
  for (const byte of bytes) text += digits[byte]
  return text
}
