/**
 * Owns what a session knows from people's files, and how the model comes to know it: the text it begins with, the listings that are
 * latched, and the feed of what changes or is found on the way.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as ContextSettings from "../context/ContextSettings.ts"
import * as DailyLog from "../context/DailyLog.ts"
import * as Feed from "../context/Feed.ts"
import * as GitText from "../context/GitText.ts"
import { type Fragment, hookFields, render } from "../context/InstructionFragment.ts"
import * as Instructions from "../context/Instructions.ts"
import * as MemoryExtraction from "../context/MemoryExtraction.ts"
import * as MemoryRecall from "../context/MemoryRecall.ts"
import * as SessionText from "../context/SessionText.ts"
import type { HookEngineShape } from "../hooks/HookEngine.ts"
import * as Ids from "../kernel/Ids.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { text } from "../protocol/Content.ts"
import { unwrapped } from "../protocol/Reminder.ts"
import type { JournalError } from "../session/JournalError.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import { Settings } from "../settings/Settings.ts"
import type { Invocation, SkillsShape } from "../skills/Skills.ts"
import type { SkillFork } from "../skills/SkillTool.ts"
import * as AgentListing from "./AgentListing.ts"
import type { DefinitionsShape } from "./Definitions.ts"
import { remind } from "./Remind.ts"
import type { Expansion } from "./SessionMoments.ts"

/** What settings say about the text; git is asked at once, because it takes longer to answer than all the rest. */
export const ahead = Effect.fnUntraced(function* (cwd: string) {
  const settings = yield* ContextSettings.read
  if (!settings.gitInstructions) return { settings }
  const asked = yield* Effect.forkScoped(GitText.state(cwd), { startImmediately: true })
  return { settings, gitState: Fiber.join(asked) }
})

/** The text a session begins with. */
export const begin = Effect.fnUntraced(function* (
  options: Omit<SessionText.SessionTextOptions, "trusted" | "injected">,
  recorder: RecorderShape,
) {
  const trusted = yield* (yield* Settings).trusted
  const injected = Instructions.injectedOf(recorder.history.told.keys())
  const start = yield* SessionText.make({ ...options, trusted, injected })
  const { cwd, addDirs, hides, settings = ContextSettings.none } = options
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof Instructions.make>>>()
  const { stamps } = yield* Files
  const look = Effect.map(stamps(start.instructions.start.map(({ path }) => path)), (found) => JSON.stringify(found))
  let seen = yield* look
  let known = new Map(start.instructions.start.map(({ content, origin }) => [origin, content]))
  /** Files that the session began with and that say something else now. */
  const changed = Effect.gen(function* () {
    const now = yield* look
    if (now === seen) return []
    seen = now
    const again = yield* Instructions.make({ cwd, addDirs, hides, settings, trusted })
    const fresh = again.start.filter(({ content, origin }) => known.get(origin) !== content)
    known = new Map(again.start.map(({ content, origin }) => [origin, content]))
    return fresh
  }).pipe(Effect.provideContext(services))
  return { ...start, changed }
})

/** What a session begins with, and what has changed of it since somebody last asked. */
export type Start = Effect.Success<ReturnType<typeof begin>>

/** The listing of skills as a block of the system text; the model finds the rest with the Skill tool. */
const skillsBlock = (listing: string): ReadonlyArray<string> =>
  listing === "" ? [] : [`Skills you can use with the Skill tool:\n${listing}`]

/** What is latched: the text, and behind it the skills there are. */
export const system = Effect.fnUntraced(function* (start: SessionText.SessionText, skills: SkillsShape) {
  const { text: listing } = yield* skills.listing
  return [...start.system, ...skillsBlock(listing).map(text)]
})

export interface Known {
  readonly recorder: RecorderShape
  readonly engine: HookEngineShape
  readonly start: Start
  readonly skills: SkillsShape
  readonly definitions: DefinitionsShape
  /** What has changed about the tools since this was last asked. */
  readonly toolNews: () => string | undefined
  /** What the description of the Agent tool says. */
  readonly agents: string
  /** A rule forbids an agent of this name. */
  readonly isDenied: (agent: string) => boolean
}

/** Tells the model what it does not know yet, at the moments of a turn. */
export const feed = Effect.fnUntraced(function* (known: Known) {
  const { definitions, engine, recorder, skills, start, toolNews } = known
  const made = Feed.make<JournalError>({
    told: [...recorder.history.told].map(([origin, content]) => ({ origin, content: unwrapped(content) })),
    emit: ({ content, origin }) => remind(recorder, origin, [content]),
  })
  const loaded = (fragment: Fragment) => Effect.asVoid(engine.fire("InstructionsLoaded", hookFields(fragment)))
  yield* Effect.forEach(start.instructions.start, loaded, { discard: true })

  yield* made.register(Instructions.source(start.instructions, loaded))
  yield* made.register(
    Effect.fnUntraced(function* (moment) {
      if (moment.kind === "round") return []
      return (yield* start.changed).map((fragment) => ({
        origin: `changed ${fragment.origin}`,
        content: `A file of instructions has changed, and counts from now on as it is here.\n\n${render(fragment)}`,
      }))
    }),
  )
  yield* made.register(
    Effect.fnUntraced(function* (moment) {
      if (moment.kind === "round") yield* skills.touched(moment.touched)
      const news = yield* skills.announcement
      const changed = news === undefined ? [] : [{ origin: "skills", content: news }]
      if (moment.kind === "round") return changed
      // Whoever types a command has chosen.
      if (moment.text.trimStart().startsWith("/")) return changed
      const { hint } = yield* skills.consider(moment.text)
      return hint === undefined ? changed : [...changed, { origin: "skill hint", content: hint }]
    }),
  )
  yield* made.register(() =>
    Effect.sync(() => {
      const news = toolNews()
      return news === undefined ? [] : [{ origin: "tools", content: news }]
    }),
  )
  let agents = AgentListing.read(known.agents)
  yield* made.register(
    Effect.fnUntraced(function* (moment) {
      if (moment.kind === "round") return []
      const now = AgentListing.listing((yield* definitions.current).active, known.isDenied)
      const news = AgentListing.since(agents, now)
      agents = now
      return news === undefined ? [] : [{ origin: "agents", content: news }]
    }),
  )
  if (start.memory !== undefined) {
    yield* made.register(yield* MemoryRecall.source(start.memory, recorder.history.told.keys()))
    yield* made.register(MemoryRecall.indexSource(start.memory))
  }
  return made
})

/** What is learnt from each turn, where a person is there to come back: a single prompt is over before anything could be. */
export const extraction = Effect.fnUntraced(function* (start: SessionText.SessionText, recorder: RecorderShape) {
  const { isInteractive } = yield* Host
  if (start.memory === undefined || !isInteractive) return Option.none()
  const log = yield* DailyLog.make(start.memory.directory)
  const { turnEnded } = yield* MemoryExtraction.make({ memory: start.memory, log, sessionId: recorder.sessionId })
  return Option.some(turnEnded)
})

/** What a typed `/name` stands for. One with a context of its own is run in it, and stands for what it came to. */
export const expanding =
  (skills: SkillsShape, fork: NonNullable<(typeof SkillFork)["Service"]>) =>
  (typed: string): Effect.Effect<Expansion | undefined> =>
    Effect.map(skills.expandPrompt(typed), (meant): Expansion | undefined => {
      if (meant === undefined || meant._tag === "Refused") return meant
      const { args, skill, use } = meant
      const textOf = Effect.fnUntraced(function* (invocation: Invocation) {
        if (invocation.fork === undefined) return invocation.messages
        const result = yield* fork(invocation, yield* Ids.short("fork"))
        return [`The skill ${invocation.skill.name} was run by an agent of its own and came to this:\n\n${result}`]
      })
      const texts = use.pipe(
        Effect.flatMap((invocations) => Effect.forEach(invocations, textOf)),
        Effect.map((found) => found.flat()),
        Effect.mapError(({ message }) => message),
      )
      return { _tag: "Command", command: skill.name, args, source: skill.source.origin, texts }
    })
