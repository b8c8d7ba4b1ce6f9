/** Owns what a sandboxed command sees of the disk: what it may write, what is there to read, what is not there at all. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { Host } from "../platform/Host.ts"
import type { Mount } from "./Bubblewrap.ts"
import * as Ground from "./Ground.ts"
import type { SandboxSettings } from "./SandboxSettings.ts"
import * as Sensitive from "./Sensitive.ts"

export interface Wanted {
  readonly settings: SandboxSettings
  /** The workspace, links followed. */
  readonly roots: ReadonlyArray<string>
  /** The directory that is the command's temporary one. */
  readonly temporary: string
  /** Further places this one command may write: where it notes its directory. */
  readonly writes: ReadonlyArray<string>
}

export interface View {
  readonly mounts: ReadonlyArray<Mount>
  /** What the command must not bring into being, and what is there now. */
  readonly watched: ReadonlyMap<string, string | undefined>
  readonly partial: boolean
}

/** Programs that some systems keep where others keep sockets. */
const runPrograms = ["/run/current-system", "/run/opengl-driver", "/run/booted-system"]

export const view = Effect.fnUntraced(function* ({ settings, roots, temporary, writes }: Wanted) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const host = yield* Host
  const real = (at: string) => fs.realPath(at).pipe(Effect.orElseSucceed(() => undefined))
  const existing = (paths: ReadonlyArray<string>) =>
    Effect.map(Effect.forEach(paths, real), (found) => [...new Set(found.filter((at) => at !== undefined))])
  const isDirectory = (at: string) =>
    fs.stat(at).pipe(
      Effect.map((info) => info.type === "Directory"),
      Effect.orElseSucceed(() => false),
    )

  const writable = [...(yield* existing([...roots, ...settings.allowWrite]))].sort((a, b) => a.length - b.length)
  const holdsRoot = (at: string) => writable.some((root) => Sensitive.under(root, at))
  // A workspace that is the temporary directory, or contains it, keeps it.
  const temporaries = (yield* existing(["/tmp", host.tmpDir])).filter((at) => !holdsRoot(at))
  const emptied = (yield* existing(settings.unixSockets === "all" ? ["/var/tmp"] : ["/run", "/var/tmp"])).filter(
    (at) => !holdsRoot(at),
  )
  const isVisible = (at: string) =>
    holdsRoot(at) || ![...temporaries, ...emptied].some((directory) => Sensitive.under(directory, at))

  const ground = yield* Ground.survey(yield* existing(roots), settings)
  const secrets = yield* existing([
    ...Sensitive.homeSecrets.map((name) => path.join(host.home, name)),
    ...Sensitive.configSecrets.map((name) => path.join(host.configDir, name)),
    ...settings.denyRead.filter((at) => !at.includes("*")),
    ...ground.secretFiles,
    ...ground.secretDirectories,
    ...(settings.unixSockets === "all" ? [] : yield* sockets),
  ])
  const hidden = yield* Effect.forEach(
    // A workspace below a hidden directory (a worktree in the configuration) is worked in all the same.
    secrets.filter((at) => isVisible(at) && !writable.some((root) => Sensitive.under(at, root))),
    (at) => Effect.map(isDirectory(at), (is): Mount => ({ _tag: is ? "HideDirectory" : "HideFile", at })),
  )
  const outermost = hidden.filter(
    ({ at }) =>
      !hidden.some((other) => other.at !== at && other._tag === "HideDirectory" && Sensitive.under(other.at, at)),
  )
  const programs = yield* Effect.filter(runPrograms, (at) => fs.exists(at).pipe(Effect.orElseSucceed(() => false)))
  const each = (tag: "Write" | "ReadOnly" | "Empty", paths: ReadonlyArray<string>) =>
    paths.map((at): Mount => ({ _tag: tag, at }))

  const watched = new Map<string, string | undefined>()
  for (const at of ground.watched) watched.set(at, yield* Ground.sign(at))
  const result: View = {
    mounts: [
      ...each("Empty", emptied),
      ...each("ReadOnly", emptied.includes("/run") ? programs : []),
      ...temporaries.map((at): Mount => ({ _tag: "Write", from: temporary, at })),
      ...each("Write", writable),
      ...each("Write", ground.pinned),
      ...each("ReadOnly", ground.fixed),
      ...each("ReadOnly", (yield* existing(settings.denyWrite)).filter(isVisible)),
      ...outermost,
      ...each("ReadOnly", (yield* existing(settings.allowRead)).filter(isVisible)),
      ...each("Write", settings.unixSockets === "all" ? [] : yield* existing(settings.unixSockets)),
      ...each("Write", yield* existing(writes)),
    ],
    watched,
    partial: ground.partial,
  }
  return result
})

/** Sockets that somebody listens on: a read-only mount does not keep anybody from talking to the one behind it. */
const sockets = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const table = yield* fs.readFileString("/proc/net/unix").pipe(Effect.orElseSucceed(() => ""))
  const named = table.split("\n").flatMap((line) => / (\/.*)$/.exec(line)?.[1] ?? [])
  return yield* Effect.filter([...new Set(named)], (at) =>
    fs.stat(at).pipe(
      Effect.map((info) => info.type === "Socket"),
      Effect.orElseSucceed(() => false),
    ),
  )
})
