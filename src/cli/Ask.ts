/** Owns the question whether a call may run, put to a person at the terminal. */
import * as Effect from "effect/Effect"
import type { Ask, Person } from "../permissions/Permissions.ts"
import type { LineReader } from "./LineReader.ts"
import { oneLine, plain } from "./Plain.ts"
import type { ViewLine } from "./ToolView.ts"

export interface Asking {
  readonly reader: LineReader
  /** Shows lines above the question. */
  readonly show: (lines: ReadonlyArray<ViewLine>) => Effect.Effect<void>
  /** One question at a time, and nothing else on the screen meanwhile. */
  readonly alone: <A>(effect: Effect.Effect<A>) => Effect.Effect<A>
  /** Ctrl-C at the question: the turn is to end. */
  readonly interrupt: Effect.Effect<void>
}

const mostLines = 20

/** What a person must know to decide: the call in full, and what it touches beyond the workspace. */
export const question = (ask: Ask): ReadonlyArray<ViewLine> => {
  const detail = ask.executes === undefined ? [] : plain(ask.executes).split("\n")
  const shown = detail.slice(0, mostLines).map((text): ViewLine => ({ tone: "normal", text: `    ${text}` }))
  const hidden = detail.length - shown.length
  const warn = (text: string): ViewLine => ({ tone: "warning", text: `    ${text}` })
  return [
    { tone: "warning", text: `? ${oneLine(ask.executes === undefined ? ask.summary : ask.tool)}` },
    ...shown,
    ...(hidden > 0 ? [warn(`… ${hidden} more lines`)] : []),
    ...ask.outside.map((path) => warn(`outside the workspace: ${oneLine(path)}`)),
    ...ask.sensitive.map((path) => warn(`changes how tools behave: ${oneLine(path)}`)),
  ]
}

export type Answer = "yes" | "no" | "always"

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
export const person = ({ reader, show, alone, interrupt }: Asking): Person => {
  const always = new Set<string>()
  const put = Effect.fnUntraced(function* (ask: Ask) {
    const covered = coverage(ask)
    if (covered !== undefined && always.has(covered)) return { allow: true, reason: "allowed for this session" }
    yield* show(question(ask))
    const scope = ask.executes === undefined ? ask.tool : "this command"
    const choices = covered === undefined ? "[y]es / [N]o" : `[y]es / [N]o / [a]lways ${scope} in this session`
    while (true) {
      const read = yield* reader.read(`  ${choices} `)
      if (read._tag !== "Line") {
        yield* interrupt
        return { allow: false, reason: "the person interrupted instead of answering" }
      }
      const answer = readAnswer(read.text)
      if (answer === undefined || (answer === "always" && covered === undefined)) continue
      if (answer === "no") return { allow: false, reason: "the person declined" }
      if (answer === "always" && covered !== undefined) always.add(covered)
      return {
        allow: true,
        reason: answer === "yes" ? "the person approved it" : "the person approved it for this session",
      }
    }
  })
  return { ask: (ask) => alone(put(ask)) }
}
