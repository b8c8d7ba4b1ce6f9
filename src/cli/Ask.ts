/** Owns the question whether a call may run, put to a person at the terminal. */
import * as Effect from "effect/Effect"
import type { Person, PersonAnswer, Question } from "../permissions/Permissions.ts"
import * as AskUserQuestion from "../tools/builtin/AskUserQuestion.ts"
import * as AskView from "./AskView.ts"
import type { LineReader } from "./LineReader.ts"
import { visible } from "./Reveal.ts"
import type { ViewLine } from "./ToolView.ts"

type Asked = AskUserQuestion.Question

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

export type Answer =
  | { readonly _tag: "Yes" | "View" }
  | { readonly _tag: "Keep"; readonly where: "session" | "project" }
  | { readonly _tag: "No"; readonly reason: string | undefined }

/** `n` may be followed by what the model should do instead. */
export const readAnswer = (text: string): Answer | undefined => {
  const [, word = "", rest = ""] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(text) ?? []
  const refusal = ["n", "no", ""].includes(word.toLowerCase().replace(/,$/, ""))
  if (refusal) return { _tag: "No", reason: rest === "" ? undefined : rest }
  if (rest !== "") return undefined
  switch (word.toLowerCase()) {
    case "y":
    case "yes":
      return { _tag: "Yes" }
    case "s":
    case "session":
      return { _tag: "Keep", where: "session" }
    case "p":
    case "project":
      return { _tag: "Keep", where: "project" }
    case "v":
    case "view":
      return { _tag: "View" }
    default:
      return undefined
  }
}

const explanation = (session: boolean, project: boolean): ReadonlyArray<ViewLine> =>
  [
    "y runs it once; n does not, and words behind it tell the model what to do instead.",
    ...(session ? ["s also allows what the rule above covers until this session ends."] : []),
    ...(project ? ["p also keeps that rule in .claude/settings.local.json."] : []),
  ].map((text) => ({ tone: "quiet", text: `  ${text}` }))

/** A person at this terminal. */
export const person = ({ reader, show, columns, alone, interrupt }: Asking): Person => {
  const abandoned = Effect.gen(function* (): Effect.fn.Return<PersonAnswer> {
    yield* interrupt
    return { allow: false, reason: "the person interrupted instead of answering" }
  })

  /** Questions of the model itself: the answers go back with the call. An empty line leaves one open. */
  const answered = Effect.fnUntraced(function* (questions: ReadonlyArray<Asked>): Effect.fn.Return<PersonAnswer> {
    const answers: Record<string, string> = {}
    for (const one of questions) {
      const lines = AskUserQuestion.questionText(one).split("\n")
      yield* show(lines.map((text) => ({ tone: "warning", text: visible(`  ${text}`) })))
      while (true) {
        const read = yield* reader.read("  > ", { fresh: true })
        if (read._tag !== "Line") return yield* abandoned
        const answer = AskUserQuestion.answerOf(one, read.text)
        if (answer !== undefined) answers[one.question] = answer
        if (answer !== undefined || read.text.trim() === "") break
      }
    }
    const updatedInput = AskUserQuestion.withAnswers(questions, answers)
    return { allow: true, reason: "the person answered", updatedInput }
  })

  const put = Effect.fnUntraced(function* (question: Question): Effect.fn.Return<PersonAnswer> {
    if (question.tool === AskUserQuestion.AskUserQuestion.name) {
      return yield* answered(AskUserQuestion.questionsOf(question.input))
    }
    const { lines, cut } = AskView.question(question, columns())
    yield* show(lines)
    const { suggestions } = question
    const lasting = suggestions.length > 0 && suggestions.every(({ lasts }) => lasts === "project")
    const choices = [
      "[y]es",
      ...(suggestions.length === 0 ? [] : ["[s]ession"]),
      ...(lasting ? ["[p]roject"] : []),
      "[N]o (and what instead)",
      ...(cut ? ["[v]iew all"] : []),
    ]
    const rules = suggestions.map(({ rule }) => rule)
    while (true) {
      const read = yield* reader.read(`  ${choices.join(" / ")} `, { fresh: true })
      if (read._tag !== "Line") return yield* abandoned
      const answer = readAnswer(read.text)
      if (answer?._tag === "No") {
        return {
          allow: false,
          reason: answer.reason === undefined ? "the person declined" : `the person says: ${answer.reason}`,
        }
      }
      if (answer?._tag === "Yes") return { allow: true, reason: "the person approved it" }
      if (answer?._tag === "Keep" && answer.where === "session" && rules.length > 0) {
        const grant = { rules, destination: "session" } as const
        return { allow: true, reason: "the person approved it for this session", grant }
      }
      if (answer?._tag === "Keep" && answer.where === "project" && lasting) {
        const grant = { rules, destination: "local" } as const
        return { allow: true, reason: "the person approved it for this project", grant }
      }
      if (answer?._tag === "View" && cut) yield* show(AskView.question(question, columns(), true).lines)
      else yield* show(explanation(rules.length > 0, lasting))
    }
  })
  return { ask: (question) => alone(put(question)) }
}
