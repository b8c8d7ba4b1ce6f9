/** Owns the room of a session's conversations: what settings say about it, what goes on beside them, and what a person may ask for. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Compaction from "../context/compaction/Compaction.ts"
import * as SessionState from "../context/compaction/SessionState.ts"
import * as ContextSettings from "../context/ContextSettings.ts"
import type { Files } from "../platform/Files.ts"
import { reminder } from "../protocol/Reminder.ts"
import * as Facts from "../session/Facts.ts"
import type { SkillsShape } from "../skills/Skills.ts"
import { Tasks } from "../tools/Tasks.ts"
import { ToolCatalog } from "../tools/ToolCatalog.ts"
import { Workspace } from "../tools/Workspace.ts"
import { remind } from "./Remind.ts"

export interface Room extends Pick<
  Compaction.Circumstances,
  "agent" | "cwd" | "recorder" | "controls" | "engine" | "system" | "isMain"
> {
  readonly session: Context.Context<Tasks | ToolCatalog | Workspace>
  readonly skills: SkillsShape
}

export const make = Effect.fnUntraced(function* ({ session, skills, ...room }: Room) {
  const { compaction: wishes } = yield* ContextSettings.read
  const catalog = Context.get(session, ToolCatalog)
  const tasks = Context.get(session, Tasks)
  return yield* Compaction.make({
    ...room,
    wishes,
    tools: () => catalog.schemas(),
    directory: Context.get(session, Workspace).spillDir,
    beside: Effect.map(skills.compacted, (surviving) => ({
      skills: surviving,
      tasks: tasks
        .list()
        .filter(({ status }) => status === "running")
        .map(({ command, description, id }) => `- ${id}: ${description ?? command}`),
    })),
  })
})

/** What an earlier life of the session knew: its skills are before the model, and its file may know what its journal has lost. */
export const recall = Effect.fnUntraced(function* (
  { cwd, recorder, skills }: Pick<Room, "cwd" | "recorder" | "skills">,
  isResumed: boolean,
) {
  const { facts, told } = recorder.history
  for (const { name, text } of facts.skills) if (text !== "") yield* skills.remember(name, text)
  if (!isResumed) return
  const saved = yield* SessionState.load(cwd, recorder.sessionId)
  if (saved === undefined) return
  const lost = Facts.newIn(saved.noted, facts.noted)
  const words = `Noted earlier in this session:\n${lost.map((one) => `- ${one}`).join("\n")}`
  if (lost.length > 0 && told.get("facts") !== reminder(words)) yield* remind(recorder, "facts", [words])
})

/** After going back: what the model must know of the place is told again if it was taken back, and the file says no more than is so. */
export const settling = Effect.fnUntraced(function* <E, R>(
  { cwd, recorder }: Pick<Room, "cwd" | "recorder">,
  told: Effect.Effect<unknown, E, R>,
) {
  const services = yield* Effect.context<R | Files | FileSystem.FileSystem | Path.Path>()
  return Effect.suspend(() => SessionState.renew(cwd, recorder.sessionId, recorder.history.facts)).pipe(
    Effect.andThen(told),
    Effect.asVoid,
    Effect.provideContext(services),
  )
})

/** `/compact`, and what the person wants of the summary. */
export const typed = (compaction: Compaction.CompactionShape) => (text: string) => {
  const wish = /^\/compact(?:\s+([^]*))?$/.exec(text.trim())
  if (wish === null) return undefined
  const words = wish[1]?.trim()
  return Effect.map(compaction.sumUp(words === "" ? undefined : words), (outcome) =>
    outcome._tag === "Left"
      ? `The conversation stays as it is: ${outcome.why}.`
      : `The conversation was summed up: about ${outcome.preTokens} tokens before, ${outcome.postTokens} now.`,
  )
}
