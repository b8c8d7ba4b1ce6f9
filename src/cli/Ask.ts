/** Owns the question whether a call may run, put to a person at the terminal. */
import * as Effect from "effect/Effect"
import type { Ask, Person } from "../permissions/Permissions.ts"
import * as AskView from "./AskView.ts"
import type { LineReader } from "./LineReader.ts"
import { visible } from "./Reveal.ts"
import type { ViewLine } from "./ToolView.ts"

export interface Asking {
  readonly reader: LineReader
  /** Shows lines above the question. */
  readonly show: (lines: ReadonlyArray<ViewLine>) => Effect.Effect<void>
  readonly columns: () => number
  /** One question at a time, and nothing else on the screen meanwhile. */
  readonly alone: <A>(effect: Effect.Effect<A>) => Effect.Effect<A>
  /** Ctrl-C at the question: the turn is to end. */
  readonly interrupt: Effect.Effect<void>
}

export type Answer = "yes" | "no" | "always" | "view"

export const readAnswer = (text: string): Answer | undefined => {
  switch (text.trim().toLowerCase()) {
    case "y":
    case "yes":
      return "yes"
    case "n":
    case "no":
    case "":
      return "no"
    case "a":
    case "always":
      return "always"
    case "v":
    case "view":
      return "view"
    default:
      return undefined
  }
}

/** What "always" covers: this very command, or this tool within the workspace. */
const coverage = (ask: Ask): string | undefined => {
  if (ask.outside.length > 0 || ask.sensitive.length > 0) return undefined
  return ask.executes === undefined ? ask.tool : `${ask.tool} ${ask.executes}`
}

/** A person at this terminal. Answers of "always" last as long as the session. */
export const person = ({ reader, show, columns, alone, interrupt }: Asking): Person => {
  const always = new Set<string>()
  const put = Effect.fnUntraced(function* (ask: Ask) {
    const covered = coverage(ask)
    if (covered !== undefined && always.has(covered)) return { allow: true, reason: "allowed for this session" }
    const { lines, cut } = AskView.question(ask, columns())
    yield* show(lines)
    const scope = ask.executes === undefined ? visible(ask.tool, true) : "this command"
    const choices = [
      "[y]es / [N]o",
      ...(covered === undefined ? [] : [`[a]lways ${scope} in this session`]),
      ...(cut ? ["[v]iew all"] : []),
    ]
    while (true) {
      const read = yield* reader.read(`  ${choices.join(" / ")} `, { fresh: true })
      if (read._tag !== "Line") {
        yield* interrupt
        return { allow: false, reason: "the person interrupted instead of answering" }
      }
      const answer = readAnswer(read.text)
      if (answer === "no") return { allow: false, reason: "the person declined" }
      if (answer === "yes") return { allow: true, reason: "the person approved it" }
      if (answer === "always" && covered !== undefined) {
        always.add(covered)
        return { allow: true, reason: "the person approved it for this session" }
      }
      if (answer === "view" && cut) yield* show(AskView.question(ask, columns(), true).lines)
    }
  })
  return { ask: (ask) => alone(put(ask)) }
}
