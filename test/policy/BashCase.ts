/** Owns how a shell line is written down with what the analysis must find in it. The place is always `/w` with the home `/h`. */

export interface BashCase {
  readonly line: string
  readonly readOnly: boolean
  readonly opaque?: true
  /** Paths that must be among the reads; a pattern is written as it is found. */
  readonly reads?: ReadonlyArray<string>
  readonly writes?: ReadonlyArray<string>
  readonly hosts?: ReadonlyArray<string>
  /** Something in it may be anything. */
  readonly unknown?: true
  /** The texts of its simple commands, in order. */
  readonly commands?: ReadonlyArray<string>
  /** What deny and ask rules must be able to match. */
  readonly variants?: ReadonlyArray<string>
}

type More = Omit<BashCase, "line" | "readOnly" | "opaque">
export const only = (line: string, more: More = {}): BashCase => ({ line, readOnly: true, ...more })
export const not = (line: string, more: More = {}): BashCase => ({ line, readOnly: false, ...more })
export const opaque = (line: string, more: More = {}): BashCase => ({ line, readOnly: false, opaque: true, ...more })
