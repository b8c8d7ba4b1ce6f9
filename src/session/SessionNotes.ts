/** Owns what people call a session and sort it by: its title and tags, of one that is open or that nobody uses. */
import * as Effect from "effect/Effect"
import type { DurableEvent } from "../protocol/Event.ts"
import * as History from "./History.ts"
import * as Journal from "./Journal.ts"
import * as Sessions from "./Sessions.ts"
import * as Transcript from "./Transcript.ts"

const longestTitle = 200
const longestTag = 50
const mostTags = 20

/** Characters without a picture become spaces; too much is cut. Empty where nothing is left. */
const tidy = (text: string, longest: number): string =>
  [...text.replace(/[\p{C}\p{Z}\s]+/gu, " ").trim()].slice(0, longest).join("").trim()

export const titleOf = (text: string): string => tidy(text, longestTitle)

/** Each once, without the mark that people put before them. */
export const tagsOf = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(words.flatMap((word) => word.split(",")).map((word) => tidy(word.trim().replace(/^#+/, ""), longestTag)))]
    .filter((tag) => tag !== "")
    .slice(0, mostTags)

export const titled = (title: string, by: string): DurableEvent => ({
  _tag: "SessionTitled",
  title: titleOf(title),
  by,
})
export const tagged = (tags: ReadonlyArray<string>, by: string): DurableEvent => ({
  _tag: "SessionTagged",
  tags: tagsOf(tags),
  by,
})

/** Notes it in a session that is not open here. A transcript of another program is taken over first. */
export const note = Effect.fnUntraced(function* (
  found: Sessions.Located,
  eventOf: (now: { readonly title: string | undefined; readonly tags: ReadonlyArray<string> }) => DurableEvent,
  version: string,
) {
  yield* Sessions.adopt(found)
  const journal = yield* Journal.open(found.sessionId)
  const records = journal.records.filter(({ agent }) => agent === "main")
  const history = History.fold(records)
  const event = eventOf({ title: history.title, tags: history.tags })
  const record = yield* journal.append("main", event)
  const { cwd } = history
  if (cwd === undefined) return event
  const transcript = yield* Transcript.open({ sessionId: found.sessionId, cwd, version, records })
  yield* transcript.write(record)
  return event
}, Effect.scoped)
