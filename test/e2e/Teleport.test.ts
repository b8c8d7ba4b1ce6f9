/** A session goes to another directory and process, by file and from hand to hand, and nothing of it changes on the way. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as path from "node:path"
import { endedWith, world } from "./world.ts"

const one = "11111111-1111-4111-8111-111111111111"

const talk = {
  rules: [
    { when: { prompt: { equals: "look" }, tool: {} }, reply: "It says plum." },
    { when: { prompt: { equals: "look" } }, reply: [{ tool: "Read", input: { file_path: "note.txt" } }] },
    { reply: "Noted." },
  ],
}

const journal = (config: string, id: string) => path.join(config, "troupe/sessions", id, "journal.ndjson")

/** Lets everything through to the scripted server and keeps the bytes of each request as they came. */
const witness = (to: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ server: http.Server; bodies: Array<string> }>((resume) => {
        const bodies: Array<string> = []
        const server = http.createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const body = Buffer.concat(chunks)
            if (body.length > 0) bodies.push(body.toString("utf8"))
            const onward = http.request(
              new URL(request.url ?? "/", to),
              { method: request.method, headers: { ...request.headers, host: new URL(to).host } },
              (answer) => {
                response.writeHead(answer.statusCode ?? 500, answer.headers)
                answer.pipe(response)
              },
            )
            onward.on("error", () => response.destroy())
            onward.end(body)
          })
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, bodies })))
      }),
      ({ server }) => Effect.sync(() => void server.close()),
    ),
    ({ bodies, server }) => {
      const address = server.address()
      const { port } = address as AddressInfo
      return { url: `http://127.0.0.1:${port}`, bodies }
    },
  )

describe.concurrent("teleport", () => {
  it.live(
    "the next request abroad is the one of home, byte for byte, with one message more that names the directory",
    () =>
      Effect.gen(function* () {
        const { config, directory, env, run, work, write } = yield* world(talk)
        const { bodies, url } = yield* witness(String(env["ANTHROPIC_BASE_URL"]))
        const at = { ANTHROPIC_BASE_URL: url }
        write("note.txt", "plum\n")
        endedWith(yield* run(["-p", "look", "--session-id", one], { env: at }), 0)
        endedWith(yield* run(["teleport", "export", one, "--output", "../out.teleport"]), 0)

        // Another place: its own configuration, another directory.
        const abroad = path.join(directory, "abroad")
        fs.mkdirSync(abroad)
        const there = { cwd: abroad, env: { ...at, CLAUDE_CONFIG_DIR: path.join(directory, "config-abroad") } }
        const came = yield* run(["teleport", "import", "../out.teleport", "--json"], there)
        endedWith(came, 0)
        assert.deepInclude(JSON.parse(came.out), { sessionId: one, outcome: "created", cwd: abroad })

        const before = bodies.length
        endedWith(yield* run(["-p", "next", "--resume", one], { env: at }), 0)
        endedWith(yield* run(["-p", "next", "--resume", one], there), 0)
        const [home = "", away = ""] = bodies.slice(before)
        assert.strictEqual(bodies.length, before + 2)
        assert.isAbove(home.length, 1000)
        assert.isFalse(home.includes(abroad))

        const added =
          /\{"type":"text","text":"<system-reminder>\\nThis session goes on in another directory: (?:[^"\\]|\\.)*"\},/.exec(
            away,
          )
        assert.isNotNull(added)
        assert.include(added[0], abroad)
        assert.include(added[0], work)
        assert.strictEqual(away.replace(added[0], ""), home)
        assert.isTrue(fs.existsSync(journal(config, one)))

        // It is said once.
        endedWith(yield* run(["-p", "and on", "--resume", one], there), 0)
        assert.strictEqual(bodies.at(-1)?.split("This session goes on in another directory").length, 2)
      }),
  )
})
