/** Owns what people call a session: its id, the beginning of its id, or its title, where only one is meant. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { nearest } from "../platform/Near.ts"
import type { SessionSummary } from "./SessionIndex.ts"

const Choice = Schema.Struct({ sessionId: Schema.String, title: Schema.String })
type Choice = typeof Choice.Type

const listed = (choices: ReadonlyArray<Choice>): string =>
  choices.map(({ sessionId, title }) => `\n  ${sessionId.slice(0, 8)}  ${title}`).join("")

/** Nobody knows which session is meant. */
export class SessionUnknown extends Schema.TaggedError<SessionUnknown>()("SessionUnknown", {
  reference: Schema.String,
  /** Several are meant; else a few that might have been. */
  isAmbiguous: Schema.Boolean,
  choices: Schema.Array(Choice),
}) {
  override get message(): string {
    const { choices, isAmbiguous, reference } = this
    if (isAmbiguous) return `"${reference}" is more than one session; give more of the id:${listed(choices)}`
    const hint = choices.length === 0 ? "" : ` The last ones here:${listed(choices)}`
    return `There is no session "${reference}": give an id, the beginning of one, or a title. See them all with troupe sessions list --all.${hint}`
  }
}

/** Shorter beginnings of an id are too often a slip. */
const shortest = 4
const shown = 5

/** The session that is meant. Exact matches come before beginnings, ids before titles. */
export const resolve = (
  reference: string,
  all: ReadonlyArray<SessionSummary>,
): Result.Result<SessionSummary, SessionUnknown> => {
  const wanted = reference.trim().toLowerCase()
  const ways: ReadonlyArray<(one: SessionSummary) => boolean> = [
    ({ sessionId }) => sessionId.toLowerCase() === wanted,
    ({ isNamed, title }) => isNamed && title.toLowerCase() === wanted,
    ({ title }) => title.toLowerCase() === wanted,
    ({ sessionId }) => wanted.length >= shortest && sessionId.toLowerCase().startsWith(wanted),
    ({ isNamed, title }) => wanted !== "" && isNamed && title.toLowerCase().startsWith(wanted),
  ]
  for (const way of ways) {
    const found = all.filter(way)
    const [only] = found
    if (only === undefined) continue
    if (found.length === 1) return Result.succeed(only)
    return Result.fail(new SessionUnknown({ reference, isAmbiguous: true, choices: found.slice(0, 2 * shown) }))
  }
  const near = nearest(
    wanted,
    all.filter(({ isNamed }) => isNamed).map(({ title }) => title),
  )
  const choices = near === undefined ? all.slice(0, shown) : all.filter(({ title }) => title === near)
  return Result.fail(new SessionUnknown({ reference, isAmbiguous: false, choices }))
}
