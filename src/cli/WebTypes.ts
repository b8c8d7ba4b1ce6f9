/**
 * Owns the few web classes that a request needs, as the build puts them in the place of Node's own.
 *
 * Node loads its whole fetch, some 10 ms of a start, as soon as anything touches one of these names. They keep to the standard in
 * what the SDK and our own fetch do with them; where somebody brings the standard's own objects, those are understood too.
 */

type Fields = Iterable<readonly [string, string]> | Readonly<Record<string, string>>

export class Headers {
  readonly #values = new Map<string, string>()

  constructor(fields?: Fields) {
    if (fields === undefined || fields === null) return
    const entries = isIterable(fields) ? fields : Object.entries(fields)
    for (const [name, value] of entries) this.append(name, value)
  }
  append(name: string, value: string): void {
    const before = this.get(name)
    this.set(name, before === null ? value : `${before}, ${String(value).trim()}`)
  }
  set(name: string, value: string): void {
    const text = String(value).trim()
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw new TypeError(`${JSON.stringify(name)} is no header name.`)
    // Not quoted: it may be a credential.
    if (/[\0\r\n]/.test(text)) throw new TypeError(`The value of the header ${name} has a line break in it.`)
    this.#values.set(name.toLowerCase(), text)
  }
  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null
  }
  has(name: string): boolean {
    return this.#values.has(name.toLowerCase())
  }
  delete(name: string): void {
    this.#values.delete(name.toLowerCase())
  }
  forEach(visit: (value: string, name: string, headers: Headers) => void): void {
    for (const [name, value] of this) visit(value, name, this)
  }
  *keys(): IterableIterator<string> {
    for (const [name] of this) yield name
  }
  *values(): IterableIterator<string> {
    for (const [, value] of this) yield value
  }
  entries(): IterableIterator<[string, string]> {
    return [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1)).values()
  }
  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries()
  }
}

const isIterable = (fields: Fields): fields is Iterable<readonly [string, string]> => Symbol.iterator in fields

interface Init {
  readonly status?: number
  readonly statusText?: string
  readonly headers?: Fields
}

export class Response {
  readonly body: ReadableStream<Uint8Array> | null
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly url: string = ""
  readonly type = "default"
  readonly redirected = false
  #used = false

  constructor(body?: ReadableStream<Uint8Array> | Uint8Array | string | null, init: Init = {}) {
    this.body = body instanceof ReadableStream || body === null || body === undefined ? (body ?? null) : streamOf(body)
    this.status = init.status ?? 200
    this.statusText = init.statusText ?? ""
    this.headers = new Headers(init.headers)
  }
  get ok(): boolean {
    return this.status >= 200 && this.status <= 299
  }
  get bodyUsed(): boolean {
    return this.#used || this.body?.locked === true
  }
  async bytes(): Promise<Uint8Array> {
    if (this.bodyUsed) throw new TypeError("The body of this response has been read already.")
    this.#used = true
    const parts: Array<Uint8Array> = []
    if (this.body !== null) for await (const part of this.body) parts.push(part)
    return Buffer.concat(parts)
  }
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes())
  }
  async json(): Promise<unknown> {
    return JSON.parse(await this.text())
  }
  async arrayBuffer(): Promise<ArrayBuffer> {
    return Uint8Array.from(await this.bytes()).buffer
  }
}

const streamOf = (body: Uint8Array | string): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      controller.enqueue(typeof body === "string" ? new TextEncoder().encode(body) : body)
      controller.close()
    },
  })

/** Nobody here makes one of these; the SDK only asks whether something is one. */
export class Request {
  readonly url: string = ""
}
export class FormData {
  readonly [Symbol.toStringTag] = "FormData"
}
