/**
 * Owns the doors to a session: open a new one, resume one after whatever ended it, or go on in a copy.
 *
 * A session's parts belong to the caller's scope: the journal with its lock first, then what stands on it, then the agent,
 * under a supervisor. Closing the scope ends them in reverse.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { ModelTable } from "../cost/ModelTable.ts"
import * as HookEngine from "../hooks/HookEngine.ts"
import * as Ids from "../kernel/Ids.ts"
import { Host } from "../platform/Host.ts"
import * as Permissions from "../permissions/Permissions.ts"
import * as RuleBook from "../permissions/RuleBook.ts"
import type { Verdict } from "../policy/Decide.ts"
import * as Controls from "../session/Controls.ts"
import * as Elsewhere from "../session/Elsewhere.ts"
import type { JournalError, SessionBusy } from "../session/JournalError.ts"
import * as Recorder from "../session/Recorder.ts"
import * as Sessions from "../session/Sessions.ts"
import * as Examine from "../tools/Examine.ts"
import { ToolFailure } from "../tools/Tool.ts"
import type * as Agent from "./Agent.ts"
import * as Definitions from "./Definitions.ts"
import type { AgentUnavailable } from "./Being.ts"
import type { OpenOptions } from "./Opening.ts"
import * as Opening from "./Opening.ts"
import type { BadSessionId } from "./SessionRecord.ts"
import * as SessionDefaults from "./SessionDefaults.ts"
import * as SessionTools from "./SessionTools.ts"
import type * as StructuredOutput from "./StructuredOutput.ts"

export { AgentUnavailable } from "./Being.ts"
export { type OpenOptions, OutputSlots, version } from "./Opening.ts"
export { BadSessionId } from "./SessionRecord.ts"

type Needs = SessionTools.Platform

/** There is no session of that name here. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {
  sessionId: Schema.String,
}) {
  override get message(): string {
    return `There is no session ${this.sessionId} to resume. Check the id, the directory and CLAUDE_CONFIG_DIR, or use --continue for the latest one.`
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

export type OpenError =
  | JournalError
  | SessionBusy
  | SessionNotFound
  | Elsewhere.SessionElsewhere
  | BadSessionId
  | AgentUnavailable
  | StructuredOutput.BadOutputSchema

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
    if (yield* Elsewhere.isArriving(sessionId)) {
      const { settle } = yield* Effect.promise(() => import("../session/HandOver.ts"))
      yield* settle(sessionId)
    }
    const found = yield* Sessions.locate(sessionId)
    if (found === undefined) return yield* new SessionNotFound({ sessionId })
    return yield* as === sessionId ? Sessions.adopt(found) : Sessions.fork(found, as)
  }, provide)

  return Agents.of({
    open: Effect.fnUntraced(function* (options = {}) {
      const sessionId = options.sessionId ?? (yield* Ids.uuid)
      return yield* provide(Opening.open(sessionId, { source: "startup", problems: [] }, options))
    }),
    resume: Effect.fnUntraced(function* (sessionId, options = {}) {
      const problems = yield* prepare(sessionId, sessionId)
      return yield* provide(Opening.open(sessionId, { source: "resume", problems }, options))
    }),
    fork: Effect.fnUntraced(function* (sessionId, options = {}) {
      const copy = options.sessionId ?? (yield* Ids.uuid)
      const problems = yield* prepare(sessionId, copy)
      return yield* provide(Opening.open(copy, { source: "fork", problems }, options))
    }),
    explain: (call, options = {}) => provide(explaining(call, options)),
    latest: (cwd) => provide(Sessions.latest(cwd)),
  })
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
    engine: HookEngine.silent,
    definitions: yield* Definitions.make({ cwd }),
    listings: {},
    skills: {},
    subagents: { allowed: true, send: () => new ToolFailure({ message: "Nothing is run here." }) },
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
