/** Owns local sockets on node: lines in both directions, bounded, and a socket file that is closed to others from the start. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as fs from "node:fs"
import type { Socket } from "node:net"
import * as path from "node:path"
import process from "node:process"
import { codeOf } from "./FileError.ts"
import { type Connection, type ListenOptions, LocalSocket, SocketError } from "./LocalSocket.ts"

const why: Readonly<Record<string, string>> = {
  EADDRINUSE: "it is there already. Name another one, or remove it if nobody listens on it any more",
  ENOENT: "nobody listens there. Check the address, and that the receiver still waits",
  ECONNREFUSED: "nobody listens there any more. Start the receiver again",
  EACCES: "it belongs to somebody else",
  EINVAL: "its path is too long for a socket. Name a shorter one with --socket",
}

const failed = (at: string, cause: unknown): SocketError =>
  new SocketError({
    path: at,
    why: why[codeOf(cause) ?? ""] ?? (cause instanceof Error ? cause.message : String(cause)),
  })

type Heard = { readonly line: string } | { readonly end: SocketError | undefined }

const connection = (at: string, socket: Socket, { longest }: ListenOptions): Effect.Effect<Connection> =>
  Effect.gen(function* () {
    const heard = yield* Queue.unbounded<Heard>()
    let parts: Array<string> = []
    let size = 0
    let over = false
    const end = (error?: SocketError) => {
      if (over) return
      over = true
      Queue.offerUnsafe(heard, { end: error })
      if (error !== undefined) socket.destroy()
    }
    socket.setEncoding("utf8")
    socket.on("data", (data) => {
      const [first = "", ...lines] = String(data).split("\n")
      parts.push(first)
      size += first.length
      for (const next of lines) {
        Queue.offerUnsafe(heard, { line: parts.join("") })
        parts = [next]
        size = next.length
      }
      if (size > longest) end(new SocketError({ path: at, why: "what comes is too long" }))
    })
    // A line that was not ended was cut off.
    socket.on("end", () => end())
    socket.on("close", () => end())
    socket.on("error", () => end())
    const receive: Connection["receive"] = Effect.flatMap(Queue.take(heard), (one) => {
      if ("line" in one) return Effect.succeed(one.line)
      // Whoever asks again gets the same answer.
      Queue.offerUnsafe(heard, one)
      return one.end === undefined ? Effect.undefined : Effect.fail(one.end)
    })
    return {
      receive,
      send: (line) =>
        Effect.callback<void, SocketError>((resume) => {
          socket.write(`${line}\n`, (cause) => {
            resume(cause === null || cause === undefined ? Effect.void : Effect.fail(failed(at, cause)))
          })
        }),
    }
  })

const closing = (socket: Socket) => Effect.sync(() => socket.destroySoon())

const node = Effect.promise(() => import("node:net"))

/** Others could put a socket of theirs in its place. */
const isPrivate = (directory: string): boolean => {
  const stat = fs.statSync(directory)
  return (stat.mode & 0o077) === 0 && (process.getuid === undefined || stat.uid === process.getuid())
}

export const layer: Layer.Layer<LocalSocket> = Layer.succeed(LocalSocket, {
  listen: Effect.fnUntraced(function* (at, options) {
    const net = yield* node
    const directory = path.dirname(path.resolve(at))
    const closed = yield* Effect.try({ try: () => isPrivate(directory), catch: (cause) => failed(at, cause) })
    if (!closed) {
      const why = `its directory ${directory} is open to others. Make it private: chmod 700 ${directory}`
      return yield* new SocketError({ path: at, why })
    }
    const waiting = yield* Queue.unbounded<Socket>()
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof net.createServer>, SocketError>((resume) => {
        const made = net.createServer((socket) => {
          socket.on("error", () => socket.destroy())
          Queue.offerUnsafe(waiting, socket)
        })
        made.once("error", (cause) => resume(Effect.fail(failed(at, cause))))
        made.listen({ path: at }, () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          made.close(() => resume(Effect.void))
        }),
    )
    server.on("error", () => {})
    yield* Effect.try({ try: () => fs.chmodSync(at, 0o600), catch: (cause) => failed(at, cause) })
    return {
      accept: Effect.flatMap(Effect.acquireRelease(Queue.take(waiting), closing, { interruptible: true }), (socket) =>
        connection(at, socket, options),
      ),
    }
  }),
  connect: Effect.fnUntraced(function* (at, options) {
    const net = yield* node
    const socket = yield* Effect.acquireRelease(
      Effect.callback<Socket, SocketError>((resume) => {
        const made = net.connect({ path: at })
        made.once("error", (cause) => resume(Effect.fail(failed(at, cause))))
        made.once("connect", () => resume(Effect.succeed(made)))
        return Effect.sync(() => made.destroy())
      }),
      closing,
    )
    return yield* connection(at, socket, options)
  }),
})
