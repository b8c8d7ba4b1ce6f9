// Measures the opening of a session of 10,000 turns: how long until it is open, and how much memory the process has had by then. Once it
// is opened by reading the whole journal, as after a damaged index, then from its index, as usual. Sends the figures to whoever started
// it, or prints them. The arguments are the turns, how many of them lie between two compactions (0: none), and the runs.
import { execFileSync } from "node:child_process"
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Records from "../../dist/lib/session/JournalRecord.js"
import { median } from "./median.mjs"

const uuid = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`
const usage = { input_tokens: 900, output_tokens: 120, cache_creation_input_tokens: 0, cache_read_input_tokens: 40_000 }

/** What a turn with one call leaves behind. */
const turn = (n) => {
  const [asked, answered, call] = [`r${n}a`, `r${n}b`, `toolu_${n}`]
  const request = (requestId) => ({
    _tag: "RequestSent",
    requestId,
    attempt: 1,
    model: "claude-sonnet-5",
    maxTokens: 8192,
    streaming: true,
    messages: n,
    ledger: ["a".repeat(64), "b".repeat(64), "c".repeat(64)],
  })
  const block = (requestId, index, block) => ({
    _tag: "BlockReceived",
    uuid: uuid(n * 10 + index),
    messageId: `msg_${requestId}`,
    requestId,
    model: "claude-sonnet-5",
    index,
    block,
  })
  const ended = (requestId, stopReason) => ({
    _tag: "ReplyEnded",
    messageId: `msg_${requestId}`,
    requestId,
    model: "claude-sonnet-5",
    stopReason,
    usage,
    costUsd: 0.001,
    durationMs: 900,
  })
  const words = `Part ${n} of the program does what its name says, and its test agrees.`
  return [
    {
      _tag: "PromptReceived",
      uuid: uuid(n * 10 + 5),
      promptId: uuid(n * 10 + 5),
      content: `Look at part ${n}.`,
      delivery: "prompt",
    },
    request(asked),
    block(asked, 0, { type: "text", text: "Let me see." }),
    block(asked, 1, { type: "tool_use", id: call, name: "Read", input: { file_path: `/work/src/part${n % 50}.ts` } }),
    ended(asked, "tool_use"),
    {
      _tag: "ToolStarted",
      toolUseId: call,
      tool: "Read",
      input: { file_path: `/work/src/part${n % 50}.ts` },
      idempotency: "read_only",
    },
    {
      _tag: "ToolEnded",
      uuid: uuid(n * 10 + 6),
      toolUseId: call,
      tool: "Read",
      outcome: "completed",
      content: `1\texport const part${n} = ${n}`,
      durationMs: 2,
    },
    request(answered),
    block(answered, 2, { type: "text", text: words }),
    ended(answered, "end_turn"),
    {
      _tag: "TurnEnded",
      promptId: uuid(n * 10 + 5),
      terminal: { reason: "completed" },
      result: words,
      turns: 2,
      durationMs: 2000,
      apiDurationMs: 1800,
      usage,
      costUsd: 0.002,
    },
  ]
}

const compaction = (n, messages) => ({
  _tag: "Compacted",
  uuid: uuid(n * 10 + 9),
  trigger: "auto",
  layer: "summary",
  preTokens: 160_000,
  postTokens: 9_000,
  results: {},
  spans: [{ from: 0, to: messages, content: `What came before turn ${n}: everything went well.` }],
  summary: "Everything went well.",
})

/** A journal as it would stand there. Answers its bytes. */
export const writeSession = (config, sessionId, turns, between) => {
  const directory = join(config, "troupe/sessions", sessionId)
  mkdirSync(directory, { recursive: true })
  const file = openSync(join(directory, "journal.ndjson"), "w", 0o600)
  let [sum, seq, bytes, messages] = [Records.firstSum, 0, 0, 0]
  const put = (event) => {
    const record = {
      seq: ++seq,
      time: 1_795_000_000_000 + seq,
      agent: "main",
      kind: event._tag,
      payload: `"event":${JSON.stringify(event)}`,
    }
    const line = Records.encode(sum, record)
    sum = line.sum
    bytes += writeSync(file, line.bytes)
  }
  put({ _tag: "SessionStarted", sessionId, cwd: join(config, "work"), version: "0.1.0", source: "startup" })
  put({ _tag: "ControlsChanged", model: "sonnet", permissionMode: "default", by: "startup" })
  for (let n = 1; n <= turns; n++) {
    for (const event of turn(n)) put(event)
    messages += 4
    if (between > 0 && n % between === 0) {
      put(compaction(n, messages))
      messages = 1
    }
  }
  closeSync(file)
  return bytes
}

const opener = fileURLToPath(new URL("open.mjs", import.meta.url))

export const measureSession = (turns, between, runs) => {
  const config = mkdtempSync(join(tmpdir(), "troupe-bench-session-"))
  try {
    mkdirSync(join(config, "work"))
    const sessionId = uuid(1)
    const bytes = writeSession(config, sessionId, turns, between)
    const index = join(config, "troupe/sessions", sessionId, "index.json")
    const open = () => JSON.parse(execFileSync(process.execPath, [opener, config, sessionId], { encoding: "utf8" }))
    const whole = open()
    const indexed = Array.from({ length: runs }, open)
    const of = (key) => median(indexed.map((run) => run[key]))
    const figures = {
      ms: of("ms"),
      cpuMs: of("cpuMs"),
      peakMiB: of("peakMiB"),
      sinceStartMs: of("sinceStartMs"),
      messages: whole.messages,
    }
    const [journalMiB, indexMiB] = [bytes, readFileSync(index).length].map((size) => size / 1024 / 1024)
    return {
      turns,
      between,
      ...figures,
      wholeMs: whole.ms,
      wholeCpuMs: whole.cpuMs,
      wholePeakMiB: whole.peakMiB,
      journalMiB,
      indexMiB,
    }
  } finally {
    rmSync(config, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [turns = "10000", between, runs = "5"] = process.argv.slice(2)
  const kinds = between === undefined ? [100, 0] : [Number(between)]
  const figures = kinds.map((kind) => measureSession(Number(turns), kind, Number(runs)))
  if (process.send !== undefined) process.send(figures)
  else console.log(JSON.stringify(figures, undefined, 2))
}
