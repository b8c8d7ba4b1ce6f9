/**
 * Owns going on from a place in a recording with another model: what was recorded up to there is the conversation, the rest of the turn
 * is asked of a model anew. Nothing is written, and nothing is run: a call that was made in the recording too gets its recorded result,
 * any other is answered as unavailable.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Interrupts from "../agents/Interrupts.ts"
import * as Toolset from "../agents/Toolset.ts"
import * as Turn from "../agents/Turn.ts"
import { Model } from "../model/Model.ts"
import type { ToolSchema } from "../model/Provider.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { plainText } from "../protocol/Content.ts"
import type { DurableEvent, EventOf } from "../protocol/Event.ts"
import * as Controls from "../session/Controls.ts"
import * as History from "../session/History.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import * as Recorder from "../session/Recorder.ts"
import { type Invocation, type Tool, ToolFailure } from "../tools/Tool.ts"
import { ToolCatalog } from "../tools/ToolCatalog.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import { Workspace } from "../tools/Workspace.ts"
import * as MemoryJournal from "./MemoryJournal.ts"
import { bareTool } from "./RecordedCalls.ts"
import { NotReplayable } from "./Replay.ts"
import { main } from "./Tape.ts"
import { machine } from "./World.ts"

/** How a turn went, as far as one wants to compare it. */
export interface Outcome {
  readonly model: string
  readonly requests: number
  readonly replies: ReadonlyArray<string>
  readonly calls: ReadonlyArray<{ readonly tool: string; readonly input: unknown; readonly outcome: string }>
  readonly outputTokens: number
  readonly costUsd: number
  /** `undefined`: it never ended. */
  readonly terminal: EventOf<"TurnEnded">["terminal"] | undefined
}

export interface Fork {
  /** The record behind which the other way begins. */
  readonly at: number
  readonly prompt: string
  readonly recorded: Outcome
  readonly counterfactual: Outcome
}

export interface ForkOptions {
  readonly at: number
  readonly model: string
  /** How many replies there may be; twice those of the recording unless told, and at least 10. */
  readonly maxTurns?: number
}

const noLimit = [8_192, 64_000] as const

/** Where a fork begins: in the turn that is open there, or before the next one. */
export const placeOf = Effect.fnUntraced(function* (recorded: ReadonlyArray<JournalRecord>, at: number) {
  const own = recorded.filter(({ agent }) => agent === main)
  const before = own.filter(({ seq }) => seq <= at)
  const open = History.fold(before).openPromptId
  const next = own.find(({ event, seq }) => seq > at && event._tag === "PromptReceived" && event.harness !== true)
  const place = open === undefined ? next?.seq : at
  if (place === undefined || before.length === 0) {
    const why = `no turn is open at #${at} and none begins after it; the last record is #${own.at(-1)?.seq ?? 0}`
    return yield* new NotReplayable({ why })
  }
  const prefix = own.filter(({ seq }) => seq <= place)
  const promptId = History.fold(prefix).openPromptId ?? ""
  const prompt = prefix.find(({ event }) => event._tag === "PromptReceived" && event.promptId === promptId)
  const end = own.find(({ event, seq }) => seq > place && event._tag === "TurnEnded")?.seq ?? Number.POSITIVE_INFINITY
  return { place, prefix, promptId, prompt, rest: own.filter(({ seq }) => seq > place && seq <= end) }
})

/** Goes on with another model, in memory. */
export const run = Effect.fnUntraced(function* (recorded: ReadonlyArray<JournalRecord>, options: ForkOptions) {
  const { place, prefix, prompt, promptId, rest } = yield* placeOf(recorded, options.at)
  const model = yield* Model
  const history = History.fold(prefix)
  const written: Array<JournalRecord> = [...prefix]
  const journal = MemoryJournal.make(history.sessionId ?? "", written)
  const recorder = yield* Recorder.make({ agent: main, journal, transcript: MemoryJournal.noTranscript, history })
  const { effort, permissionMode = "default" } = history.controls ?? {}
  const controls = yield* Controls.make({
    model: options.model,
    permissionMode,
    ...(effort !== undefined && { effort }),
  })
  const cwd = history.cwd ?? "/"
  const services = yield* gate(recorded, history).pipe(
    Layer.provideMerge(
      Layer.mergeAll(Layer.succeed(Recorder.Recorder, recorder), Layer.succeed(Controls.Controls, controls)),
    ),
    Layer.provide(Workspace.layer({ sessionId: "counterfactual", cwd })),
    Layer.provide(machine({ cwd })),
    Layer.fresh,
    Layer.build,
  )
  const replies = rest.filter(({ event }) => event._tag === "ReplyEnded").length
  yield* Turn.run({
    agent: main,
    promptId,
    system: history.latched?.system ?? [],
    maxTurns: options.maxTurns ?? Math.max(10, 2 * replies),
    outputSlots: noLimit,
    interrupts: yield* Interrupts.make,
  }).pipe(Effect.provideContext(Context.add(services, Model, model)))
  const fork: Fork = {
    at: place,
    prompt: prompt?.event._tag === "PromptReceived" ? plainText(prompt.event.content) : "",
    recorded: outcomeOf(rest.map(({ event }) => event)),
    counterfactual: outcomeOf(written.slice(prefix.length).map(({ event }) => event)),
  }
  return fork
}, Effect.scoped)

/** What the records of a turn come to. */
export const outcomeOf = (events: ReadonlyArray<DurableEvent>): Outcome => {
  const calls = new Map<string, { tool: string; input: unknown; outcome: string }>()
  const replies: Array<string> = []
  let [model, requests, outputTokens, costUsd] = ["", 0, 0, 0]
  let terminal: Outcome["terminal"]
  for (const event of events) {
    if (event._tag === "RequestSent") {
      requests++
      model ||= event.model
    }
    if (event._tag === "BlockReceived" && event.block.type === "text") replies.push(event.block.text)
    if (event._tag === "BlockReceived" && event.block.type === "tool_use") {
      const { id, input, name } = event.block
      calls.set(id, { tool: name, input, outcome: "open" })
    }
    if (event._tag === "ToolEnded") {
      const call = calls.get(event.toolUseId)
      if (call !== undefined) call.outcome = event.outcome
    }
    if (event._tag === "ReplyEnded" || event._tag === "ReplyAbandoned") {
      outputTokens += event.usage?.output_tokens ?? 0
      costUsd += event.costUsd ?? 0
    }
    if (event._tag === "TurnEnded") terminal = event.terminal
  }
  return { model, requests, replies, calls: [...calls.values()], outputTokens, costUsd, terminal }
}

/** The real gate over results that are known. */
const gate = (recorded: ReadonlyArray<JournalRecord>, history: History.History) => {
  const known = resultsOf(recorded)
  const schemas = schemasOf(history)
  const names = new Set([...schemas.map(({ name }) => name), ...[...known.values()].map(({ tool }) => tool)])
  const catalog = ToolCatalog.of({
    register: () => Effect.void,
    find: (name) => (names.has(name) ? toolOf(name, known) : undefined),
    names: () => [...names],
    schemas: () => schemas,
    latch: () => ({ deferral: "none", tools: 0, tokens: 0 }),
    deferral: () => "none",
    search: () => [],
    hint: () => "",
    news: () => undefined,
  })
  const permissions = Permissions.of({
    settle: () =>
      Effect.succeed({ decision: "allow", reason: "nothing is run", step: "default", by: [], asked: false }),
    foresee: () => Effect.undefined,
    explain: () => Effect.die("Nothing is explained in a counterfactual."),
    decide: () => Effect.succeed({ behavior: "allow", reason: "nothing is run", by: "mode", step: "default" }),
  })
  return Layer.fresh(ToolRunner.layer).pipe(
    Layer.provideMerge(Layer.succeed(ToolCatalog, catalog)),
    Layer.provide(Layer.succeed(Permissions, permissions)),
  )
}

const keyOf = (tool: string, input: unknown): string => `${tool} ${JSON.stringify(input)}`

const resultsOf = (recorded: ReadonlyArray<JournalRecord>): ReadonlyMap<string, EventOf<"ToolEnded">> => {
  const made = new Map<string, string>()
  const found = new Map<string, EventOf<"ToolEnded">>()
  for (const { agent, event } of recorded) {
    if (event._tag === "BlockReceived" && event.block.type === "tool_use") {
      made.set(`${agent} ${event.block.id}`, keyOf(event.block.name, event.block.input))
    }
    if (event._tag !== "ToolEnded" || (event.outcome !== "completed" && event.outcome !== "failed")) continue
    const key = made.get(`${agent} ${event.toolUseId}`)
    if (key !== undefined && !found.has(key)) found.set(key, event)
  }
  return found
}

/** The tools of this version, as the session was told of them. Of two of a name the later one counts, as in a catalog. */
const schemasOf = ({ latched }: History.History): ReadonlyArray<ToolSchema> => {
  const byName = new Map<string, ToolSchema>()
  for (const { deferred, description, inputSchema, listed, name } of Toolset.all) {
    const listing = latched?.listings[name]
    const told = listing === undefined ? description : `${description}\n${listing}`
    if (listed && !deferred) byName.set(name, { name, description: told, input_schema: inputSchema })
  }
  return [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

const toolOf = (name: string, known: ReadonlyMap<string, EventOf<"ToolEnded">>): Tool<never> =>
  bareTool(name, (input) => Effect.succeed(invocationOf(name, input, known.get(keyOf(name, input)))))

const invocationOf = (name: string, input: unknown, recorded: EventOf<"ToolEnded"> | undefined): Invocation<never> => ({
  input,
  readOnly: true,
  concurrencySafe: true,
  idempotency: "read_only",
  summary: name,
  effects: Effect.succeed({}),
  opinion: Effect.succeed({ behavior: "passthrough", reason: "" }),
  validate: Effect.void,
  evidence: Effect.succeed({}),
  judge: () => Effect.undefined,
  run: () => {
    if (recorded === undefined) return new ToolFailure({ message: unavailable(name) })
    const { content, outcome, structured } = recorded
    if (outcome === "completed") return Effect.succeed({ content, ...(structured !== undefined && { structured }) })
    return new ToolFailure({ message: typeof content === "string" ? content : plainText(content) })
  },
})

const unavailable = (tool: string): string =>
  `${tool} is unavailable: this is a look at what might have been, and nobody has made this call before. Go on without its result.`
