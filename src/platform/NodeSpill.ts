/** Owns output on disk: everything as it comes, up to a limit, and what became of it. A full disk never ends the command. */
import * as fs from "node:fs"
import * as path from "node:path"
import { codeOf } from "./FileError.ts"
import type { LogState } from "./Process.ts"

export class Spill {
  private readonly path: string
  private readonly limit: number
  private readonly lastWords: string
  private fd: number | undefined
  private total = 0
  private written = 0
  /** Why nothing more is written. */
  problem: string | undefined
  opened = false

  /** `lastWords` end the file when it has reached its limit. */
  constructor(path: string, limit: number, lastWords = "") {
    this.path = path
    this.limit = limit
    this.lastWords = lastWords
  }

  /** Throws when the file cannot be made. */
  open(): void {
    fs.mkdirSync(path.dirname(this.path), { recursive: true, mode: 0o700 })
    const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = fs.constants
    this.fd = fs.openSync(this.path, O_CREAT | O_NOFOLLOW | O_TRUNC | O_WRONLY, 0o600)
    this.opened = true
  }

  write(bytes: Uint8Array): void {
    this.total += bytes.length
    if (this.problem !== undefined) return
    try {
      if (!this.opened) this.open()
      if (this.fd === undefined) return
      this.put(this.fd, bytes.subarray(0, this.limit - this.written))
      if (this.total <= this.limit) return
      this.problem = `it is longer than ${this.limit} bytes`
      fs.writeSync(this.fd, this.lastWords)
      this.close()
    } catch (cause) {
      this.problem ??= cause instanceof Error ? cause.message : String(cause)
      if (codeOf(cause) === "ENOSPC") this.yieldRoom()
      this.close()
    }
  }

  private put(fd: number, part: Uint8Array): void {
    for (let done = 0; done < part.length;) {
      const step = fs.writeSync(fd, part, done)
      done += step
      this.written += step
    }
  }

  /** The journal may be on the same disk, and without it the session ends. */
  private yieldRoom(): void {
    if (this.fd === undefined) return
    this.written = Math.floor(this.written / 2)
    fs.ftruncateSync(this.fd, this.written)
  }

  state(): LogState {
    const { total, written, problem } = this
    return { totalBytes: total, writtenBytes: written, ...(problem !== undefined && { problem }) }
  }

  close(): void {
    if (this.fd !== undefined) fs.closeSync(this.fd)
    this.fd = undefined
  }
}
