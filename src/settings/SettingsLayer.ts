/** Owns what one source says: where it comes from, its value, and where each key is written. */
import type { JsonObject } from "./Merge.ts"
import type { Position } from "./SettingsFile.ts"

/** Lowest first; a later one overrides an earlier one. */
export const precedence = ["user", "project", "local", "arguments", "environment", "flags", "managed"] as const
export type SourceKind = (typeof precedence)[number]

export interface Source {
  readonly kind: SourceKind
  /** A file's path, `--settings`, or `command line`. */
  readonly name: string
  /** The directory its relative paths start from, for sources that are files. */
  readonly directory?: string
}

export interface SettingsLayer {
  readonly source: Source
  readonly value: JsonObject
  /** Set by the file but not in force: executable configuration nobody has trusted yet. */
  readonly withheld: JsonObject
  readonly locate: (path: ReadonlyArray<string>) => Position | undefined
  /** For a value that comes from a variable or a flag: its name. */
  readonly origin?: (path: ReadonlyArray<string>) => string | undefined
}

export interface Diagnostic {
  readonly severity: "error" | "warning"
  readonly source: Source
  /** Dotted; empty when it is about the whole source. */
  readonly key: string
  readonly line?: number
  readonly column?: number
  readonly message: string
}

/** A diagnostic at the place where the layer sets the path. */
export const diagnose = (
  layer: Pick<SettingsLayer, "source" | "locate">,
  severity: Diagnostic["severity"],
  path: ReadonlyArray<string>,
  message: string,
): Diagnostic => ({ severity, source: layer.source, key: path.join("."), ...layer.locate(path), message })

/** `file:line:column`, as far as it is known; terminals make it a link. */
export const place = (source: Source, position?: Partial<Position>): string =>
  position?.line === undefined ? source.name : `${source.name}:${position.line}:${position.column ?? 1}`

export const render = (diagnostic: Diagnostic): string =>
  `${place(diagnostic.source, diagnostic)}: ${diagnostic.key === "" ? "" : `${diagnostic.key}: `}${diagnostic.message}`
