/**
 * Owns what this session knows of files: which content it last saw where, so that no edit lands on something else.
 *
 * Content is known by its hash; a file that was only touched has not changed.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export interface Known {
  /** SHA-256 of the file's bytes. */
  readonly hash: string
  /** The lines seen without a gap from the first one; `Infinity` when all were. */
  readonly seenTo: number
}

/** The part of a tool's typed output that says which content it saw or left behind. */
const Sighting = Schema.Struct({
  filePath: Schema.String,
  fileHash: Schema.String,
  startLine: Schema.optionalKey(Schema.Finite),
  numLines: Schema.optionalKey(Schema.Finite),
  totalLines: Schema.optionalKey(Schema.Finite),
})
const Result = Schema.Union([Sighting, Schema.Struct({ file: Sighting })])
const decode = Schema.decodeUnknownOption(Result)

export class FileMemory extends Context.Service<
  FileMemory,
  {
    readonly known: (path: string) => Known | undefined
    /** The whole of it was read or written. */
    readonly sawAll: (path: string, hash: string) => void
    /** Lines `from` to `to` of `total` were read; parts of the same content add up. */
    readonly sawLines: (path: string, hash: string, lines: Lines) => void
    readonly forget: (path: string) => void
    /** Everything it knows, and the same for another one to know. */
    readonly sightings: () => Sightings
    readonly adopt: (sightings: Sightings) => void
    /** After a resume: the typed output of an earlier Read, Write or Edit; anything else is ignored. */
    readonly learn: (structured: unknown) => void
    /** The conversation went back: only this has been seen. */
    readonly relearn: (structured: ReadonlyArray<unknown>) => void
  }
>()("troupe/tools/FileMemory") {
  static readonly layer: Layer.Layer<FileMemory> = Layer.sync(FileMemory, () => make())
}

/** By path: the hash, and the lines seen; `null` when all were. */
export const Sightings = Schema.Array(Schema.Tuple([Schema.String, Schema.String, Schema.NullOr(Schema.Finite)]))
export type Sightings = typeof Sightings.Type

export interface Lines {
  readonly from: number
  readonly to: number
  readonly total: number
}

export const make = (before: Sightings = []): FileMemory["Service"] => {
  const files = new Map<string, Known>()
  const adopt = (sightings: Sightings) => {
    for (const [path, hash, seenTo] of sightings) files.set(path, { hash, seenTo: seenTo ?? Number.POSITIVE_INFINITY })
  }
  adopt(before)
  const sawAll = (path: string, hash: string) => void files.set(path, { hash, seenTo: Number.POSITIVE_INFINITY })
  const sawLines = (path: string, hash: string, { from, to, total }: Lines) => {
    const before = files.get(path)
    const seen = before?.hash === hash ? before.seenTo : 0
    const seenTo = from <= seen + 1 ? Math.max(seen, to) : seen
    files.set(path, { hash, seenTo: seenTo >= total ? Number.POSITIVE_INFINITY : seenTo })
  }
  const learn = (structured: unknown) => {
    const found = Option.getOrUndefined(decode(structured))
    if (found === undefined) return
    const { filePath, fileHash, startLine, numLines, totalLines } = "file" in found ? found.file : found
    if (startLine === undefined || numLines === undefined || totalLines === undefined) sawAll(filePath, fileHash)
    else sawLines(filePath, fileHash, { from: startLine, to: startLine + numLines - 1, total: totalLines })
  }
  return {
    known: (path) => files.get(path),
    sawAll,
    sawLines,
    adopt,
    sightings: () =>
      Array.from(files, ([path, { hash, seenTo }]) => [path, hash, Number.isFinite(seenTo) ? seenTo : null] as const),
    forget: (path) => void files.delete(path),
    learn,
    relearn: (structured) => {
      files.clear()
      for (const one of structured) learn(one)
    },
  }
}
