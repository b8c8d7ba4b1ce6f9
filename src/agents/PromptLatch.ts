/**
 * Owns what every request of a session begins with: settled when the session is opened, and the same bytes ever after, so that a
 * resumed or copied session finds what the service has cached. What has changed meanwhile is said at the end instead.
 */
import * as Effect from "effect/Effect"
import { unwrapped } from "../protocol/Reminder.ts"
import type { Latched } from "../session/About.ts"
import { movedOrigin } from "../session/History.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import { remind } from "./Remind.ts"

/** What is said of news, and of a place that is new, by its origin. */
const newsOrigin = "session"

/**
 * Takes over what the session began with, or settles it now. What is different is said once, however often the session is opened; what
 * was different and is again as it was, too.
 */
export const latch = Effect.fnUntraced(function* (recorder: RecorderShape, fresh: Latched, cwd: string) {
  const { latched, told, toldCwd = cwd } = recorder.history
  if (latched === undefined || isAnother(latched, fresh)) {
    yield* recorder.emit({ _tag: "PromptLatched", ...fresh })
    return fresh
  }
  const last = [...told].findLast(([origin]) => origin === newsOrigin || origin === movedOrigin)?.[1]
  const different = newParagraphs(latched, fresh)
  const news = different.length === 0 && last !== undefined ? paragraphs(fresh) : different
  if (toldCwd !== cwd) yield* remind(recorder, movedOrigin, [[moved(toldCwd, cwd), ...news].join("\n\n")])
  else if (news.length > 0 && !(last !== undefined && unwrapped(last).endsWith(`:\n\n${news.join("\n\n")}`))) {
    const said = `Since this session was last open, this has become the case:\n\n${news.join("\n\n")}`
    yield* remind(recorder, newsOrigin, [said])
  }
  return latched
})

/** One message, however much is different there. */
const moved = (from: string, to: string): string =>
  `This session goes on in another directory: ${to}. Until now it was ${from}, and paths said so far that begin with it mean the ` +
  `same place below ${to}, where that exists; files may differ from what you have read, so look before you rely on them. What is true here:`

/** Of the parts behind the boundary, what was not said before. */
const newParagraphs = (latched: Latched, fresh: Latched): ReadonlyArray<string> => {
  const known = new Set(latched.system.flatMap(({ text }) => text.split("\n\n")))
  return paragraphs(fresh).filter((part) => !known.has(part))
}

const paragraphs = ({ system }: Latched): ReadonlyArray<string> =>
  system.slice(1).flatMap(({ text }) => text.split("\n\n"))

/** The part for everyone is another one: somebody wants a different agent, and no cache could serve it. */
const isAnother = (latched: Latched, fresh: Latched): boolean => latched.system[0]?.text !== fresh.system[0]?.text
