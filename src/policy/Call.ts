/** Owns what is known about a call when it is judged: its input, what it would touch, and what others said about it. */
import type { Analysis } from "./Bash.ts"
import type { Touch } from "./Effects.ts"

export interface PathTouch {
  readonly path: string
  /** Where it leads once links are followed; the same when nothing is known about that. */
  readonly real: string
  readonly kind: "read" | "write"
  /** Outside the workspace, by its real path. */
  readonly outside: boolean
  /** Writing it could change how tools, shells or this program behave. */
  readonly protected: boolean
  /** A shell pattern: any file it could match. */
  readonly pattern?: true
  /** What the pattern matches on the disk, when somebody has looked. */
  readonly files?: ReadonlyArray<string>
  /** Perhaps no path at all: a word for a program that is not known. */
  readonly possible?: true
}

export interface Call {
  readonly tool: string
  readonly input: unknown
  readonly aliases?: ReadonlyArray<string>
  readonly readOnly: boolean
  readonly touches: ReadonlyArray<Touch>
  /** The files among the touches with what the disk says about them. Absent: they are judged by their text. */
  readonly paths?: ReadonlyArray<PathTouch>
  readonly bash?: Analysis
  /** The host a WebFetch goes to. */
  readonly domain?: string
  readonly subagent?: string
  readonly skill?: string
  /** What the tool itself says. With `always`, a person must answer: no mode does it for them. */
  readonly opinion?: {
    readonly behavior: "allow" | "ask" | "deny" | "passthrough"
    readonly reason?: string
    readonly always?: boolean
  }
  /** What PreToolUse hooks say. */
  readonly hook?: { readonly behavior: "allow" | "ask" | "deny" | "defer"; readonly reason?: string }
  /** It would run inside the sandbox, and settings let that stand for an approval. */
  readonly sandboxed?: boolean
}

/** A form of a command with the length of its beginning in which every space stands between two words. */
export interface Loose {
  readonly text: string
  readonly plain: number
}

/** A command as rules see it, taken apart once per decision. */
export interface CommandFacts {
  /** What rules that tighten look at, programs folded. */
  readonly tight: ReadonlyArray<string>
  /** What rules that allow look at. */
  readonly loose: ReadonlyArray<Loose>
  readonly readOnly: boolean
  readonly prefixAllowable: boolean
  readonly literal: boolean
  /** It sends output to a file, or is connected to a host. */
  readonly redirects: boolean
}

export interface Facts {
  readonly call: Call
  readonly names: ReadonlyArray<string>
  readonly folded: ReadonlyArray<string>
  /** The whole command as it was given, in one line of text. */
  readonly raw: string
  readonly commands: ReadonlyArray<CommandFacts>
  readonly opaque: boolean
  readonly paths: ReadonlyArray<PathTouch>
  readonly hosts: ReadonlyArray<string>
  /** A wildcard may stand for a hidden name here. */
  readonly hidden: boolean
}

/** Where the session works, for paths that nobody has looked up. */
export interface Roots {
  readonly cwd: string
  readonly roots?: ReadonlyArray<string>
}
