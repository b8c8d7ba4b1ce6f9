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
import type * as Actor from "../kernel/Actor.ts"
import * as Ids from "../kernel/Ids.ts"
import * as Supervisor from "../kernel/Supervisor.ts"
import type { Model } from "../model/Model.ts"
import type { Files } from "../platform/Files.ts"
import { Git } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import type { Process } from "../platform/Process.ts"
import type { Ripgrep } from "../platform/Ripgrep.ts"
import * as Permissions from "../permissions/Permissions.ts"
import * as RuleBook from "../permissions/RuleBook.ts"
import type { Verdict } from "../policy/Decide.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as Controls from "../session/Controls.ts"
import * as History from "../session/History.ts"
import * as Journal from "../session/Journal.ts"
import { JournalError, type SessionBusy } from "../session/JournalError.ts"
import * as Recorder from "../session/Recorder.ts"
import * as Sessions from "../session/Sessions.ts"
import * as Transcript from "../session/Transcript.ts"
import * as Examine from "../tools/Examine.ts"
import { Tasks } from "../tools/Tasks.ts"
import type { Tool } from "../tools/Tool.ts"
import * as Agent from "./Agent.ts"
import * as SessionDefaults from "./SessionDefaults.ts"
import * as SessionTools from "./SessionTools.ts"
import * as StructuredOutput from "./StructuredOutput.ts"

export const version = "0.1.0"

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

/** A call that could not be made at all, so there is nothing to decide. */
export class BadCall extends Schema.TaggedError<BadCall>()("BadCall", { why: Schema.String }) {
  override get message(): string {
    return this.why
  }
}

export interface CallToExplain {
  readonly tool: string
  readonly input: unknown
}

/** The decision with everything that led to it, and what is wrong with the rules. */
export interface Explained {
  readonly verdict: Verdict
  readonly problems: ReadonlyArray<string>
}

export type OpenError = JournalError | SessionBusy | SessionNotFound | BadSessionId | StructuredOutput.BadOutputSchema

type Opening<R> = Effect.Effect<Agent.Agent, OpenError, Exclude<Exclude<R, SessionTools.Parts>, Needs> | Scope.Scope>

export class Agents extends Context.Service<
  Agents,
  {
    readonly open: <R = never>(options?: OpenOptions<R>) => Opening<R>
    /** Goes on with a session: one of ours, or a transcript of another client. */
    readonly resume: <R = never>(sessionId: string, options?: OpenOptions<R>) => Opening<R>
    /** Goes on in a copy; the original stays as it is. */
    readonly fork: <R = never>(sessionId: string, options?: OpenOptions<R>) => Opening<R>
    /** What the policy says about a call of a session opened so: before anybody is asked. Nothing is recorded and nothing runs. */
    readonly explain: <R = never>(
      call: CallToExplain,
      options?: OpenOptions<R>,
    ) => Effect.Effect<Explained, BadCall | JournalError, Exclude<Exclude<R, SessionTools.Parts>, Needs> | Scope.Scope>
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
    explain: (call, options = {}) => provide(explaining(call, options)),
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
  const book = yield* SessionDefaults.follow({
    defaults,
    recorder,
    controls,
    cwd,
    home: host.home,
    defaultModel: options.model === undefined ? table.defaultModel : undefined,
    allowedTools: options.allowedTools ?? [],
    disallowedTools: options.disallowedTools ?? [],
  })
  const { catalog, session } = yield* SessionTools.make({
    sessionId,
    cwd,
    addDirs,
    book,
    recorder,
    controls,
    tools: options.tools ?? [],
    model: table.resolve(model).spec,
  })

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
  // Work in the background that ended is told to the model, between the rounds of a turn or in one of its own.
  yield* Context.get(session, Tasks).notices.pipe(
    Stream.runForEach(({ text }) => notify(ref, text)),
    Effect.forkScoped,
  )
  const wrong = [...problems, ...book.rules().problems.map(RuleBook.describe)]
  return Agent.make(ref, { cwd, problems: wrong, recorder, controls, catalog })
})

const notify = Effect.fnUntraced(function* (ref: Actor.Ref<typeof Agent.AgentProtocol>, content: string) {
  const letter = { promptId: yield* Ids.uuid, uuid: yield* Ids.uuid, content, harness: true }
  // A session that cannot take it any more has said why.
  yield* Effect.ignore(ref.ask.Steer({ letter, delivery: "between_rounds" }))
})

/** What the policy says about a call, without a session and without asking anybody: nothing is recorded and nothing runs. */
const explaining = Effect.fnUntraced(function* <R>(call: CallToExplain, options: OpenOptions<R>) {
  const host = yield* Host
  const table = yield* ModelTable
  const defaults = yield* (yield* SessionDefaults.SessionDefaults).current
  const cwd = options.cwd ?? host.cwd
  const model = options.model ?? defaults.model ?? table.defaultModel
  const controls = yield* Controls.make({
    model,
    permissionMode: options.permissionMode ?? defaults.permissionMode ?? "default",
  })
  const recorder = Recorder.nowhere("explain")
  const book = yield* SessionDefaults.follow({
    defaults,
    recorder,
    controls,
    cwd,
    home: host.home,
    defaultModel: undefined,
    allowedTools: options.allowedTools ?? [],
    disallowedTools: options.disallowedTools ?? [],
  })
  const { session } = yield* SessionTools.make({
    sessionId: "explain",
    cwd,
    addDirs: [...(defaults.addDirs ?? []), ...(options.addDirs ?? [])],
    book,
    recorder,
    controls,
    tools: options.tools ?? [],
    model: table.resolve(model).spec,
    // A rule that takes the tool away is the answer, not a reason to have none.
    showsAll: true,
  })
  const examine = yield* Effect.provideContext(Examine.make, session)
  const prepared = yield* examine({ id: "explain", name: call.tool, input: call.input }, 0)
  if (prepared._tag === "Rejected") return yield* new BadCall({ why: prepared.why })
  const problems = book.rules().problems.map(RuleBook.describe)
  return { verdict: yield* Context.get(session, Permissions.Permissions).explain(prepared.ask.call), problems }
})
