/**
 * Owns questions to the person: up to four, with answers to choose from. The answers come back from whoever is asked for permission,
 * as a part of the arguments that the model never sees (`answers`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Person } from "../../permissions/Permissions.ts"
import * as Tool from "../Tool.ts"
import { failure, type Services } from "./Source.ts"

const Choice = Schema.Struct({
  label: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "1 to 5 words" }),
  description: Schema.String.annotate({ description: "What choosing it means" }),
  preview: Schema.optionalKey(Schema.String.annotate({ description: "Code or a sketch to compare" })),
})
const Question = Schema.Struct({
  question: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "A whole question" }),
  header: Schema.String.annotate({ description: "Label of at most 12 characters" }),
  options: Schema.Array(Choice).check(Schema.isMinLength(2), Schema.isMaxLength(4)),
  multiSelect: Schema.optionalKey(Schema.Boolean.annotate({ description: "Several answers may be chosen" })),
})
export type Question = typeof Question.Type
/** What a person adds is let through, and not shown to the model. */
const Input = Schema.StructWithRest(
  Schema.Struct({ questions: Schema.Array(Question).check(Schema.isMinLength(1), Schema.isMaxLength(4)) }),
  [Schema.Record(Schema.String, Schema.Unknown)],
)
type Input = typeof Input.Type

const Answers = Schema.Record(Schema.String, Schema.String)
const Annotations = Schema.Record(
  Schema.String,
  Schema.Struct({ preview: Schema.optionalKey(Schema.String), notes: Schema.optionalKey(Schema.String) }),
)
const Answered = Schema.Struct({ answers: Answers, annotations: Schema.optionalKey(Annotations) })
const decodeAnswers = Schema.decodeUnknownOption(Answered)

const Output = Schema.Struct({
  questions: Schema.Array(Question),
  answers: Answers,
  annotations: Schema.optionalKey(Annotations),
})
type Output = typeof Output.Type

const description = `Asks the user multiple-choice questions when only they can decide: a choice between approaches, something unclear in the task.
- The user can always answer in words of their own; do not offer "Other". Put what you recommend first and say so in its label.
- Do not ask whether a plan is good (ExitPlanMode does), nor what you can find out yourself.`

export const AskUserQuestion = Tool.make<Input, Services, Output>({
  name: "AskUserQuestion",
  description,
  input: Input,
  output: Output,
  readOnly: true,
  maxResultChars: 100_000,
  enabled: Effect.map(Person, (person) => person !== undefined),
  opinion: () => Effect.succeed({ behavior: "ask", reason: "the question is for you", always: true }),
  summary: (input) => input.questions.map(({ question }) => question).join(" "),
  validate: (input) => {
    const problem =
      input.questions.map(flaw).find((found) => found !== undefined) ??
      twice(
        input.questions.map(({ question }) => question),
        "question",
      )
    return problem === undefined ? Effect.void : Effect.fail(failure(problem))
  },
  show: {
    result: ({ answers }) =>
      Object.entries(answers)
        .map(([question, answer]) => `${question} → ${answer}`)
        .join("\n"),
  },
  run: Effect.fnUntraced(function* (input) {
    const { questions } = input
    const said = Option.getOrUndefined(decodeAnswers(input))
    const answered = questions.filter(({ question }) => (said?.answers[question] ?? "").trim() !== "")
    if (said === undefined || answered.length === 0) {
      return yield* failure(
        "The user did not answer: nobody was there, or the question was passed over. Go on with your best judgement, and say what you assumed.",
      )
    }
    const { answers, annotations } = said
    const one = ({ question }: Question) => {
      const notes = annotations?.[question]?.notes
      return `"${question}"="${answers[question]}"${notes === undefined || notes === "" ? "" : ` user notes: ${notes}`}`
    }
    const open = questions.length > answered.length ? " The other questions were left open." : ""
    return {
      content: `User has answered your questions: ${answered.map(one).join(", ")}.${open} Go on as the answers say.`,
      structured: { questions, answers, ...(annotations !== undefined && { annotations }) },
    }
  }),
})

const twice = (words: ReadonlyArray<string>, what: string): string | undefined => {
  const double = words.find((word, index) => words.indexOf(word) !== index)
  return double === undefined
    ? undefined
    : `The same ${what} is there twice: ${JSON.stringify(double)}. Make each one different.`
}

const flaw = ({ header, options }: Question): string | undefined =>
  header.length > 30
    ? `The header ${JSON.stringify(header)} is too long; use at most 12 characters.`
    : twice(
        options.map(({ label }) => label),
        "option",
      )

/** A question as text for a terminal: its choices numbered from 1, the last for words of one's own. */
export const questionText = ({ header, question, options, multiSelect }: Question): string =>
  [
    `[${header}] ${question}`,
    ...options.map(
      ({ label, description: what }, index) => `  ${index + 1}. ${label}${what === "" ? "" : ` — ${what}`}`,
    ),
    multiSelect === true
      ? "Numbers separated by commas, or an answer in your own words:"
      : "A number, or an answer in your own words:",
  ].join("\n")

/** What a typed line means: the chosen labels, or the words themselves. `undefined` where it says nothing. */
export const answerOf = ({ options, multiSelect }: Question, typed: string): string | undefined => {
  const words = typed.trim()
  if (words === "") return undefined
  const byLabel = options.find(({ label }) => label.toLowerCase() === words.toLowerCase())
  if (byLabel !== undefined) return byLabel.label
  const parts = multiSelect === true ? words.split(/[\s,]+/).filter((part) => part !== "") : [words]
  const chosen = parts.map((part) => (/^\d+$/.test(part) ? options[Number(part) - 1]?.label : undefined))
  if (chosen.every((label) => label !== undefined)) return [...new Set(chosen)].join(", ")
  // A number that names nothing is a slip, not an answer.
  return /^[\d\s,]+$/.test(words) ? undefined : words
}

/** The questions of a call, for whoever shows them; nothing where the arguments are of another tool. */
export const questionsOf = (input: unknown): ReadonlyArray<Question> =>
  Option.match(Schema.decodeUnknownOption(Input)(input), { onNone: () => [], onSome: ({ questions }) => questions })

/** The arguments with the answers in them: what a person gives back as `updatedInput`. */
export const withAnswers = (questions: ReadonlyArray<Question>, answers: Readonly<Record<string, string>>) => ({
  questions,
  answers,
})
