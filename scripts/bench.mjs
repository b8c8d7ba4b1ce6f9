// `npm run bench`: measures the built program against the least a program can do, side by side in one run, and prints one table.
//
//   --quick   fewer and shorter runs      --json   the same figures as JSON
//
// Only figures of the same run are compared. Every child gets a clean environment and talks to a server on loopback.
import { fork, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { estimateTokenCount } from "tokenx"
import { now } from "./bench/clock.mjs"
import { hookSettings, writeAgents, writeSkills } from "./bench/definitions.mjs"
import { median } from "./bench/median.mjs"

const quick = process.argv.includes("--quick")
const json = process.argv.includes("--json")
const here = dirname(fileURLToPath(import.meta.url))
const script = (name) => join(here, "bench", name)
const troupe = join(here, "..", "bin", "troupe.js")
const warmups = 3
const starts = quick ? 7 : 21
const lengths = quick ? [50, 200] : [50, 200, 1000]

const root = mkdtempSync(join(tmpdir(), "troupe-bench-"))
process.on("exit", () => rmSync(root, { recursive: true, force: true }))
const workspace = join(root, "workspace")
const home = join(root, "home")
mkdirSync(workspace)
mkdirSync(home)
const file = (name) => join(workspace, name)
const lines = (name) =>
  Array.from({ length: 20 }, (_, i) => `export const ${name}${i} = (x) => x + ${i}`).join("\n") + "\n"
const eight = Array.from({ length: 8 }, (_, i) => file(`part${i}.js`))
for (const [i, path] of eight.entries()) writeFileSync(path, lines(`part${i}_`))
writeFileSync(file("package.json"), '{ "name": "bench", "private": true }\n')

/** What a child may know: nothing of this machine but the way to its programs. */
const env = { PATH: process.env.PATH, HOME: home, TMPDIR: root, ANTHROPIC_API_KEY: "bench" }

const server = fork(script("server.mjs"), { env })
const said = () => new Promise((resolve) => server.once("message", resolve))
const { url } = await said()
env.ANTHROPIC_BASE_URL = url
env.BENCH_URL = url
const play = (plan) => {
  server.send({ plan })
  return said()
}
const watched = (withBody = false) => {
  server.send({ withBody })
  return said()
}

/** Runs node to its end; when it was started, and how long it took. */
const run = (args, more = {}, cwd = workspace) =>
  new Promise((resolve, reject) => {
    const startedAt = now()
    const child = spawn(process.execPath, args, {
      cwd,
      env: { ...env, ...more },
      stdio: ["ignore", "ignore", "pipe"],
    })
    let complaint = ""
    child.stderr.on("data", (chunk) => (complaint += chunk))
    child.on("error", reject)
    child.on("close", (code) =>
      code === 0
        ? resolve({ startedAt, ms: now() - startedAt })
        : reject(new Error(`node ${args.join(" ")}: exit code ${code}\n${complaint}`)),
    )
  })

/** Runs a measuring module to its one message. */
const measured = (name, execArgv = []) =>
  new Promise((resolve, reject) => {
    const child = fork(script(name), quick ? ["--quick"] : [], { cwd: workspace, env, execArgv })
    let answer
    child.on("message", (message) => (answer = message))
    child.on("error", reject)
    child.on("close", (code) =>
      answer === undefined ? reject(new Error(`${name}: exit code ${code}`)) : resolve(answer),
    )
  })

const prompt = [troupe, "-p", "Read", "--dangerously-skip-permissions"]
const rows = []
const row = (measure, ours, baseline, compared, unit, goal, ok) =>
  rows.push({ measure, ours, baseline, compared, unit, goal, ok })
const ratio = (measure, ours, baseline, most) =>
  row(measure, ours, baseline, ours / baseline, "ms", { text: `≤ ${most} ×`, as: "×" }, ours / baseline <= most)
const above = (measure, ours, baseline, most) =>
  row(measure, ours, baseline, ours - baseline, "ms", { text: `≤ + ${most} ms`, as: "+" }, ours - baseline <= most)
const limit = (measure, ours, unit, most, baseline) =>
  row(
    measure,
    ours,
    baseline,
    undefined,
    unit,
    { text: most === undefined ? "" : `≤ ${most} ${unit}` },
    most === undefined || ours <= most,
  )

// ── start ─────────────────────────────────────────────────────────────────────────────────────────────
/** Runs each of them in turn, many times, so that all see the same weather. */
const interleaved = async (runs, measure) => {
  const times = runs.map(() => [])
  for (let i = 0; i < warmups + starts; i++) {
    for (const [which, one] of runs.entries()) {
      const ms = await measure(one)
      if (i >= warmups) times[which].push(ms)
    }
  }
  return times.map(median)
}

const [floor, version, help] = await interleaved(
  [
    ["-e", "0"],
    [troupe, "--version"],
    [troupe, "--help"],
  ],
  async (args) => (await run(args)).ms,
)
ratio("--version, against node -e 0", version, floor, 1.15)
row("--help, against node -e 0", help, floor, help / floor, "ms", { text: "", as: "×" }, true)

await play({ kind: "text" })
await run(prompt)
const { lastBody: firstBody } = await watched(true)
const bodyFile = join(root, "body")
writeFileSync(bodyFile, firstBody)
/** From the start of the process until its first request arrives. */
const toFirstRequest = async (args, more, cwd) => {
  await play({ kind: "text" })
  const { startedAt } = await run(args, more, cwd)
  const { seen } = await watched()
  return seen[0].arrivedAt - startedAt
}
const [bareFirst, first] = await interleaved([[script("bare.cjs")], prompt], (args) =>
  toFirstRequest(args, { BENCH_BODY: bodyFile }),
)
ratio("spawn to first request, against node:http", first, bareFirst, 2.5)

// ── turns ─────────────────────────────────────────────────────────────────────────────────────────────
/** From the end of each reply to the next request, all of it received. */
const gaps = (seen) => seen.slice(1).map((entry, i) => entry.readAt - seen[i].repliedAt)
const sizesFile = join(root, "sizes")
const peakFile = join(root, "peak")
const peakMiB = () => Number(readFileSync(peakFile, "utf8")) / 1024

const session = async (turns, plan, args, more) => {
  await play(plan)
  await run(["--require", script("peak.cjs"), ...args], { BENCH_PEAK: peakFile, ...more })
  const { seen, lastBody } = await watched(true)
  if (seen.length !== turns + 1) throw new Error(`expected ${turns + 1} requests, saw ${seen.length}`)
  return { gaps: gaps(seen), sizes: seen.map((entry) => entry.bytes), lastBody, peak: peakMiB() }
}
const stretch = (values, from, to) => median(values.slice(from, to))

for (const turns of lengths) {
  const plan = { kind: "reads", turns, files: [eight[0]] }
  const rounds = []
  for (let i = 0; i < (quick ? 1 : turns > 500 ? 2 : 3); i++) {
    const ours = await session(turns, plan, prompt)
    writeFileSync(bodyFile, ours.lastBody)
    writeFileSync(sizesFile, JSON.stringify(ours.sizes))
    const bare = await session(turns, plan, [script("bare.cjs")], { BENCH_BODY: bodyFile, BENCH_SIZES: sizesFile })
    rounds.push({ ours, bare })
  }
  const of = (figure) => [median(rounds.map((r) => figure(r.ours))), median(rounds.map((r) => figure(r.bare)))]
  const difference = (measure, [ours, bare]) => above(measure, ours, bare, 3)
  difference(
    `a turn, median of ${turns}`,
    of((r) => median(r.gaps)),
  )
  if (turns >= 500) {
    difference(
      "… turns 1 to 50",
      of((r) => stretch(r.gaps, 0, 50)),
    )
    difference(
      `… turns ${turns - 50} to ${turns}`,
      of((r) => stretch(r.gaps, turns - 50, turns)),
    )
  }
  if (turns >= 200) {
    const [ours, bare] = of((r) => r.peak)
    limit(`peak memory, ${turns} turns`, ours, "MiB", turns === 200 ? 110 : undefined, bare)
  }
}

// ── tools ─────────────────────────────────────────────────────────────────────────────────────────────
const rounds = quick ? 10 : 40
const parallel = await session(rounds, { kind: "reads", turns: rounds, files: eight }, prompt)
limit("8 parallel reads, reply to next request", median(parallel.gaps), "ms", 20)

await play({ kind: "early", turns: rounds, files: [eight[0]], holdMs: 40 })
const toolsStartedAt = await measured("early.mjs")
const early = (await watched()).seen
limit("a tool starts after its block", median(toolsStartedAt.map((at, i) => at - early[i].blockEndAt)), "ms", 10)

const round = await measured("round.mjs")
above("a call in a round of 100, all beside each other", round.besideMs, round.bareMs, 0.2)
above("… every second one alone", round.alternatingMs, round.bareMs, 0.2)

const search = await measured("search.mjs")
const against = (measure, { ms, plainMs }) => above(measure, ms, plainMs, 30)
against("Glob, 10,000 files, against ripgrep", search.glob)
against("Grep, 10,000 files, 1,000 match, against ripgrep", search.grepSome)
against("… their lines", search.grepContent)
against("… all 10,000 match", search.grepAll)

// ── definitions ───────────────────────────────────────────────────────────────────────────────────────
const full = join(root, "full")
writeAgents(join(full, ".claude", "agents"), 200)
writeSkills(join(full, ".claude", "skills"), 200)
const configOf = (which) => {
  const config = join(root, `config-${which}`)
  if (which === "cold") rmSync(config, { recursive: true, force: true })
  mkdirSync(config, { recursive: true })
  if (which !== "empty") writeFileSync(join(config, "settings.json"), JSON.stringify(hookSettings(50)))
  return config
}
// What was written a moment ago is read again, because it may still change unseen.
await new Promise((resolve) => setTimeout(resolve, 100))
const [nothing, warm, cold] = await interleaved(["empty", "warm", "cold"], (which) =>
  toFirstRequest(prompt, { CLAUDE_CONFIG_DIR: configOf(which) }, which === "empty" ? workspace : full),
)
above("first request, 200 agents, 200 skills, 50 hooks", warm, nothing, 40)
above("… for the first time", cold, nothing, 250)
const reload = await measured("definitions.mjs")
limit("one of 200 agents changed, read again", reload.agentsMs, "ms", 50)
limit("one of 200 skills changed, read again", reload.skillsMs, "ms", 50)

// ── sessions ──────────────────────────────────────────────────────────────────────────────────────────
for (const session of await measured("session.mjs")) {
  const what = `a session of ${session.turns} turns, ${session.between === 0 ? "never" : "often"} compacted`
  limit(`${what}, opened`, session.ms, "ms", 300)
  limit("… peak memory", session.peakMiB, "MiB", 150)
  limit("… without its index", session.wholeMs, "ms")
}

const hooks = await measured("hooks.mjs")
limit("an event that none of 50 hooks is meant by", hooks.passUs, "µs", 20)
above("a command as a hook, against its spawn", hooks.commandMs, hooks.bareMs, 3)

// ── checkpoints ─────────────────────────────────────────────────────────────────────────────────────
const tree = await measured("checkpoints.mjs")
limit(`a look at ${tree.files} files, nothing changed`, tree.sameMs, "ms", 30, tree.bareMs)
above("… against an lstat of each", tree.sameMs, tree.bareMs, 10)
limit("… a file changed", tree.editedMs, "ms", 40, tree.bareMs)
limit("… a file came", tree.addedMs, "ms", 60, tree.bareMs)

// ── policy ────────────────────────────────────────────────────────────────────────────────────────────
const decision = await measured("policy.mjs")
limit(`a decision, ${decision.characters} characters, ${decision.rules} rules`, decision.ms, "ms", 0.2)

// ── kernel ────────────────────────────────────────────────────────────────────────────────────────────
const kernel = await measured("kernel.mjs", ["--expose-gc"])
limit("supervised actor, start", kernel.spawnUs, "µs", 70)
limit("supervised actor, kept", kernel.bytes / 1000, "KB", 9)
limit("ask", kernel.askUs, "µs", 5)
limit("tell", kernel.tellUs, "µs")
limit("restart", kernel.restartUs, "µs")

// ── prompt ────────────────────────────────────────────────────────────────────────────────────────────
limit("first request, all tools (estimate)", estimateTokenCount(firstBody), "tokens", 8000)
const cache = await measured("cache.mjs")
limit(`not read from the cache, per new token (${cache.requests} requests)`, cache.ratio, "×", 1.03)
limit("cache hits of a resumed session", cache.hitRate * 100, "%")

server.disconnect()

const number = (value) =>
  value === undefined ? "" : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3)
const compared = ({ compared: value, goal }) =>
  value === undefined
    ? ""
    : goal.as === "×"
      ? `${value.toFixed(2)} ×`
      : `${value < 0 ? "-" : "+"} ${number(Math.abs(value))}`
if (json) {
  const figures = rows.map(({ goal, ...rest }) => ({ ...rest, goal: goal.text || null }))
  console.log(JSON.stringify({ node: process.version, platform: process.platform, quick, rows: figures }, null, 2))
} else {
  const table = [
    ["measure", "ours", "baseline", "compared", "goal", "ok?"],
    ...rows.map((one) => [
      one.measure,
      `${number(one.ours)} ${one.unit}`,
      one.baseline === undefined ? "" : `${number(one.baseline)} ${one.unit}`,
      compared(one),
      one.goal.text,
      one.goal.text === "" ? "" : one.ok ? "yes" : "NO",
    ]),
  ]
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => cells[column].length)))
  for (const [i, cells] of table.entries()) {
    const padded = cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
    console.log(`| ${padded.join(" | ")} |`)
    if (i === 0) console.log(`|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`)
  }
  console.log(`\nNode ${process.version}, ${process.platform} ${process.arch}${quick ? ", --quick" : ""}`)
}
