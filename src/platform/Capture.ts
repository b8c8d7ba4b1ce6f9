/** Owns output kept in bounded memory: the first and the last part of a stream of bytes, and how much lies between. */

/** Without the torn sequence at the end, so that no half of a character is shown. */
export const wholeCharacters = (bytes: Uint8Array): Uint8Array => {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

/** Without stray continuations at the start. */
const trimStart = (bytes: Uint8Array): Uint8Array => {
  let skip = 0
  while (skip < 3 && skip < bytes.length && ((bytes[skip] ?? 0) & 0xc0) === 0x80) skip++
  return bytes.subarray(skip)
}

const join = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const out = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    out.set(chunk, at)
    at += chunk.length
  }
  return out
}

export class Capture {
  readonly limit: number
  total = 0
  private readonly head: Array<Uint8Array> = []
  private headBytes = 0
  private tail: Array<Uint8Array> = []
  private tailBytes = 0
  private readonly headLimit: number
  private readonly tailLimit: number

  constructor(limit: number) {
    this.limit = Math.max(0, Math.floor(limit))
    this.tailLimit = Math.floor(this.limit / 2)
    this.headLimit = this.limit - this.tailLimit
  }

  get truncated(): boolean {
    return this.total > this.limit
  }

  push(bytes: Uint8Array): void {
    this.total += bytes.length
    const room = this.headLimit - this.headBytes
    if (room > 0) {
      const taken = bytes.subarray(0, room)
      this.head.push(taken.slice())
      this.headBytes += taken.length
    }
    const rest = bytes.subarray(Math.max(0, room))
    if (rest.length === 0 || this.tailLimit === 0) return
    // Copied: the chunk is usually a view of a larger pooled buffer that would stay alive with it.
    this.tail.push(rest.slice(Math.max(0, rest.length - this.tailLimit)))
    this.tailBytes += Math.min(rest.length, this.tailLimit)
    if (this.tailBytes > this.tailLimit * 2 || this.tail.length > 256) this.compact()
  }

  private compact(): void {
    const joined = join(this.tail)
    this.tail = [joined.slice(Math.max(0, joined.length - this.tailLimit))]
    this.tailBytes = this.tail[0]?.length ?? 0
  }

  /** Everything, when it fitted; used to begin the file on disk before the first byte is dropped. */
  whole(): Uint8Array {
    return join([...this.head, ...this.tail])
  }

  text(): string {
    const decoder = new TextDecoder()
    if (!this.truncated) return decoder.decode(this.whole())
    this.compact()
    const head = wholeCharacters(join(this.head))
    const tail = trimStart(join(this.tail))
    const omitted = this.total - head.length - tail.length
    return `${decoder.decode(head)}\n[... ${omitted} bytes omitted ...]\n${decoder.decode(tail)}`
  }
}
