/**
 * Owns the doors to a session: open a new one, resume one after whatever ended it, or go on in a copy.
 *
 * A session's parts belong to the caller's scope: the journal with its lock first, then what stands on it, then the agent,
 * under a supervisor. Closing the scope ends them in reverse.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SystemPrompt from "../context/SystemPrompt.ts"
import { ModelTable } from "../cost/ModelTable.ts"
import * as Ids from "../kernel/Ids.ts"
import * as Supervisor from "../kernel/Supervisor.ts"
import type { Model } from "../model/Model.ts"
import type { Files } from "../platform/Files.ts"
import { Git } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import type { Process } from "../platform/Process.ts"
import type { Ripgrep } from "../platform/Ripgrep.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as Controls from "../session/Controls.ts"
import * as History from "../session/History.ts"
import * as Journal from "../session/Journal.ts"
import { JournalError, type SessionBusy } from "../session/JournalError.ts"
import * as Recorder from "../session/Recorder.ts"
import * as Sessions from "../session/Sessions.ts"
import * as Transcript from "../session/Transcript.ts"
import { FileMemory } from "../tools/FileMemory.ts"
import type { Tool } from "../tools/Tool.ts"
import { ToolCatalog } from "../tools/ToolCatalog.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import { Workspace } from "../tools/Workspace.ts"
import * as Agent from "./Agent.ts"
import * as SessionDefaults from "./SessionDefaults.ts"
import * as StructuredOutput from "./StructuredOutput.ts"

export const version = "0.1.0"

/** What a session makes for itself. */
type SessionParts = Workspace | FileMemory | Recorder.Recorder | Controls.Controls | ToolCatalog | ToolRunner

/** What it finds in the runtime. Tools may need any of both. */
type Needs = Model | ModelTable | Git | Files | FileSystem.FileSystem | Path.Path | Host | Process | Ripgrep

/** The output limit of a request, and the one for a reply that needs more. */
export const OutputSlots = Context.Reference<readonly [first: number, large: number]>(
  "troupe/agents/Agents/OutputSlots",
  {
    defaultValue: () => [8_192, 64_000],
  },
)

export interface OpenOptions<R = never> {
  /** Where the agent works; the host's directory unless told. */
  readonly cwd?: string | undefined
  /** A model's name or alias. */
  readonly model?: string | undefined
  /** Takes over when the model is overloaded. */
  readonly fallbackModel?: string | undefined
  readonly permissionMode?: PermissionMode | undefined
  /** How many replies a turn may take. */
  readonly maxTurns?: number | undefined
  readonly systemPrompt?: string | undefined
  readonly appendSystemPrompt?: string | undefined
  /** Permission rules: `Read`, `Bash(npm test *)`. */
  readonly allowedTools?: ReadonlyArray<string> | undefined
  readonly disallowedTools?: ReadonlyArray<string> | undefined
  /** The tools the model is offered. */
  readonly tools?: ReadonlyArray<Tool<R>> | undefined
  /** More directories to work in. */
  readonly addDirs?: ReadonlyArray<string> | undefined
  /** A JSON Schema that the final answer must fit. */
  readonly jsonSchema?: unknown
  /** A UUID of one's own choice for a new session. */
  readonly sessionId?: string | undefined
}

/** There is no session of that name here. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {
  sessionId: Schema.String,
}) {
  override get message(): string {
    return `There is no session ${this.sessionId} to resume. Check the id, the directory and CLAUDE_CONFIG_DIR, or use --continue for the latest one.`
  }
}

/** A session id that is taken, or is no UUID. */
export class BadSessionId extends Schema.TaggedError<BadSessionId>()("BadSessionId", {
  sessionId: Schema.String,
  why: Schema.String,
}) {
  override get message(): string {
    return `${this.sessionId} cannot be the id of a new session: ${this.why}`
  }
}

export type OpenError = JournalError | SessionBusy | SessionNotFound | BadSessionId | StructuredOutput.BadOutputSchema

type Opening<R> = Effect.Effect<Agent.Agent, OpenError, Exclude<Exclude<R, SessionParts>, Needs> | Scope.Scope>

export class Agents extends Context.Service<
  Agents,
  {
    readonly open: <R = never>(options?: OpenOptions<R>) => Opening<R>
    /** Goes on with a session: one of ours, or a transcript of another client. */
    readonly resume: <R = never>(sessionId: string, options?: OpenOptions<R>) => Opening<R>
    /** Goes on in a copy; the original stays as it is. */
    readonly fork: <R = never>(sessionId: string, options?: OpenOptions<R>) => Opening<R>
    /** The session that was last worked with in a directory. */
    readonly latest: (cwd: string) => Effect.Effect<string | undefined>
  }
>()("troupe/agents/Agents") {
  static readonly layer: Layer.Layer<Agents, never, Needs> = Layer.effect(
    Agents,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  // Without the scope of this layer: a session belongs to whoever opens it.
  const context = Context.omit(Scope.Scope)(yield* Effect.context<Needs>())
  const provide = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, context)

  /** Finds a session and makes sure that it has a journal under `as`; what was wrong on the way comes with it. */
  const prepare = Effect.fnUntraced(function* (sessionId: string, as: string) {
    const found = yield* Sessions.locate(sessionId)
    if (found === undefined) return yield* new SessionNotFound({ sessionId })
    return yield* as === sessionId ? Sessions.adopt(found) : Sessions.fork(found, as)
  }, provide)

  return Agents.of({
    open: Effect.fnUntraced(function* (options = {}) {
      const sessionId = options.sessionId ?? (yield* Ids.uuid)
      return yield* provide(start(sessionId, { source: "startup", problems: [] }, options))
    }),
    resume: Effect.fnUntraced(function* (sessionId, options = {}) {
      const problems = yield* prepare(sessionId, sessionId)
      return yield* provide(start(sessionId, { source: "resume", problems }, options))
    }),
    fork: Effect.fnUntraced(function* (sessionId, options = {}) {
      const copy = options.sessionId ?? (yield* Ids.uuid)
      const problems = yield* prepare(sessionId, copy)
      return yield* provide(start(copy, { source: "fork", problems }, options))
    }),
    latest: (cwd) => provide(Sessions.latest(cwd)),
  })
})

/** How a session comes to be opened, and what had to be put right before. */
interface Origin {
  readonly source: "startup" | "resume" | "fork"
  readonly problems: ReadonlyArray<string>
}

const start = Effect.fnUntraced(function* <R>(sessionId: string, origin: Origin, options: OpenOptions<R>) {
  const host = yield* Host
  const git = yield* Git
  const table = yield* ModelTable
  const defaults = yield* (yield* SessionDefaults.SessionDefaults).current
  const output = options.jsonSchema === undefined ? undefined : yield* StructuredOutput.make(options.jsonSchema)

  // What is recorded, and where.
  const cwd = options.cwd ?? host.cwd
  const journal = yield* Journal.open(sessionId)
  if (origin.source === "startup" && journal.records.length > 0) {
    return yield* new BadSessionId({
      sessionId,
      why: "it exists already. Resume it with --resume, or choose another id.",
    })
  }
  // Nothing of it can be read: going on would pretend that nothing had been said.
  if (origin.source !== "startup" && journal.records.length === 0) {
    return yield* new JournalError({ operation: "read", path: journal.path, detail: journal.problems.join("; ") })
  }
  const history = History.from(journal.records.map((record) => record.event))
  const gitBranch = yield* git.branch(cwd)
  const transcript = yield* Transcript.open({
    sessionId,
    cwd,
    version,
    records: journal.records,
    ...(gitBranch !== undefined && { gitBranch }),
  })
  const recorder = yield* Recorder.make({ agent: "main", journal, transcript, history })
  const model = options.model ?? history.controls?.model ?? defaults.model ?? table.defaultModel
  const permissionMode = options.permissionMode ?? defaults.permissionMode ?? "default"
  const problems = [...origin.problems, ...journal.problems]
  // A copy says itself where it comes from.
  const { source } = origin
  if (source !== "fork") yield* recorder.emit({ _tag: "SessionStarted", sessionId, cwd, version, source })
  yield* recorder.emit({ _tag: "ControlsChanged", model, permissionMode, by: source })
  for (const message of problems) yield* recorder.emit({ _tag: "Diagnosed", level: "warning", message })

  // Its controls: whoever changes them, one reaction records it.
  const controls = yield* Controls.make({ model, permissionMode })
  yield* controls.changes.pipe(
    Stream.runForEach(({ by, after }) => recorder.emit({ _tag: "ControlsChanged", ...after, by })),
    Effect.catchTag("JournalError", (error) => Effect.logError(error.message)),
    Effect.forkScoped({ startImmediately: true }),
  )

  // Its tools, and the gate before them.
  const addDirs = [...(defaults.addDirs ?? []), ...(options.addDirs ?? [])]
  const rules = yield* SessionDefaults.follow({
    defaults,
    recorder,
    controls,
    defaultModel: options.model === undefined ? table.defaultModel : undefined,
    allowedTools: options.allowedTools ?? [],
    disallowedTools: options.disallowedTools ?? [],
  })
  // As it was opened: what the model is told about its tools must not move. A rule that comes later forbids at the gate.
  const hidden = new Set(rules.deny.filter((rule) => rule.specifier === undefined).map((rule) => rule.tool))
  const session = yield* ToolRunner.layer(rules).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        ToolCatalog.layer({ hidden }),
        Workspace.layer({ sessionId, cwd, addDirs }),
        FileMemory.layer,
        Layer.succeed(Recorder.Recorder, recorder),
        Layer.succeed(Controls.Controls, controls),
      ),
    ),
    Layer.build,
  )
  const memory = Context.get(session, FileMemory)
  for (const { event } of journal.records) if (event._tag === "ToolEnded") memory.learn(event.structured)
  const catalog = Context.get(session, ToolCatalog)
  yield* Effect.forEach(options.tools ?? [], (tool) => catalog.register(tool), { discard: true }).pipe(
    Effect.provideContext(session),
  )

  // The agent, which rebuilds its state from the journal should it crash.
  const system = yield* SystemPrompt.make({
    cwd,
    addDirs,
    systemPrompt: options.systemPrompt,
    appendSystemPrompt: options.appendSystemPrompt,
  })
  const supervisor = yield* Supervisor.make(`session ${sessionId}`, { strategy: "rest-for-one" })
  const behavior = Agent.behavior({
    agent: "main",
    system,
    maxTurns: options.maxTurns ?? Number.MAX_SAFE_INTEGER,
    fallbackModel: options.fallbackModel ?? defaults.fallbackModel,
    outputSlots: yield* OutputSlots,
    output,
  })
  const ref = yield* supervisor.start("main", behavior).pipe(
    // At its first start an agent has nothing to crash on but a bug.
    Effect.catchTag("Escalated", Effect.die),
    Effect.provideContext(session),
  )
  return Agent.make(ref, { cwd, problems, recorder, controls, catalog })
})
