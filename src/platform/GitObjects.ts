/**
 * Owns what git has kept of the files it tracks: which of them it has exactly as they lie in the working tree, and what they hold.
 * It is only asked; nothing of a repository is ever written.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import type { Look } from "./Files.ts"
import { findRoot, Git, gitDirectory } from "./Git.ts"
import * as GitIndex from "./GitIndex.ts"

/** A file of the working tree, and how it looks now. */
export interface Candidate {
  readonly path: string
  readonly look: Look
}

/** Times in the index have nanoseconds, ours a little less. */
const sameTime = (a: number, b: number) => Math.abs(a - b) < 0.001

/**
 * Those of the files that git has byte for byte: unchanged since git looked, and not converted on the way in, which would show in
 * their length. Answers with the ids of their contents, by path.
 */
export const unchanged = Effect.fnUntraced(function* (directory: string, candidates: ReadonlyArray<Candidate>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const git = yield* Git
  const none: ReadonlyMap<string, string> = new Map()
  const here = yield* Effect.orElseSucceed(fs.realPath(directory), () => directory)
  const root = yield* findRoot(here)
  if (root === undefined) return none
  const file = path.join(yield* gitDirectory(root), "index")
  const found = yield* Effect.option(Effect.all([fs.stat(file), fs.readFile(file)]))
  if (Option.isNone(found) || found.value[0].type !== "File") return none
  const [info, bytes] = found.value
  const written = Option.match(info.mtime, { onNone: () => 0, onSome: (time) => time.getTime() })
  const entries = new Map((GitIndex.read(bytes) ?? []).map((entry) => [path.join(root, entry.path), entry]))
  const same = candidates.flatMap(({ look, path: at }) => {
    const entry = entries.get(at.startsWith(here) ? at : path.join(here, path.relative(directory, at)))
    // A file that was changed in the moment in which the index was written looks the same before and after.
    const isSame =
      entry !== undefined && entry.size === look.size && sameTime(entry.mtime, look.mtime) && look.mtime < written - 10
    return isSame ? [{ at, id: entry.id, size: look.size }] : []
  })
  if (same.length === 0) return none
  const asked = yield* Effect.result(
    git.run(root, ["--no-replace-objects", "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"], {
      historyOnly: true,
      stdin: same.map(({ id }) => `${id}\n`).join(""),
      maxOutputBytes: 64 * 1024 * 1024,
      // Without an answer everything is copied, which takes longer than any answer.
      timeout: "30 seconds",
    }),
  )
  if (asked._tag === "Failure" || asked.success.exitCode !== 0 || asked.success.timedOut) return none
  const known = new Set(asked.success.stdout.split("\n"))
  return new Map(same.filter(({ id, size }) => known.has(`${id} blob ${size}`)).map(({ at, id }) => [at, id]))
})

/** What objects hold, by their ids; `scratch` is a file that may be written meanwhile. What cannot be had is left out. */
export const contents = Effect.fnUntraced(function* (directory: string, ids: ReadonlyArray<string>, scratch: string) {
  const fs = yield* FileSystem.FileSystem
  const git = yield* Git
  const none: ReadonlyMap<string, Uint8Array> = new Map()
  if (ids.length === 0) return none
  const read = Effect.gen(function* () {
    // Through a file: output is text to us, and these are any bytes.
    yield* git.run(directory, ["--no-replace-objects", "cat-file", "--batch"], {
      historyOnly: true,
      stdin: [...new Set(ids)].map((id) => `${id}\n`).join(""),
      maxOutputBytes: 1,
      spillTo: scratch,
      timeout: "60 seconds",
    })
    return parse(yield* fs.readFile(scratch))
  })
  return yield* read.pipe(
    Effect.orElseSucceed(() => none),
    Effect.ensuring(Effect.ignore(fs.remove(scratch, { force: true }))),
  )
})

/** Headers of the form `id blob size`, each with its bytes behind it. */
const parse = (bytes: Uint8Array): ReadonlyMap<string, Uint8Array> => {
  const found = new Map<string, Uint8Array>()
  const decoder = new TextDecoder()
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at)
    if (end === -1) break
    const header = /^([0-9a-f]{40,64}) (\S+)(?: (\d+))?$/.exec(decoder.decode(bytes.subarray(at, end)))
    if (header === null) break
    at = end + 1
    const size = Number(header[3])
    if (header[3] === undefined) continue
    if (at + size > bytes.length) break
    if (header[1] !== undefined && header[2] === "blob") found.set(header[1], bytes.slice(at, at + size))
    at += size + 1
  }
  return found
}
