// Measures hooks: an event that none of 50 is meant by, and a command beside the same command by itself. Sends the figures to whoever
// started it, or prints them.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { spawn } from "node:child_process"
import { TroupeNode } from "../../dist/lib/node/index.js"
import * as HookEngine from "../../dist/lib/hooks/HookEngine.js"
import * as Controls from "../../dist/lib/session/Controls.js"
import * as Recorder from "../../dist/lib/session/Recorder.js"
import { parse } from "../../dist/lib/settings/SettingsFile.js"
import { now } from "./clock.mjs"
import { hookSettings } from "./definitions.mjs"
import { median } from "./median.mjs"

const quick = process.argv.includes("--quick")
const cwd = process.cwd()

const settings = hookSettings(50)
settings.hooks.PreToolUse.push({ matcher: "Bash", hooks: [{ type: "command", command: "true" }] })
const parsed = Result.getOrThrow(parse(JSON.stringify(settings)))
const layers = [{ source: { kind: "user", name: "bench.json", directory: cwd }, withheld: {}, ...parsed }]

const call = (tool) => ({ tool_name: tool, tool_input: { command: "npm test" }, tool_use_id: "toolu_1" })

/** As the engine starts it: a shell with three pipes. */
const bare = () =>
  new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", "true"], { cwd, stdio: ["pipe", "pipe", "pipe"], detached: true })
    child.on("error", reject)
    child.on("close", resolve)
    child.stdin.on("error", () => {})
    child.stdin.end("{}")
    child.stdout.resume()
    child.stderr.resume()
  })

const program = Effect.gen(function* () {
  const engine = yield* HookEngine.make({
    sessionId: "00000000-0000-4000-8000-000000000000",
    recorder: Recorder.nowhere("bench"),
    controls: yield* Controls.make({ model: "bench", permissionMode: "default" }),
    transcriptPath: `${cwd}/transcript.jsonl`,
    projectDir: cwd,
    cwd: () => cwd,
    promptId: () => "bench",
    layers,
  })
  const timed = Effect.fnUntraced(function* (work) {
    const from = now()
    yield* work
    return now() - from
  })
  const passing = Effect.repeat(engine.fire("PreToolUse", call("Read")), { times: 999 })
  const passes = []
  const alone = []
  const hooked = []
  for (let i = 0; i < (quick ? 10 : 30); i++) {
    passes.push(yield* timed(passing))
    alone.push(yield* timed(Effect.promise(bare)))
    hooked.push(
      yield* timed(
        Effect.tap(engine.fire("PreToolUse", call("Bash")), ({ ran }) => {
          if (ran !== 1) throw new Error(`${ran} hooks ran`)
          return Effect.void
        }),
      ),
    )
  }
  return { passUs: median(passes), commandMs: median(hooked), bareMs: median(alone) }
}).pipe(Effect.scoped, Effect.provide(TroupeNode.layer))

const found = await Effect.runPromise(program)
if (process.send === undefined) process.stdout.write(`${JSON.stringify(found)}\n`)
else process.send(found, () => process.disconnect())
