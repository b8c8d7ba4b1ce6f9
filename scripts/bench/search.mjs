// Measures Glob and Grep over 10,000 files, through the gate, against ripgrep alone looking for the same in the same files, in turns.
// Ripgrep's time is from its start to the end of its output, with all of it in memory; it need not sort by time, which the tools do.
import { spawn } from "node:child_process"
import { mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { Glob } from "../../dist/lib/tools/builtin/Glob.js"
import { Grep } from "../../dist/lib/tools/builtin/Grep.js"
import { Recorder } from "../../dist/lib/session/Recorder.js"
import { ToolRunner } from "../../dist/lib/tools/ToolRunner.js"
import { now } from "./clock.mjs"
import { gate, hear } from "./gate.mjs"
import { median } from "./median.mjs"

const quick = process.argv.includes("--quick")
const warmups = 3
const times = quick ? 7 : 21
const cwd = join(process.cwd(), "many")
const { rgPath } = createRequire(import.meta.url)("@vscode/ripgrep")

/** 100 directories of 100 files, each of 2 KB; one in ten says "needle", all say "export". */
const fill = () => {
  for (let d = 0; d < 100; d++) {
    const directory = join(cwd, `part${Math.floor(d / 10)}`, `module${d}`)
    mkdirSync(directory, { recursive: true })
    for (let f = 0; f < 100; f++) {
      const lines = Array.from({ length: 40 }, (_, i) => `export const value${i} = (x) => x * ${i} + ${f}${d}`)
      if (f % 10 === 0) lines.push("// needle")
      const path = join(directory, `file${f}.ts`)
      writeFileSync(path, lines.join("\n") + "\n")
      utimesSync(path, 1_700_000_000 + d * 100 + f, 1_700_000_000 + d * 100 + f)
    }
  }
}

const ripgrep = (args) =>
  new Promise((resolve, reject) => {
    const from = now()
    const child = spawn(rgPath, ["--no-config", "--color=never", "--hidden", ...args], {
      cwd,
      stdio: ["ignore", "pipe", "inherit"],
    })
    const chunks = []
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.on("error", reject)
    child.on("close", () => {
      const lines = Buffer.concat(chunks).toString("utf8").split("\n").length - 1
      resolve({ ms: now() - from, lines })
    })
  })

const searches = {
  glob: {
    tool: "Glob",
    input: { pattern: "**/*.ts" },
    lines: 10_000,
    args: ["--files", "--no-ignore", "--glob", "**/*.ts"],
  },
  grepSome: { tool: "Grep", input: { pattern: "needle" }, lines: 1_000, args: ["--files-with-matches", "needle", "."] },
  grepAll: { tool: "Grep", input: { pattern: "export" }, lines: 10_000, args: ["--files-with-matches", "export", "."] },
  grepContent: {
    tool: "Grep",
    input: { pattern: "needle", output_mode: "content" },
    lines: 1_000,
    args: ["--line-number", "--no-heading", "--with-filename", "needle", "."],
  },
}

let number = 0
const measure = ({ tool, input, args, lines }) =>
  Effect.gen(function* () {
    const runner = yield* ToolRunner
    const { history } = yield* Recorder
    const ours = []
    const plain = []
    for (let i = 0; i < warmups + times; i++) {
      const call = { id: `toolu_${++number}`, name: tool, input }
      yield* hear(`req_${number}`, [call])
      const from = now()
      yield* runner.run(yield* runner.prepare(call))
      const ms = now() - from
      const said = JSON.stringify(history.messages().at(-1))
      if (!said.includes(` of ${lines} `)) throw new Error(`${tool} did not find ${lines}: ${said.slice(-300)}`)
      const alone = yield* Effect.promise(() => ripgrep(args))
      if (alone.lines !== lines) throw new Error(`ripgrep found ${alone.lines} lines, not ${lines}`)
      if (i < warmups) continue
      ours.push(ms)
      plain.push(alone.ms)
    }
    return { ms: median(ours), plainMs: median(plain) }
  })

fill()
const program = Effect.gen(function* () {
  const found = {}
  for (const [name, search] of Object.entries(searches)) found[name] = yield* measure(search)
  return found
}).pipe(Effect.provide(gate({ cwd, tools: [Glob, Grep] })), Effect.scoped)

process.send(await Effect.runPromise(program))
process.disconnect()
