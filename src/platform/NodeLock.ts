/** Owns locks that die with their holder: a bound local socket, which the operating system frees at any kind of death. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import process from "node:process"
import { codeOf, type FileError, fromCause } from "./FileError.ts"
import { LockBusy } from "./Files.ts"

/** `abstract` (Linux) and `pipe` (Windows) vanish with the process; a socket `file` stays and must be probed. */
export type LockKind = "abstract" | "pipe" | "file"

const defaultKind = (): LockKind =>
  process.platform === "linux" ? "abstract" : process.platform === "win32" ? "pipe" : "file"

const user = (): string => String(process.getuid?.() ?? os.userInfo().username)

const address = (name: string, kind: LockKind): string => {
  const digest = createHash("sha256").update(`${user()}\0${name}`).digest("hex")
  // Older runtimes pad an abstract name to the full 108 bytes, newer ones do not: a name of full length is the same in both.
  if (kind === "abstract") return `\0${`troupe.${digest}${digest}`.slice(0, 107)}`
  if (kind === "pipe") return `\\\\.\\pipe\\troupe-${digest}`
  return path.join(os.tmpdir(), `troupe-${user()}`, `${digest.slice(0, 32)}.sock`)
}

const listen = (at: string) =>
  Effect.callback<net.Server, unknown>((resume) => {
    const server = net.createServer((client) => {
      client.on("error", () => client.destroy())
      client.end(String(process.pid))
    })
    server.once("error", (cause) => resume(Effect.fail(cause)))
    server.listen({ path: at, exclusive: true }, () => {
      // A lock must not keep the process alive, nor may a broken client end it.
      server.on("error", () => {})
      server.unref()
      resume(Effect.succeed(server))
    })
    return Effect.sync(() => server.close())
  })

type Probe = { readonly _tag: "Alive"; readonly pid?: number } | { readonly _tag: "Stale" }

/** Asks the holder who it is. A holder that is stopped or busy does not answer, and still holds. */
const probe = (at: string): Effect.Effect<Probe> =>
  Effect.callback((resume) => {
    const client = net.connect({ path: at })
    let said = ""
    const finish = (answer: Probe) => {
      client.destroy()
      resume(Effect.succeed(answer))
    }
    const answer = (): Probe => (/^\d+$/.test(said) ? { _tag: "Alive", pid: Number(said) } : { _tag: "Alive" })
    client.setTimeout(300, () => finish(answer()))
    client.on("data", (data) => {
      said = (said + String(data)).slice(0, 20)
    })
    client.once("end", () => finish(answer()))
    client.once("error", (cause) => {
      const code = codeOf(cause)
      finish(code === "ECONNREFUSED" || code === "ENOENT" ? { _tag: "Stale" } : { _tag: "Alive" })
    })
    return Effect.sync(() => client.destroy())
  })

const identity = (at: string): string | undefined => {
  try {
    const stat = fs.lstatSync(at, { bigint: true })
    return `${stat.dev}:${stat.ino}:${stat.ctimeNs}`
  } catch {
    return undefined
  }
}

/** Only the very file that was found dead is removed: a rival may have put a live one in its place meanwhile. */
const removeStale = (at: string, seen: string | undefined) =>
  Effect.sync(() => {
    if (seen !== undefined && identity(at) === seen) fs.rmSync(at, { force: true })
  })

const acquire = Effect.fnUntraced(function* (name: string, kind: LockKind) {
  const at = address(name, kind)
  const failed = (cause: unknown) => fromCause("lock", name, cause)
  if (kind === "file") {
    yield* Effect.try({ try: () => fs.mkdirSync(path.dirname(at), { recursive: true, mode: 0o700 }), catch: failed })
  }
  for (let round = 0; round < 5; round++) {
    const seen = kind === "file" ? identity(at) : undefined
    const bound = yield* Effect.result(listen(at))
    if (Result.isSuccess(bound)) return bound.success
    if (codeOf(bound.failure) !== "EADDRINUSE") return yield* failed(bound.failure)
    const answer = yield* probe(at)
    if (answer._tag === "Alive")
      return yield* new LockBusy(answer.pid === undefined ? { name } : { name, holder: answer.pid })
    // An abstract holder that refuses has just died: the next round binds.
    if (kind === "file") yield* removeStale(at, seen)
  }
  return yield* new LockBusy({ name })
})

export const lock = (
  name: string,
  kind: LockKind = defaultKind(),
): Effect.Effect<void, LockBusy | FileError, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(acquire(name, kind), (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
      }),
    ),
  )
