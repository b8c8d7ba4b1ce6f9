/** What the hand-over tests share: a session to hand over, two real processes, and a wire between them that can be cut at any line. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import process from "node:process"
import { endedWith, resultOf, type Running, world } from "./world.ts"

export const one = "11111111-1111-4111-8111-111111111111"

/** The lines between the two, in their order. */
export const lines = ["hello", "welcome", "file", "staged", "decided", "confirmed"] as const

interface Wire {
  readonly path: string
  readonly token: string
}

/** A wire that calls `at` before it passes on each line, and not any more once that answers `false`. */
const wire = Effect.fnUntraced(function* (directory: string, to: Wire, at: (line: string) => Promise<boolean>) {
  const socketPath = path.join(directory, "wire.sock")
  yield* Effect.acquireRelease(
    Effect.callback<net.Server>((resume) => {
      const server = net.createServer((sender) => {
        const receiver = net.connect(to.path)
        let count = 0
        let queue = Promise.resolve(true)
        const close = () => {
          sender.destroySoon()
          receiver.destroySoon()
        }
        const pass = (from: net.Socket, into: net.Socket) => {
          let rest = ""
          from.setEncoding("utf8").on("data", (data: string) => {
            const parts = (rest + data).split("\n")
            rest = parts.pop() ?? ""
            for (const part of parts) {
              queue = queue.then(async (open) => {
                if (!open || !(await at(lines[count++] ?? "?"))) return false
                into.write(`${part}\n`)
                return true
              })
            }
          })
          from.on("end", () => void queue.then(close))
          from.on("error", () => void queue.then(close))
          from.on("close", () => void queue.then(close))
        }
        pass(sender, receiver)
        pass(receiver, sender)
      })
      server.listen(socketPath, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close()),
  )
  return `${socketPath}#${to.token}`
})

export const talk = {
  rules: [{ when: { prompt: { equals: "remember" } }, reply: "The word is plum." }, { reply: "Noted." }],
}

/** A session at home that somebody else waits for. */
export const twoPlaces = Effect.fnUntraced(function* (same = false) {
  const made = yield* world(talk)
  const { config, directory, run, start } = made
  endedWith(yield* run(["-p", "remember", "--session-id", one]), 0)
  const abroad = path.join(directory, "abroad")
  fs.mkdirSync(abroad)
  const there = { cwd: abroad, env: { CLAUDE_CONFIG_DIR: same ? config : path.join(directory, "config-abroad") } }
  const receiver = yield* start(["teleport", "receive", "--json"], there)
  let waiting: Wire | undefined
  yield* receiver.until((out) => {
    const address = /^\{"waiting":"(.+)#(\w+)"\}\n/.exec(out)
    if (address?.[1] === undefined || address[2] === undefined) return false
    waiting = { path: address[1], token: address[2] }
    return true
  })
  assert(waiting !== undefined)
  return { ...made, abroad, there, receiver, waiting }
})

/** Kills one side before a line reaches the other, and answers who has the session afterwards. */
export const cutAt = Effect.fnUntraced(function* (line: (typeof lines)[number], victim: "sender" | "receiver") {
  const { directory, receiver, requests, run, start, there, waiting } = yield* twoPlaces()
  let sender: Running | undefined
  const kill = async (): Promise<void> => {
    const who = victim === "sender" ? sender : receiver
    assert(who !== undefined)
    process.kill(who.pid, "SIGKILL")
    await Effect.runPromise(who.ended)
  }
  let wasCut = false
  const address = yield* wire(directory, waiting, async (passing) => {
    if (passing !== line) return true
    wasCut = true
    await kill()
    return false
  })
  sender = yield* start(["teleport", "send", one, "--to", address, "--json"])
  const sent = yield* sender.ended
  assert.isTrue(wasCut, `the line never came.\n${sent.out}${sent.err}`)
  // A receiver that got nothing goes on waiting; one that was told to stop has its answer on the disk.
  const sentAway = victim === "sender" && lines.indexOf(line) < lines.indexOf("decided")
  if (!sentAway) yield* receiver.ended
  else process.kill(receiver.pid, "SIGTERM")
  yield* receiver.ended

  const argv = ["-p", "go on", "--resume", one, "--output-format", "json"]
  const home = yield* run(argv)
  const away = yield* run(argv, there)
  const owners = [home, away].filter(({ code }) => code === 0)
  assert.strictEqual(
    owners.length,
    1,
    `${line}, ${victim}: home ${home.code} ${home.err}\naway ${away.code} ${away.err}`,
  )
  assert.isTrue(owners.every((owner) => resultOf(owner)["result"] === "Noted."))
  const asked = (yield* requests).at(-1)
  assert.match(JSON.stringify(asked?.body.messages), /remember.*The word is plum.*go on/)
  return home.code === 0 ? "home" : "away"
})
