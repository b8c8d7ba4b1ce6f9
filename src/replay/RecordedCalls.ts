/**
 * Owns the tools of a replay. The real gate takes each call through its steps; what it would ask the world comes from the records: what
 * rules and people said, what the tool answered. Nothing is run and no file is looked at.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Permissions } from "../permissions/Permissions.ts"
import type { Settled } from "../policy/Decide.ts"
import { plainText, type ToolResultContent } from "../protocol/Content.ts"
import type { EventOf } from "../protocol/Event.ts"
import type { Controls } from "../session/Controls.ts"
import type { Recorder } from "../session/Recorder.ts"
import { ConversationChars } from "../tools/Results.ts"
import { type Invocation, type Tool, ToolFailure } from "../tools/Tool.ts"
import { ToolCatalog } from "../tools/ToolCatalog.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import type { CallFacts } from "./Score.ts"
import type { Entry } from "./Tape.ts"

/** Which call the gate is busy with: a tool is looked up by its name, and answers for one call. */
const Current = Context.Reference<string>("troupe/replay/RecordedCalls/Current", { defaultValue: () => "" })

/** What the records have of the calls of one agent. */
export interface CallRecords {
  /** What is still to come of a call. */
  readonly rest: (toolUseId: string) => ReadonlyArray<Entry>
  readonly facts: (toolUseId: string) => CallFacts | undefined
  /** Its failure ends the calls beside it. */
  readonly cascades: (tool: string) => boolean
  /** The agent that the call sends out works; returns when that has ended. */
  readonly errand: (started: EventOf<"SubagentStarted">) => Effect.Effect<void>
}

const first = <Tag extends Entry["event"]["_tag"]>(rest: ReadonlyArray<Entry>, tag: Tag): EventOf<Tag> | undefined =>
  rest.map(({ event }) => event).find((event): event is EventOf<Tag> => event._tag === tag)

/** The gate, and the catalog it looks into. */
export const layer = (records: CallRecords) =>
  Layer.effect(ToolRunner, gate).pipe(
    // One for each agent: they have calls of their own.
    Layer.provide(Layer.fresh(ToolRunner.layer)),
    Layer.provide(Layer.succeed(Permissions, permissions(records))),
    Layer.provide(Layer.succeed(ConversationChars, Number.MAX_SAFE_INTEGER)),
    Layer.provideMerge(Layer.succeed(ToolCatalog, catalog(records))),
  )

/** The real one, told which call it is about. */
const gate = Effect.map(ToolRunner, (runner) =>
  ToolRunner.of({
    ...runner,
    prepare: (call) => Effect.provideService(runner.prepare(call), Current, call.id),
    run: (prepared) => Effect.provideService(runner.run(prepared), Current, prepared.call.id),
    settle: (call) => Effect.provideService(runner.settle(call), Current, call.toolUseId),
  }),
)

const catalog = (records: CallRecords) =>
  ToolCatalog.of({
    register: () => Effect.void,
    find: (name) => toolOf(name, records),
    names: () => [],
    schemas: () => noSchemas,
    latch: () => ({ deferral: "none", tools: 0, tokens: 0 }),
    deferral: () => "none",
    search: () => [],
    hint: () => "",
    news: () => undefined,
  })

const noSchemas: ReadonlyArray<never> = []

/** A tool of which nobody is told and that everybody may call: what it does is all in `decode`. */
export const bareTool = (name: string, decode: Tool<never>["decode"]): Tool<never> => ({
  name,
  aliases: [],
  description: "",
  inputSchema: {},
  interruptBehavior: "cancel",
  maxResultChars: Number.MAX_SAFE_INTEGER,
  deferred: false,
  listed: true,
  cascades: false,
  enabled: Effect.succeed(true),
  decode,
})

const toolOf = (name: string, records: CallRecords): Tool<never> => ({
  ...bareTool(name, (input) => Effect.map(Current, (id) => invocationOf(name, id, input, records))),
  cascades: records.cascades(name),
})

const invocationOf = (name: string, id: string, input: unknown, records: CallRecords): Invocation<never> => {
  const { beside = false, early = false } = records.facts(id) ?? {}
  const started = first(records.rest(id), "ToolStarted")
  return {
    input,
    readOnly: early,
    concurrencySafe: beside,
    idempotency: started?.idempotency ?? "once",
    // Whether the world has changed while a person was asked shows in what became of the call.
    get summary() {
      const rest = records.rest(id).map(({ event }) => event)
      return rest[0]?._tag === "ToolEnded" && rest[0].outcome === "denied" ? `${name}: changed` : name
    },
    effects: Effect.succeed({}),
    opinion: Effect.succeed({ behavior: "passthrough", reason: "" }),
    validate: Effect.suspend(() => {
      const next = records.rest(id)[0]?.event
      return next?._tag === "ToolEnded" && next.outcome === "failed"
        ? Effect.fail(new ToolFailure({ message: textOf(next.content) }))
        : Effect.void
    }),
    evidence: Effect.suspend(() => {
      const [next] = records.rest(id).map(({ event }) => event)
      // It was let through and never begun.
      if (next?._tag === "ToolEnded" && next.outcome === "cancelled") return Effect.never
      const bug = next?._tag === "ToolEnded" ? crash.exec(textOf(next.content))?.[1] : undefined
      return bug === undefined
        ? Effect.succeed(first(records.rest(id), "ToolStarted")?.evidence ?? {})
        : Effect.die(new Error(bug))
    }),
    judge: () =>
      Effect.sync(() => {
        const ended = first(records.rest(id), "ToolEnded")
        return ended === undefined ? undefined : textOf(ended.content).split("\n").slice(1).join("\n") || undefined
      }),
    run: () =>
      Effect.gen(function* () {
        const rest = records.rest(id)
        const sent = first(rest, "SubagentStarted")
        if (sent !== undefined) yield* records.errand(sent)
        const ended = first(rest, "ToolEnded")
        if (ended?.outcome === "completed") {
          const { content, structured } = ended
          return { content, ...(structured !== undefined && { structured }) }
        }
        if (ended?.outcome === "failed") {
          const { content, structured } = ended
          return yield* new ToolFailure({ message: textOf(content), ...(structured !== undefined && { structured }) })
        }
        // Whoever ended it will end it again; or the recording stops here.
        return yield* Effect.never
      }),
  }
}

/** What the gate makes of a bug of ours, or of a tool. */
const crash = /^.+? crashed: ([\s\S]*)\. This is a defect of the tool, not of the call\.$/

const textOf = (content: ToolResultContent): string => (typeof content === "string" ? content : plainText(content))

const permissions = (records: CallRecords) => {
  const said = (decision: Settled["decision"]): Settled => ({
    decision,
    reason: "as recorded",
    step: "default",
    by: [],
    asked: false,
  })
  const settle = Effect.map(Current, (id) => {
    const next = records.rest(id)[0]?.event
    // After a crash: whether it could be run again shows in whether it was.
    return said(next?._tag === "ToolEnded" && next.outcome === "unknown" ? "deny" : "allow")
  })
  return Permissions.of({
    settle: () => settle,
    foresee: () => Effect.undefined,
    explain: () => Effect.die("Nothing is explained in a replay."),
    decide: ({ input, toolUseId }) =>
      Effect.suspend(() => {
        const rest = records.rest(toolUseId)
        const decided = first(rest, "PermissionDecided")
        // Nobody has answered.
        if (decided === undefined) return Effect.never
        const { behavior, by, reason } = decided
        const started = first(rest, "ToolStarted")
        const isOther = started !== undefined && JSON.stringify(started.input) !== JSON.stringify(input)
        return Effect.succeed({
          behavior,
          reason,
          by: by === "person" ? ("person" as const) : ("rule" as const),
          step: "default" as const,
          ...(isOther && { updatedInput: started.input }),
        })
      }),
  })
}

export type Needs = Controls | Recorder
