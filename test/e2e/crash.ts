/**
 * A session of ten tools that is killed at one write and resumed, and what must hold afterwards.
 *
 * The model here acts as a careful one does: it goes by what it was told, does again what was not done, and looks before it
 * repeats the one step that must not happen twice. So every resume must come to the same end.
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { toBlocks } from "../../src/protocol/Content.ts"
import { scan } from "../../src/session/JournalRecord.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import type { Recording } from "../../src/testing/Recorder.ts"
import type { Step } from "../../src/testing/Reply.ts"
import type { Told } from "../../src/testing/Told.ts"
import { type Ended, endedWith, linesOf, resultOf, type World, world } from "./world.ts"

export type Where = "before" | "inside" | "after"
export interface Cut {
  readonly where: Where
  /** Counts the writes of the process, from 1. */
  readonly write: number
  readonly file?: "journal.ndjson" | ".jsonl"
}

export const id = "44444444-4444-4444-8444-444444444444"
const flags = ["--dangerously-skip-permissions", "--output-format", "stream-json"]
const finished = "All ten steps are done."
const unknown = "outcome is unknown"

interface Made {
  readonly name: string
  readonly input: string
  readonly result: string | undefined
  readonly failed: boolean
}

/** Every call of the conversation with its result. */
const callsOf = (told: Told): ReadonlyArray<Made> => {
  const blocks = told.body.messages.flatMap((message) => toBlocks(message.content))
  const results = new Map(blocks.flatMap((block) => (block.type === "tool_result" ? [[block.tool_use_id, block]] : [])))
  return blocks.flatMap((block) => {
    if (block.type !== "tool_use") return []
    const result = results.get(block.id)
    const text = result === undefined ? undefined : JSON.stringify(result.content)
    return [{ name: block.name, input: JSON.stringify(block.input), result: text, failed: result?.is_error === true }]
  })
}

const tool = (name: string, input: Readonly<Record<string, unknown>>): Step => ({ tool: name, input })

/** The ten steps; the first of them that has no good result yet is next. */
const playbook = (work: string, witness: string): Playbook => {
  const at = (name: string) => path.join(work, name)
  const once = tool("Bash", { command: `echo ran >> '${witness}'`, description: "Leave a line" })
  const look = tool("Bash", { command: `cat '${witness}' || echo nothing`, description: "Look for the line" })
  const steps: ReadonlyArray<ReadonlyArray<Step>> = [
    [tool("Glob", { pattern: "*.txt", path: work })],
    [tool("Read", { file_path: at("a.txt") }), tool("Read", { file_path: at("b.txt") })],
    [tool("Grep", { pattern: "alpha", path: work })],
    [once],
    [tool("Write", { file_path: at("c.txt"), content: "charlie\n" })],
    [tool("Edit", { file_path: at("a.txt"), old_string: "alpha", new_string: "beta" })],
    [tool("Read", { file_path: at("c.txt"), limit: 10 })],
    [tool("Bash", { command: "cat c.txt", description: "Show the new file" })],
    [tool("Grep", { pattern: "beta", path: work })],
  ]
  const isOf = (step: Step) => (call: Made) => call.name === step.tool && call.input === JSON.stringify(step.input)

  const isDone = (calls: ReadonlyArray<Made>, step: Step): boolean => {
    if (step === once) return onceDone(calls)
    const made = calls.filter(isOf(step))
    // Of an edit that a crash cut off, the tool itself can tell whether it happened.
    return made.some((call) => call.result !== undefined && (!call.failed || call.result.includes(": it happened.")))
  }
  const onceDone = (calls: ReadonlyArray<Made>): boolean => {
    if (calls.some((call) => isOf(once)(call) && !call.failed)) return true
    return calls.findLast(isOf(look))?.result?.includes("ran") === true
  }
  /** After an unknown outcome it looks, and does it only if it was not done. */
  const nextOnce = (calls: ReadonlyArray<Made>): Step => {
    const doubted = calls.findLastIndex((call) => isOf(once)(call) && call.result?.includes(unknown) === true)
    const looked = calls.findLastIndex((call) => isOf(look)(call) && !call.failed)
    return doubted > looked ? look : once
  }
  const reply = (told: Told): string | ReadonlyArray<Step> => {
    const calls = callsOf(told)
    const next = steps.find((group) => group.some((step) => !isDone(calls, step)))
    if (next === undefined) return finished
    const missing = next.filter((step) => !isDone(calls, step))
    return [{ text: "The next step." }, ...missing.map((step) => (step === once ? nextOnce(calls) : step))]
  }
  return { name: "crash", rules: [{ reply }] }
}

export interface Stage extends World {
  readonly witness: string
}

const hook = (command: string, matcher = "") => [{ matcher, hooks: [{ type: "command", command }] }]
/** Some are only recorded; what others say is told to the model. */
const hooks = {
  SessionStart: hook("echo The session has begun."),
  UserPromptSubmit: hook("echo It is Tuesday."),
  PreToolUse: hook("true", "Edit"),
  Stop: hook("true"),
}

/** A workspace for the ten steps, and the model that plays them. */
export const stage = Effect.gen(function* () {
  let reply: (told: Told) => string | ReadonlyArray<Step> = () => "not ready"
  const made = yield* world({ name: "crash", rules: [{ reply: (told) => reply(told) }] })
  const witness = path.join(made.directory, "witness.txt")
  const play = playbook(made.work, witness).rules?.[0]?.reply
  if (typeof play === "function") reply = play
  made.write("a.txt", "alpha\n")
  made.write("b.txt", "bravo\n")
  made.write("CLAUDE.md", "Do the steps in their order.\n")
  made.write(path.join(made.config, "settings.json"), JSON.stringify({ hooks }))
  return { ...made, witness } satisfies Stage
})

const first = ["-p", "Do the ten steps.", "--session-id", id, ...flags]
const again = ["-p", "continue", "--resume", id, ...flags]

const journalOf = ({ config }: World) => path.join(config, "troupe/sessions", id, "journal.ndjson")
const transcriptOf = ({ config, work }: World) =>
  path.join(config, "projects", work.replace(/[^a-zA-Z0-9]/g, "-"), `${id}.jsonl`)

const bytesOf = (file: string) => (fs.existsSync(file) ? fs.readFileSync(file) : Buffer.alloc(0))
const recordsOf = (made: World) => scan(bytesOf(journalOf(made))).records.map(({ record }) => record)

/** How many writes an undisturbed session makes. */
export const length = Effect.gen(function* () {
  const made = yield* stage
  endedWith(yield* made.run(first), 0)
  const journal = recordsOf(made)
  assert.strictEqual(journal.filter(({ kind }) => kind === "ToolEnded").length, 10)
  return {
    journal: journal.length,
    transcript: linesOf(bytesOf(transcriptOf(made)).toString()).length,
    kinds: journal.map(({ kind }) => kind),
  }
}).pipe(Effect.scoped)

/** Runs the command until the cut, kills it there, and answers whether it came that far. */
const killed = Effect.fnUntraced(function* (made: Stage, argv: ReadonlyArray<string>, cut: Cut) {
  const child = yield* made.start(argv, {
    env: { CUT: `${cut.where} ${cut.write} ${cut.file ?? "journal.ndjson"}` },
    nodeFlags: ["--require", path.join(import.meta.dirname, "fixtures/cut.cjs")],
  })
  if (!(yield* child.beckoned)) {
    endedWith(yield* child.ended, 0)
    return false
  }
  yield* child.signal("SIGKILL")
  assert.strictEqual((yield* child.ended).signal, "SIGKILL")
  return true
})

/** The step that must not happen twice has begun and not ended, as far as the journal knows. */
const isOpen = (made: Stage): boolean => {
  const events = recordsOf(made).map((record) => JSON.stringify(record.event))
  const idsOf = (kind: string) =>
    events.flatMap((event) =>
      event.startsWith(`{"_tag":"${kind}"`) ? (/"toolUseId":"([^"]+)"/.exec(event)?.[1] ?? []) : [],
    )
  const begun = events.filter((event) => event.startsWith('{"_tag":"ToolStarted"') && event.includes("echo ran"))
  return begun.some((event) => !idsOf("ToolEnded").some((one) => event.includes(`"${one}"`)))
}

const witnessed = ({ witness }: Stage) =>
  bytesOf(witness)
    .toString()
    .split("\n")
    .filter((line) => line !== "").length

/** Kills a session at each cut in turn, the later ones while it recovers, then lets it go on to its end and judges it. */
export const crash = Effect.fnUntraced(function* (cuts: ReadonlyArray<Cut>) {
  const made = yield* stage
  const argv = () => (recordsOf(made).length > 0 ? again : first)
  for (const cut of cuts) {
    if (!(yield* killed(made, argv(), cut))) return { reached: false, doubtful: false, torn: false }
    assert.isAtMost(witnessed(made), 1, "the step happened twice before the resume")
  }
  const torn = scan(bytesOf(journalOf(made))).problems
  const doubtful = isOpen(made)
  const before = (yield* made.requests).length
  // Of a session that was killed inside its first record, the refusal tells, and repairs, what is torn.
  const told = argv() === first ? yield* refusesToResume(made) : undefined
  const ended = yield* made.run(argv())
  judgeEnd(made, ended)
  judgeRequests(yield* made.requests, before, doubtful)
  judgeFiles(made, torn.length > 0 ? (told ?? ended.err) : ended.err, torn)
  return { reached: true, doubtful, torn: torn.length > 0 }
}, Effect.scoped)

/** Of a session that was killed before its first record nothing is known; it is begun again, not resumed as an empty one. */
const refusesToResume = Effect.fnUntraced(function* (made: Stage) {
  const refused = yield* made.run(again)
  endedWith(refused, 1)
  assert.match(refused.err, /There is no session|the last record was cut off/)
  return refused.err
})

const judgeEnd = (made: Stage, ended: Ended) => {
  endedWith(ended, 0)
  assert.include(resultOf(ended), { subtype: "success", result: finished, terminal_reason: "completed" })
  assert.strictEqual(witnessed(made), 1, "the step that must happen once")
  assert.strictEqual(made.read("a.txt"), "beta\n")
  assert.strictEqual(made.read("c.txt"), "charlie\n")
}

/** The strict server refused nothing, and an outcome that nobody knows was told as unknown in the first request. */
const judgeRequests = (requests: ReadonlyArray<Recording>, before: number, open: boolean) => {
  for (const request of requests) assert.isUndefined(request.note.problem)
  const next = requests[before]
  assert.isDefined(next)
  const told = JSON.stringify(next?.body.messages)
  if (open) assert.include(told, unknown, "the next request does not say that the outcome is unknown")
}

/** Both files are whole again: the journal without any flaw, the transcript with nothing lost and nothing twice. */
const judgeFiles = (made: Stage, told: string, torn: ReadonlyArray<string>) => {
  for (const problem of torn) assert.include(told, problem)
  if (torn.length === 0) assert.strictEqual(told, "")
  const journal = scan(bytesOf(journalOf(made)))
  assert.deepStrictEqual(journal.problems, [])
  const kept = fs.readdirSync(path.dirname(journalOf(made))).filter((name) => name.includes(".damaged-"))
  assert.strictEqual(kept.length, torn.length, "what was damaged is kept beside it")
  const lines = bytesOf(transcriptOf(made)).toString().split("\n")
  const whole = lines.flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line)
      return [JSON.stringify(value)]
    } catch {
      return []
    }
  })
  const uuids = whole.flatMap((line) => /"uuid":"([^"]+)"/.exec(line)?.[1] ?? [])
  assert.strictEqual(new Set(uuids).size, uuids.length, "a line of the transcript stands there twice")
  const said = (kind: string) => journal.records.filter(({ record }) => record.kind === kind).length
  const results = whole.filter((line) => line.includes('"type":"tool_result"')).length
  assert.strictEqual(results, said("ToolEnded"), "tool results in the transcript")
}
