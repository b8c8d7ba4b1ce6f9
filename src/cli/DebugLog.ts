/**
 * Owns the log of `--debug`: a file that only its owner can read, with what happened when and how long it took, through Effect's
 * logger at Debug level. Loaded only when it is asked for.
 *
 * What is written is named here: ids, names, counts, times, the words of failures. Never what was said, what a tool was given, or a
 * header; and credentials of the environment are struck out of whatever is left.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { closeSync, constants, mkdirSync, openSync, renameSync, rmSync, symlinkSync, writeSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import type { Agent } from "../agents/Agent.ts"
import { HttpFetch, type Fetch } from "../platform/HttpFetch.ts"
import type { Event } from "../protocol/Event.ts"
import type { Snapshot } from "../settings/Settings.ts"
import { render } from "../settings/SettingsLayer.ts"
import type { DebugWish } from "./Argv.ts"
import { type DebugCategory, wants } from "./DebugFilter.ts"
import type { Opener } from "./OpenSession.ts"
import { oneLine } from "./Plain.ts"

export class DebugLogError extends Schema.TaggedError<DebugLogError>()("DebugLogError", {
  path: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `The debug log ${this.path} cannot be written: ${this.detail}. Name another place with --debug-file.`
  }
}

export interface DebugLog {
  readonly path: string
  readonly logger: Logger.Logger<unknown, void>
}

/** The annotation that tells our entries from what is logged for people. */
const category = "category"

/** The category of what is being logged; `undefined` for a warning, or whatever else is not ours. */
export const categoryOf = ({ fiber }: Pick<Logger.Options<unknown>, "fiber">): string | undefined => {
  const found = fiber.getRef(References.CurrentLogAnnotations)[category]
  return typeof found === "string" ? found : undefined
}

type Facts = Readonly<Record<string, string | number | boolean | null | undefined>>

/** One entry. */
export const note = (of: DebugCategory, what: string, facts: Facts = {}): Effect.Effect<void> =>
  Effect.logDebug([what, ...Object.entries(facts).flatMap(fact)].join(" ")).pipe(Effect.annotateLogs(category, of))

const fact = ([name, value]: [string, Facts[string]]): ReadonlyArray<string> => {
  if (value === undefined) return []
  const text = oneLine(String(value))
  return [`${name}=${/[\s"]/.test(text) || text === "" ? JSON.stringify(text) : text}`]
}

/** Keys look like this also where nobody told us of them. */
const keyLike = /\b(?:sk-ant-|AKIA)[\w-]{8,}|(?<=\bBearer )\S{8,}/g

/** Opens the log; it ends with the scope. */
export const open = (
  wish: DebugWish,
  place: {
    readonly directory: string
    readonly cwd: string
    readonly name: string
    readonly redact: (text: string) => string
  },
): Effect.Effect<DebugLog, DebugLogError, Scope.Scope> =>
  Effect.gen(function* () {
    const path = wish.file === undefined ? join(place.directory, `${place.name}.txt`) : resolve(place.cwd, wish.file)
    const descriptor = yield* Effect.acquireRelease(
      Effect.try({
        try: () => opened(path, wish.file === undefined),
        catch: (error) => new DebugLogError({ path, detail: error instanceof Error ? error.message : String(error) }),
      }),
      (descriptor) => Effect.sync(() => closeSync(descriptor)),
    )
    const logger = Logger.make<unknown, void>((entry) => {
      const of = categoryOf(entry)
      if (!wants(wish.filter, of)) return
      const parts = Array.isArray(entry.message) ? entry.message : [entry.message]
      const text = parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ")
      const clean = oneLine(place.redact(text)).replace(keyLike, "[redacted]")
      const line = `${entry.date.toISOString()} [${entry.logLevel.toUpperCase()}]${of === undefined ? "" : ` [${of}]`} ${clean}\n`
      try {
        writeSync(descriptor, line)
      } catch {
        // A full disk must not end what is being watched.
      }
    })
    return { path, logger }
  })

const opened = (path: string, ours: boolean): number => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const { O_WRONLY, O_CREAT, O_APPEND, O_TRUNC, O_NONBLOCK } = constants
  // A session that is resumed goes on in its own log; a file that was named begins anew.
  const descriptor = openSync(path, O_WRONLY | O_CREAT | O_NONBLOCK | (ours ? O_APPEND : O_TRUNC), 0o600)
  if (ours) link(path)
  return descriptor
}

/** `latest` is replaced in one step, so that it always leads somewhere. */
const link = (path: string): void => {
  const half = join(dirname(path), `.latest-${process.pid}`)
  try {
    rmSync(half, { force: true })
    symlinkSync(basename(path), half)
    renameSync(half, join(dirname(path), "latest"))
  } catch {
    // Some file systems have no links; the log itself is there.
  }
}

/** Where settings come from, and what is wrong with them. Their values stay there. */
export const settings = Effect.fnUntraced(function* ({ layers, diagnostics, reviews }: Snapshot) {
  for (const { source, value, withheld } of layers) {
    const keys = Object.keys(value).join(",")
    yield* note("settings", "read", {
      kind: source.kind,
      from: source.name,
      keys,
      withheld: Object.keys(withheld).join(","),
    })
  }
  for (const one of diagnostics) yield* note("settings", `${one.severity}: ${render(one)}`)
  if (reviews.length > 0) yield* note("settings", "waits for trust", { sources: reviews.length })
})

/** Sessions whose events are logged as they happen. */
export const watched = (agents: Opener): Opener => {
  const follow = Effect.fnUntraced(function* (agent: Agent) {
    yield* note("session", "open", { id: agent.sessionId, cwd: agent.cwd, journal: agent.journalPath })
    for (const problem of agent.problems) yield* note("session", problem)
    const events = yield* agent.watch
    const fiber = yield* Effect.forkScoped(Stream.runForEach(events, logged), { startImmediately: true })
    // What happened last is still on its way when the session is closed.
    const drain = Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 20 }), Fiber.interrupt(fiber))
    yield* Effect.addFinalizer(() => Effect.andThen(drain, note("session", "close", { id: agent.sessionId })))
    return agent
  })
  return {
    ...agents,
    open: (options) => Effect.flatMap(agents.open(options), follow),
    resume: (id, options) => Effect.flatMap(agents.resume(id, options), follow),
    fork: (id, options) => Effect.flatMap(agents.fork(id, options), follow),
  }
}

const logged = (event: Event): Effect.Effect<void> => {
  switch (event._tag) {
    case "SessionStarted":
      return note("session", "started", { id: event.sessionId, source: event.source, version: event.version })
    case "SessionTitled":
      return note("session", "titled", { title: event.title, by: event.by })
    case "SessionTagged":
      return note("session", "tagged", { tags: event.tags.join(", "), by: event.by })
    case "ControlsChanged":
      return note("session", "controls", { model: event.model, mode: event.permissionMode, by: event.by })
    case "PromptReceived":
      return note("session", "prompt", { id: event.promptId, delivery: event.delivery })
    case "RequestSent": {
      const { requestId: id, attempt, model, messages, maxTokens, streaming } = event
      return note("api", "request", { id, attempt, model, messages, maxTokens, streaming })
    }
    case "RetryWaiting": {
      const { requestId: id, attempt, maxAttempts: of, delayMs, reason, status, detail } = event
      return note("api", "retry", { id, attempt, of, delayMs, reason, status, detail })
    }
    case "ReplyAbandoned":
      return note("api", "abandoned", { id: event.requestId, reason: event.reason })
    case "ReplyEnded": {
      const { requestId: id, messageId: message, model, stopReason: stop, durationMs: ms, usage, costUsd: usd } = event
      const { input_tokens: fresh, cache_read_input_tokens: cached, output_tokens: out } = usage
      return note("api", "reply", { id, message, model, stop, ms: Math.round(ms), in: fresh, cached, out, usd })
    }
    case "PermissionAsked":
      return note("permissions", "ask", { id: event.toolUseId, tool: event.tool, why: event.why })
    case "PermissionDecided": {
      const { toolUseId: id, tool, behavior, by, reason } = event
      return note("permissions", behavior, { id, tool, by, reason })
    }
    case "ToolStarted":
      return note("tools", "start", { id: event.toolUseId, tool: event.tool, idempotency: event.idempotency })
    case "ToolEnded":
      return note("tools", "end", {
        id: event.toolUseId,
        tool: event.tool,
        outcome: event.outcome,
        ms: Math.round(event.durationMs),
      })
    case "TransitionTaken":
      return note("session", "transition", { to: event.transition, detail: event.detail })
    case "TurnEnded": {
      const { promptId: id, terminal, turns, durationMs, apiDurationMs, costUsd: usd } = event
      const { reason, detail } = terminal
      return note("session", "turn ended", { id, reason, detail, turns, ms: durationMs, apiMs: apiDurationMs, usd })
    }
    case "ConfigChanged":
      return note("settings", "changed", {
        from: event.file,
        keys: event.keys.join(","),
        withheld: event.withheld.join(","),
      })
    case "PromptExpanded":
      return note("session", "expanded", { id: event.promptId, command: event.command })
    case "PromptRefused":
      return note("session", "refused", { id: event.promptId, reason: event.reason })
    case "ContextAdded":
      return note("session", "context", { origin: event.origin })
    case "SubagentStarted": {
      const { agentId: id, agentType: type, toolUseId: call, model } = event
      return note("agents", "start", { id, type, call, model })
    }
    case "SubagentEnded": {
      const { agentId: id, agentType: type, terminal, turns, durationMs: ms, costUsd: usd } = event
      return note("agents", "end", { id, type, reason: terminal.reason, turns, ms, usd })
    }
    case "SubagentShown":
      return Effect.annotateLogs(logged(event.event), "agent", event.agentId)
    case "HookRan": {
      const { hookId: id, name, what, source, outcome, exitCode: exit, durationMs, detail, stdout, stderr } = event
      return note("hooks", "ran", {
        id,
        name,
        what,
        source,
        outcome,
        exit,
        ms: Math.round(durationMs),
        detail,
        stdout,
        stderr,
      })
    }
    case "Diagnosed":
      return note("session", `${event.level}: ${event.message}`)
    case "Compacted": {
      const { layer, postTokens: after, preTokens: before, trigger } = event
      return note("session", "compacted", { layer, trigger, before, after })
    }
    case "Checkpointed":
      return note("session", "checkpointed", { id: event.promptId, cause: event.cause, files: event.changes.length })
    case "CompactionStarted":
      return note("session", "compacting", { trigger: event.trigger })
    case "ContextMeasured": {
      const { freePercent: free, totalTokens: tokens, cacheHitRate: hits } = event.health
      return note("session", "context", { tokens, free, hits: hits ?? undefined })
    }
    case "Rewound":
      return note("session", "rewound", { id: event.promptId, to: event.to })
    case "SessionHandedOver":
      return note("session", "handed over", { to: event.to })
    case "RulesGranted":
      return note("session", "rules", {
        behavior: event.behavior,
        rules: event.rules.join(", "),
        to: event.destination,
      })
    case "CacheMissed":
      return note("api", `not read from the cache (${event.cause}): ${event.detail}`)
    case "BlockReceived":
    case "MessageImported":
    case "PromptLatched":
    case "SegmentKept":
    case "StreamChunk":
    case "ToolProgressed":
    case "HookStarted":
      return Effect.void
  }
}

/** Whatever goes over the network: where to, how it was answered, how long that took. */
export const watchedFetch: Layer.Layer<HttpFetch, never, HttpFetch> = Layer.effect(
  HttpFetch,
  Effect.gen(function* () {
    const fetch = yield* HttpFetch
    const context = yield* Effect.context<never>()
    const run = Effect.runForkWith(context)
    const clock = Context.get(context, Clock.Clock)
    const logging: Fetch = async (input, init) => {
      const url = new URL(typeof input === "string" || input instanceof URL ? input : input.url)
      const to = `${init?.method ?? "GET"} ${url.origin}${url.pathname}`
      const begun = clock.currentTimeMillisUnsafe()
      const ms = () => clock.currentTimeMillisUnsafe() - begun
      try {
        const response = await fetch(input, init)
        const header = (name: string) => response.headers.get(name) ?? undefined
        const request = header("request-id") ?? header("x-request-id")
        run(note("api", "http", { to, status: response.status, ms: ms(), request, retryAfter: header("retry-after") }))
        return response
      } catch (error) {
        run(note("api", "http failed", { to, ms: ms(), why: error instanceof Error ? error.message : String(error) }))
        throw error
      }
    }
    return logging
  }),
)
