/**
 * Owns the hooks of a session: which there are, running those that are meant, and what comes of it. It never fails: whatever goes wrong
 * with a hook is said once, and the session goes on.
 *
 * Code that fires an event reads `HookEngine`, which is silent where nobody provides one: without hooks nothing is needed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { Process } from "../platform/Process.ts"
import type { Call } from "../policy/Call.ts"
import { sessionDirectory } from "../session/SessionPaths.ts"
import type { SettingsLayer } from "../settings/SettingsLayer.ts"
import type { Handler, Origin } from "./Handler.ts"
import * as HookConfig from "./HookConfig.ts"
import { type HookEventName, type InputOf, specOf, subjectOf } from "./HookEvents.ts"
import * as HookIndex from "./HookIndex.ts"
import * as HookMemory from "./HookMemory.ts"
import { Hooks, type On, registry } from "./Hooks.ts"
import * as HookRunner from "./HookRunner.ts"
import * as HookSettings from "./HookSettings.ts"
import { watchedNames } from "./Matcher.ts"
import type { Reply } from "./Reply.ts"
import * as Verdict from "./Verdict.ts"

/** What the event is about, where that is more than its fields. */
export interface About {
  /** The call as the policy sees it, for `if`. */
  readonly call?: Call | undefined
  readonly toolUseId?: string | undefined
}

export interface HookEngineShape {
  /** Whether any hook would be run; a look-up. `subject` is what matchers see: a tool's name, for instance. */
  readonly concerns: (event: HookEventName, subject?: string) => boolean
  /** Runs the hooks of an event and says what they say together. Hooks that nobody waits for go on by themselves. */
  readonly fire: <E extends HookEventName>(
    event: E,
    fields: InputOf<E>,
    about?: About,
  ) => Effect.Effect<Verdict.Verdict>
  /** A function of this session's client, until the scope closes. */
  readonly on: On
  /** Hooks of an agent, a skill or a plugin, as they are written, until the scope closes. Answers what is wrong with them. */
  readonly register: (hooks: unknown, origin: Origin) => Effect.Effect<ReadonlyArray<string>, never, Scope.Scope>
  /** The settings are these now. What is wrong with their hooks is said. */
  readonly renew: (layers: ReadonlyArray<SettingsLayer>) => Effect.Effect<void>
  /** The same hooks for a subagent, and room for its own. */
  readonly forAgent: (agent: HookRunner.AgentFacts) => HookEngineShape
  readonly list: () => ReadonlyArray<HookIndex.Explained>
  readonly explain: (event: HookEventName, subject?: string, call?: Call) => ReadonlyArray<HookIndex.Explained>
  /** What hooks in the background want the model to hear at once (`asyncRewake`). */
  readonly wakes: Stream.Stream<string>
  /** What hooks in the background have said since it was last asked: for the model, with the next prompt. */
  readonly takeContext: Effect.Effect<ReadonlyArray<string>>
  /** What hooks said about results, for the judge of `auto` mode: the newest last. */
  readonly notes: () => ReadonlyArray<string>
  /** A hook has ended the work (`continue: false`) since it was last asked. */
  readonly takeStop: Effect.Effect<Verdict.Verdict["stop"]>
  /** The files that `FileChanged` is about: names in the shell's directory, and paths that hooks asked for. */
  readonly watched: Stream.Stream<Watched>
  /** Shell lines with the variables that hooks left for commands. */
  readonly shellPreamble: () => string
}

export interface Watched {
  readonly names: ReadonlyArray<string>
  readonly paths: ReadonlyArray<string>
}

/** No hooks, and none can be added: also what the agent of a hook works with. */
export const silent: HookEngineShape = {
  concerns: () => false,
  fire: () => Effect.succeed(Verdict.nothing),
  on: () => Effect.void,
  register: () => Effect.succeed([]),
  renew: () => Effect.void,
  forAgent: () => silent,
  list: () => [],
  explain: () => [],
  wakes: Stream.empty,
  takeContext: Effect.succeed([]),
  notes: () => [],
  takeStop: Effect.undefined,
  watched: Stream.empty,
  shellPreamble: () => "",
}

export const HookEngine = Context.Reference<HookEngineShape>("troupe/hooks/HookEngine", { defaultValue: () => silent })

export type { AgentFacts } from "./HookRunner.ts"

/** A session, as far as hooks are concerned. */
export interface Facts extends HookRunner.SessionFacts {
  /** The settings it begins with; later ones come by `renew`. */
  readonly layers: ReadonlyArray<SettingsLayer>
}

export type Needs = Process | Host | Files | FileSystem.FileSystem

export const make = Effect.fnUntraced(function* (
  facts: Facts,
): Effect.fn.Return<HookEngineShape, never, Needs | Scope.Scope> {
  const host = yield* Host
  const scope = yield* Effect.scope
  const embedder = yield* Effect.serviceOption(Hooks)
  const memory = yield* HookMemory.make(sessionDirectory(host, facts.sessionId))
  const prepare = yield* HookRunner.make(facts, memory)
  const place = { cwd: facts.projectDir, home: host.home }
  const global = Option.isSome(embedder) ? embedder.value.registered : () => nobody

  let settings = HookSettings.read(facts.layers, place)
  const client = registry("this session's client")
  /** Hooks of plugins and skills, for the whole session. */
  const added = registry("this session")
  const told = new Set<string>()
  const wakes = yield* Queue.unbounded<string>()
  const watched = yield* SubscriptionRef.make<Watched>({ names: [], paths: [] })
  /** Hooks of skills that were to run once, and have. */
  const spent = new Set<Handler>()

  const say = (level: "info" | "warning", message: string) =>
    facts.recorder
      .emit({ _tag: "Diagnosed", level, message })
      .pipe(Effect.catch((error) => Effect.logError(error.message)))
  /** Once for each `key`. */
  const complain = Effect.fnUntraced(function* (key: string, message: string) {
    if (told.has(key)) return
    told.add(key)
    yield* say("warning", message)
  })
  const misread = Effect.suspend(() =>
    Effect.forEach(settings.problems.map(HookConfig.render), (message) => complain(message, message), {
      discard: true,
    }),
  )
  const troubled = ({ handler, name, problem }: Reply) =>
    problem === undefined
      ? Effect.void
      : complain(`${handler.event} ${handler.identity}`, HookRunner.trouble(handler, name, problem))

  /** The engine of the main agent, or of one below it. */
  const view = (agent: HookRunner.AgentFacts | undefined): HookEngineShape => {
    const own = agent === undefined ? added : registry(`the agent ${agent.agentType}`)
    const stop: { now: Verdict.Verdict["stop"] } = { now: undefined }
    let background: Array<string> = []
    const notes: Array<string> = []
    let made: Made | undefined

    const all = () => [
      ...settings.handlers,
      ...global(),
      ...client.registered(),
      ...added.registered(),
      // What the main agent adds is for the whole session, so there both are one.
      ...(own === added ? nobody : own.registered()),
    ]
    const barred = (handler: Handler) =>
      spent.has(handler) ? "it was to run once, and has" : settings.barred(handler.origin)
    /** Asked before every call of a tool: as long as nothing has changed, it compares and allocates nothing. */
    const index = (): HookIndex.HookIndex => {
      if (
        made?.settings === settings &&
        made.global === global() &&
        made.client === client.registered() &&
        made.added === added.registered() &&
        made.own === own.registered() &&
        made.spent === spent.size
      ) {
        return made.index
      }
      made = {
        settings,
        global: global(),
        client: client.registered(),
        added: added.registered(),
        own: own.registered(),
        spent: spent.size,
        index: HookIndex.make(all().filter((handler) => barred(handler) === undefined)),
      }
      return made.index
    }
    const known = () => ({ handlers: all(), refused: settings.refused, barred })

    const later = (reply: Reply) => {
      const { action } = reply.handler
      const { ending, name, output } = reply
      const { additionalContext } = output.specific
      if (
        action.type === "command" &&
        action.asyncRewake === true &&
        ending._tag === "Exited" &&
        ending.exitCode === 2
      ) {
        const said = ending.stderr.trim() || ending.stdout.trim()
        return Queue.offer(wakes, `${name} hook, in the background: ${said}`)
      }
      return Effect.sync(() => {
        if (additionalContext !== undefined) background.push(`${name} hook additional context: ${additionalContext}`)
        const heard = isAsync(reply.handler) || specOf(reply.handler.event).systemMessage === "model"
        if (heard && output.systemMessage !== undefined) background.push(`${name} hook says: ${output.systemMessage}`)
      })
    }

    const fire = Effect.fnUntraced(function* <E extends HookEventName>(
      event: E,
      fields: InputOf<E>,
      about: About = {},
    ) {
      const subject = subjectOf(event, fields)
      const meant = index().meant(event, subject)
      if (meant.length === 0) return Verdict.nothing
      const call = about.call ?? callOf(fields)
      const chosen = HookIndex.distinct(
        meant.filter(({ condition }) => condition === undefined || call === undefined || condition.holds(call)),
      )
      if (chosen.length === 0) return Verdict.nothing
      for (const handler of chosen) if (isOnce(handler)) spent.add(handler)
      if (event === "CwdChanged") memory.moved()
      const occurrence = { event, fields, subject, toolUseId: about.toolUseId, agent, http: settings.http }
      const run = yield* prepare(occurrence, chosen)
      const waits = (handler: Handler) => specOf(event).background !== true && !isAsync(handler)
      for (const handler of chosen.filter((one) => !waits(one))) {
        yield* run(handler).pipe(
          Effect.flatMap((reply) => Effect.andThen(troubled(reply), later(reply))),
          Effect.forkIn(scope, { startImmediately: true }),
        )
      }
      const replies = yield* Effect.forEach(chosen.filter(waits), run, { concurrency: "unbounded" })
      const verdict = Verdict.aggregate(event, replies)
      for (const reply of replies) yield* troubled(reply)
      for (const message of verdict.messages) yield* say("warning", message)
      const rewriters = replies.filter(({ output }) => output.specific.updatedInput !== undefined)
      if (rewriters.length > 1) {
        yield* say("info", `Several ${event} hooks give other arguments; those of the highest scope count.`)
      }
      if (verdict.stop !== undefined) stop.now = verdict.stop
      // What only looks is not told to the judge, so a note about it would hang in the air.
      if (verdict.classifierContext !== undefined && call?.readOnly !== true) {
        notes.push(`${String(subject)}: ${verdict.classifierContext.text}`)
        if (notes.length > mostNotes) notes.shift()
      }
      const { watchPaths } = verdict
      // Names are looked for in the directory that the shell is in now.
      if (event === "CwdChanged") yield* SubscriptionRef.update(watched, (same) => ({ ...same }))
      if (watchPaths !== undefined)
        yield* SubscriptionRef.update(watched, ({ names }) => ({ names, paths: watchPaths }))
      return verdict
    })

    return {
      concerns: (event, subject) => index().meant(event, subject).length > 0,
      fire,
      on: client.on,
      register: Effect.fnUntraced(function* (hooks, origin) {
        const found = HookConfig.read(hooks, origin, place)
        yield* own.add(found.handlers)
        if (found.handlers.some(({ event }) => event === "FileChanged")) yield* watchNames
        return found.problems.map(HookConfig.render)
      }),
      renew: (layers) =>
        Effect.suspend(() => {
          settings = HookSettings.read(layers, place)
          return Effect.andThen(watchNames, misread)
        }),
      forAgent: (facts) => view(facts),
      list: () => HookIndex.list(known()),
      explain: (event, subject, call) => HookIndex.explain(known(), event, subject, call),
      wakes: Stream.fromQueue(wakes),
      takeContext: Effect.sync(() => {
        const said = background
        background = []
        return said
      }),
      notes: () => notes,
      takeStop: Effect.sync(() => {
        const now = stop.now
        stop.now = undefined
        return now
      }),
      watched: SubscriptionRef.changes(watched),
      shellPreamble: memory.preamble,
    }
  }

  const watchNames = Effect.suspend(() => {
    const all = [...settings.handlers, ...global(), ...client.registered(), ...added.registered()]
    const names = all.flatMap(({ event, matcher }) => (event === "FileChanged" ? watchedNames(matcher) : []))
    return SubscriptionRef.update(watched, ({ paths }) => ({ names: [...new Set(names)], paths }))
  })

  yield* watchNames
  yield* misread
  return view(undefined)
})

const mostNotes = 20

type Handlers = ReadonlyArray<Handler>
const nobody: Handlers = []

/** An index, and what it was made of. */
interface Made {
  readonly settings: HookSettings.HookSettings
  readonly global: Handlers
  readonly client: Handlers
  readonly added: Handlers
  readonly own: Handlers
  readonly spent: number
  readonly index: HookIndex.HookIndex
}

const isAsync = ({ action }: Handler): boolean =>
  action.type === "command" && (action.async === true || action.asyncRewake === true)

/** Only a skill's hooks can be for once. */
const isOnce = ({ action, origin }: Handler): boolean =>
  origin.scope === "skill" && action.type !== "function" && action.once === true

/** Where nobody has looked at the call: by its name and arguments alone. */
const callOf = (fields: object): Call | undefined => {
  const tool: unknown = Reflect.get(fields, "tool_name")
  if (typeof tool !== "string") return undefined
  return { tool, input: Reflect.get(fields, "tool_input"), readOnly: false, touches: [] }
}
