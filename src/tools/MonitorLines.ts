/**
 * Owns the lines a monitor's script prints: gathered for a moment, so that a burst is one event, and bounded, so that a flood
 * is a number.
 */
import type { Output } from "../platform/Process.ts"

const maxLines = 40
const maxLineChars = 500

export class MonitorLines {
  /** How long lines are gathered. */
  static readonly pause = "200 millis"

  private lines: Array<string> = []
  private more = 0
  private begun = ""

  /** Only what it prints on stdout is an event. */
  readonly hear = ({ from, text }: Output): void => {
    if (from !== "stdout") return
    const parts = text.split("\n")
    for (const part of parts.slice(0, -1)) {
      this.keep(this.begun + part)
      this.begun = ""
    }
    this.begun = (this.begun + (parts.at(-1) ?? "")).slice(0, maxLineChars + 1)
  }

  private keep(line: string): void {
    const plain = line.replace(/\r$/, "")
    if (plain.trim() === "") return
    if (this.lines.length >= maxLines) this.more++
    else this.lines.push(plain.length > maxLineChars ? `${plain.slice(0, maxLineChars)}…` : plain)
  }

  /** What was gathered since the last time; `undefined` when nothing was. */
  take(): { readonly lines: ReadonlyArray<string>; readonly more: number } | undefined {
    if (this.lines.length === 0) return undefined
    const { lines, more } = this
    this.lines = []
    this.more = 0
    return { lines, more }
  }

  /** It has ended: a last line needs no end of its own. */
  finish(): void {
    if (this.begun !== "") this.keep(this.begun)
    this.begun = ""
  }
}
