// Opens a session in a process of its own and says how long that took and how much memory it needed; then closes it, which saves its index.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { Agents } from "../../dist/lib/agents/Agents.js"
import { TroupeNode } from "../../dist/lib/node/index.js"
import * as Host from "../../dist/lib/platform/Host.js"
import * as Runtime from "../../dist/lib/Runtime.js"
import { now } from "./clock.mjs"

const [config, sessionId] = process.argv.slice(2)
const cwd = join(config, "work")
const env = { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: "http://127.0.0.1:9", PATH: process.env["PATH"] }
const host = Layer.succeed(
  Host.Host,
  Host.make({ cwd, home: config, configDir: config, env, platform: process.platform }),
)
const platform = host.pipe(Layer.provideMerge(TroupeNode.layer))

/** The usual figure would count what the parent had before it. */
const peakMiB = () => {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1024
  } catch {
    return process.resourceUsage().maxRSS / 1024
  }
}

const measured = Effect.gen(function* () {
  const agents = yield* Agents
  const before = now()
  const worked = process.cpuUsage()
  const agent = yield* agents.resume(sessionId, { cwd })
  const messages = agent.messages().length
  const { system, user } = process.cpuUsage(worked)
  const figures = {
    ms: now() - before,
    cpuMs: (system + user) / 1000,
    sinceStartMs: performance.now(),
    peakMiB: peakMiB(),
    messages,
  }
  return figures
}).pipe(Effect.scoped, Effect.provide(Runtime.layer({ settings: "none" }).pipe(Layer.provide(platform))))

console.log(JSON.stringify(await Effect.runPromise(measured)))
process.exit(0)
