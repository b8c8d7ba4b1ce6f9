/** What tests of side work share: a memory directory in memory, and a small model that answers what the test says. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as DailyLog from "../../src/context/DailyLog.ts"
import * as Memory from "../../src/context/Memory.ts"
import type { Rule } from "../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"

export const directory = { path: "/mem", real: "/mem" }

export const at = (iso: string) => TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe(iso)))

export const parts = Effect.all({ memory: Memory.make(directory), log: DailyLog.make(directory) })

export const memoryFile = (name: string, modified: string, body = name): string =>
  `---\nname: ${name}\ndescription: about ${name}\ntype: project\nmodified: ${modified}\n---\n\n${body}\n`

/** What the small model was asked, newest last. */
export const asked = Effect.map(ScriptedModel.requests, (requests) =>
  requests.map(({ body }) => ({ system: JSON.stringify(body.system), prompt: String(body.messages[0]?.content) })),
)

/** A runtime whose model gives this answer: an object as JSON, a text as it is. */
export const answering = (
  answer: object | string | ReadonlyArray<Rule>,
  files: Readonly<Record<string, string>> = {},
) => {
  const rules = isRules(answer)
    ? answer
    : [{ reply: typeof answer === "string" ? answer : JSON.stringify(answer) } satisfies Rule]
  return Effect.provide(TestRuntime.layer({ rules }, { files: { "/mem/.keep": "", ...files } }))
}

const isRules = (answer: object | string | ReadonlyArray<Rule>): answer is ReadonlyArray<Rule> => Array.isArray(answer)
