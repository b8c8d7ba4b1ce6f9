// Measures what a session costs the service's prompt cache: the command against a scripted server that caches as the real one does, in a
// session that is resumed again and again. What was not read from the cache is compared with what was new.
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { ScriptedServer } from "../../dist/lib/testing/ScriptedServer.js"

const prompts = process.argv.includes("--quick") ? 3 : 8
const rounds = 6
const troupe = join(import.meta.dirname, "..", "..", "bin", "troupe.js")
const home = mkdtempSync(join(tmpdir(), "troupe-bench-cache-"))
process.on("exit", () => rmSync(home, { recursive: true, force: true }))
writeFileSync(join(home, "notes.txt"), "A line of the notes.\n".repeat(40))

/** Reads the same file, a different part of it each time. */
const book = {
  rules: [
    {
      reply: ({ body, turn }) => {
        const since = body.messages.length - 1 - body.messages.findLastIndex(isPrompt)
        return since >= rounds * 2
          ? "I have read it."
          : [{ thinking: "On I go." }, { tool: "Read", input: { file_path: "notes.txt", offset: turn, limit: 20 } }]
      },
    },
  ],
}
const isPrompt = ({ role, content }) =>
  role === "user" && (typeof content === "string" || content.some(({ type }) => type === "text"))

const run = promisify(execFile)
const program = Effect.gen(function* () {
  const { url } = yield* ScriptedServer.serve({ playbook: book, record: false })
  const env = { PATH: process.env.PATH, HOME: home, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "bench" }
  const ask = (...args) =>
    Effect.promise(() => run(process.execPath, [troupe, ...args], { cwd: home, env, maxBuffer: 64 * 1024 * 1024 }))
  const session = randomUUID()
  yield* ask("-p", "Read number 0", "--session-id", session)
  for (let i = 1; i < prompts; i++) yield* ask("-p", `Read number ${i}`, "--resume", session)
  const { stdout } = yield* ask("context", "cache", session, "--json")
  const { agents, hitRate, misses, requests } = JSON.parse(stdout)
  const rows = agents[0].rows
  let [uncached, fresh] = [0, 0]
  for (const [at, row] of rows.entries()) {
    if (at === 0) continue
    uncached += row.promptTokens - row.readTokens
    fresh += row.promptTokens - rows[at - 1].promptTokens
  }
  return { ratio: uncached / fresh, hitRate, misses, requests }
})

process.send(await Effect.runPromise(Effect.scoped(program)))
process.disconnect()
