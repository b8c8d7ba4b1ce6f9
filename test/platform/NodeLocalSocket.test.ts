import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { LocalSocket } from "../../src/platform/LocalSocket.ts"
import * as NodeLocalSocket from "../../src/platform/NodeLocalSocket.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "troupe-socket-"))),
  (at) => Effect.sync(() => fs.rmSync(at, { recursive: true, force: true })),
)

const limits = { longest: 1000 }

describe("NodeLocalSocket", () => {
  it.live("carries lines both ways, as they were, and says when the other side is gone", () =>
    Effect.gen(function* () {
      const sockets = yield* LocalSocket
      const at = path.join(yield* directory, "s")
      const { accept } = yield* sockets.listen(at, limits)
      assert.strictEqual(fs.statSync(at).mode & 0o777, 0o600)
      const server = yield* Effect.forkChild(
        Effect.scoped(
          Effect.gen(function* () {
            const peer = yield* accept
            for (let line = yield* peer.receive; line !== undefined; line = yield* peer.receive) {
              if (line === "bye") return
              yield* peer.send(`${line}${line}`)
            }
          }),
        ),
      )
      const client = yield* sockets.connect(at, limits)
      for (const line of ["a", "", "é🎭", "x".repeat(400)]) {
        yield* client.send(line)
        assert.strictEqual(yield* client.receive, line + line)
      }
      yield* client.send("bye")
      assert.isUndefined(yield* client.receive)
      assert.isUndefined(yield* client.receive)
      assert.isDefined(server)
    }).pipe(Effect.scoped, Effect.provide(NodeLocalSocket.layer)),
  )

  it.live("does not hear whoever sends without end, nor half a line", () =>
    Effect.gen(function* () {
      const sockets = yield* LocalSocket
      const at = path.join(yield* directory, "s")
      const { accept } = yield* sockets.listen(at, limits)
      const flood = net.connect(at, () => void flood.write("y".repeat(5000)))
      flood.on("error", () => {})
      const first = yield* accept
      assert.match((yield* Effect.flip(first.receive)).message, /too long/)
      const half = net.connect(at, () => void half.end("whole\nhal"))
      const second = yield* accept
      assert.strictEqual(yield* second.receive, "whole")
      assert.isUndefined(yield* second.receive)
    }).pipe(Effect.scoped, Effect.provide(NodeLocalSocket.layer)),
  )

  it.live("is only in a directory that is closed to others, and never in the place of another", () =>
    Effect.gen(function* () {
      const sockets = yield* LocalSocket
      const closed = yield* directory
      const at = path.join(closed, "s")
      const listening = (at: string) => Effect.scoped(Effect.asVoid(sockets.listen(at, limits)))
      fs.writeFileSync(at, "mine")
      assert.match((yield* Effect.flip(listening(at))).message, /there already/)
      assert.strictEqual(fs.readFileSync(at, "utf8"), "mine")
      fs.rmSync(at)
      yield* listening(at)
      assert.isFalse(fs.existsSync(at))
      assert.match((yield* Effect.flip(Effect.scoped(sockets.connect(at, limits)))).message, /nobody listens/)
      fs.chmodSync(closed, 0o755)
      assert.match((yield* Effect.flip(listening(at))).message, /open to others.*chmod 700/)
    }).pipe(Effect.scoped, Effect.provide(NodeLocalSocket.layer)),
  )
})
