/** Hooks that misbehave in a real session: it goes on, and says what was wrong with them. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agents } from "../../src/agents/Agents.ts"
import * as Toolset from "../../src/agents/Toolset.ts"
import { ended, only } from "../agents/session.ts"
import { call, staged, until } from "./conformance.ts"

const events = ["UserPromptSubmit", "PreToolUse", "Stop"]

/** One task with this command at three events of it; answers what the person was told. */
const session = (command: string, timeout?: number) => {
  const hooks = [{ type: "command", command, ...(timeout !== undefined && { timeout }) }]
  const settings = { hooks: Object.fromEntries(events.map((event) => [event, [{ hooks }]])) }
  return staged({ event: "PreToolUse", depth: "main", kinds: [], blocks: false, settings }, (stage) =>
    Effect.gen(function* () {
      const made = path.join(stage.work, "made")
      const agent = yield* (yield* Agents).open({ permissionMode: "bypassPermissions", tools: Toolset.all })
      const seen = yield* Stream.runCollect(agent.prompt(call("Bash", { command: `echo hi > ${made}` })))
      assert.strictEqual(ended(seen).result, "Done.")
      assert.isTrue(fs.existsSync(made), "the call was made all the same")
      const ran = only(seen, "HookRan")
      assert.deepStrictEqual(
        ran.map(({ hookEvent }) => hookEvent),
        events,
      )
      for (const { stderr = "", stdout = "" } of ran) assert.isAtMost(stdout.length + stderr.length, 20_000)
      return only(seen, "Diagnosed").map(({ message }) => message)
    }).pipe(Effect.scoped),
  )
}

interface Abuse {
  readonly what: string
  readonly command: string
  readonly timeout?: number
  readonly says: RegExp
}

const fifty = "head -c 52428800 /dev/zero | tr '\\0' x"

const abuses: ReadonlyArray<Abuse> = [
  { what: "hangs", command: "exec sleep 600", timeout: 0.3, says: /gave no answer within 0\.3 s/ },
  { what: "hangs and ignores signals", command: "trap '' TERM INT; sleep 600", timeout: 0.3, says: /gave no answer/ },
  { what: "crashes", command: "echo oh no >&2; exit 3", says: /failed with the exit code 3: oh no/ },
  { what: "is killed", command: "kill -9 $$", says: /was ended by SIGKILL/ },
  { what: "does not exist", command: "no-such-program --really", says: /exit code 127/ },
  { what: "prints invalid JSON", command: `echo '{"decision": "block", '`, says: /JSON/ },
  { what: "prints JSON of another shape", command: `echo '{"decision": 7}'`, says: /decision/ },
  { what: "prints 50 MB and fails", command: `${fifty} >&2; exit 1`, says: /exit code 1/ },
  { what: "prints 50 MB of JSON that never ends", command: `printf '{"a":"'; ${fifty}`, says: /JSON/ },
]

describe("a session whose hook", () => {
  for (const { command, says, timeout, what } of abuses) {
    it.live(`${what} goes on, and says so once for each event`, () =>
      Effect.gen(function* () {
        const said = yield* session(command, timeout)
        assert.lengthOf(said, events.length, said.join("\n").slice(0, 2_000))
        for (const message of said) {
          assert.match(message, says)
          assert.match(message, /^\/.*settings\.json:\d+: the \w+(?::\w+)? hook ".*" .*the session goes on\.$/s)
          assert.isBelow(message.length, 1_000)
        }
      }),
    )
  }

  it.live("prints 50 MB of plain text goes on", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* session(fifty), [])
    }),
  )

  it.live("objects with 50 MB is heard in part, and the rest is in a file", () => {
    const hooks = [{ type: "command", command: `${fifty} >&2; exit 2` }]
    const settings = { hooks: { PreToolUse: [{ hooks }] } }
    return staged({ event: "PreToolUse", depth: "main", kinds: [], blocks: false, settings }, (stage) =>
      Effect.gen(function* () {
        const agent = yield* (yield* Agents).open({ permissionMode: "bypassPermissions", tools: Toolset.all })
        const seen = yield* Stream.runCollect(agent.prompt(call("Bash", { command: `touch ${stage.work}/made` })))
        assert.strictEqual(ended(seen).result, "Done.")
        const said = String(only(seen, "ToolEnded")[0]?.content)
        assert.isBelow(said.length, 10_000)
        const file = /The whole text is in (\S+\.txt)/.exec(said)?.[1] ?? ""
        assert.isAbove(fs.statSync(file).size, 100_000)
      }).pipe(Effect.scoped),
    )
  })

  it.live("does not listen goes on", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* session("exec <&-; true"), [])
    }),
  )

  it.live("forks a daemon does not wait for it, and lets it live", () =>
    Effect.gen(function* () {
      const pids = path.join(fs.mkdtempSync("/tmp/troupe-daemon-"), "pids")
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          for (const pid of started(pids)) process.kill(pid)
          fs.rmSync(path.dirname(pids), { recursive: true })
        }),
      )
      assert.deepStrictEqual(yield* session(`sleep 60 & echo $! >> ${pids}`), [])
      yield* until(
        Effect.sync(() => started(pids).length === events.length),
        "every daemon has begun",
      )
      for (const pid of started(pids)) assert.doesNotThrow(() => process.kill(pid, 0))
    }).pipe(Effect.scoped),
  )
})

const started = (file: string): ReadonlyArray<number> =>
  fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").map(Number) : []
