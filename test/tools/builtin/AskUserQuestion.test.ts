import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Person } from "../../../src/permissions/Permissions.ts"
import {
  answerOf,
  AskUserQuestion,
  questionsOf,
  questionText,
  withAnswers,
} from "../../../src/tools/builtin/AskUserQuestion.ts"
import { call, inWorkspace, refusal } from "./kit.ts"

const question = {
  question: "Which one?",
  header: "Choice",
  options: [
    { label: "First", description: "the first" },
    { label: "Second", description: "" },
  ],
}
const several = { ...question, question: "Which ones?", multiSelect: true }

describe("AskUserQuestion", () => {
  it.live("tells the model what the person answered", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const answers = { "Which one?": "First", "Which ones?": "First, mine" }
        const annotations = { "Which one?": { notes: "quickly" } }
        const output = yield* call(AskUserQuestion, { questions: [question, several], answers, annotations })
        assert.strictEqual(
          output.content,
          'User has answered your questions: "Which one?"="First" user notes: quickly, "Which ones?"="First, mine". Go on as the answers say.',
        )
        assert.deepStrictEqual(output.structured, { questions: [question, several], answers, annotations })
        const some = yield* call(
          AskUserQuestion,
          withAnswers(questionsOf({ questions: [question, several] }), { "Which one?": "x" }),
        )
        assert.match(String(some.content), /"Which one\?"="x"\. The other questions were left open/)
      }),
    ),
  )

  it.live("must be answered by a person, and the model is not shown how", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        assert.match(yield* refusal(AskUserQuestion, { questions: [question] }), /did not answer/)
        assert.match(
          yield* refusal(AskUserQuestion, { questions: [question], answers: { "Which one?": " " } }),
          /did not answer/,
        )
        const opinion = yield* (yield* AskUserQuestion.decode({ questions: [question] })).opinion
        assert.deepInclude(opinion, { behavior: "ask", always: true })
        assert.deepStrictEqual(Object.keys(AskUserQuestion.inputSchema["properties"] ?? {}), ["questions"])
        assert.isFalse(yield* AskUserQuestion.enabled)
        const asked = Effect.provideService(AskUserQuestion.enabled, Person, {
          ask: () => Effect.succeed({ allow: true }),
        })
        assert.isTrue(yield* asked)
      }),
    ),
  )

  it.live("refuses questions that nobody could answer", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const ask = (...questions: ReadonlyArray<object>) => refusal(AskUserQuestion, { questions })
        assert.match(yield* ask(), /questions/)
        assert.match(yield* ask(...Array.from({ length: 5 }, () => question)), /questions/)
        assert.match(yield* ask({ ...question, options: question.options.slice(1) }), /options/)
        assert.match(
          yield* ask({ ...question, options: [question.options[0], question.options[0]] }),
          /same option is there twice/,
        )
        assert.match(yield* ask(question, question), /same question is there twice/)
        assert.match(yield* ask({ ...question, header: "h".repeat(40) }), /too long/)
      }),
    ),
  )

  it("shows a question on a terminal and understands what is typed", () => {
    assert.strictEqual(
      questionText(question),
      "[Choice] Which one?\n  1. First — the first\n  2. Second\nA number, or an answer in your own words:",
    )
    assert.match(questionText(several), /Numbers separated by commas/)
    assert.strictEqual(answerOf(question, " 2 "), "Second")
    assert.strictEqual(answerOf(question, "first"), "First")
    assert.strictEqual(answerOf(question, "neither, do 3"), "neither, do 3")
    assert.strictEqual(answerOf(question, "3"), undefined)
    assert.strictEqual(answerOf(question, ""), undefined)
    assert.strictEqual(answerOf(several, "2, 1,2"), "Second, First")
    assert.strictEqual(answerOf(several, "1 5"), undefined)
    assert.deepStrictEqual(questionsOf({ command: "ls" }), [])
  })
})
