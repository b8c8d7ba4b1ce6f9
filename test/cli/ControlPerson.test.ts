import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ControlChannel from "../../src/cli/ControlChannel.ts"
import { person } from "../../src/cli/ControlPerson.ts"
import type { Question } from "../../src/permissions/Permissions.ts"
import * as Stage from "./stage.ts"

const ask: Question = {
  toolUseId: "t1",
  tool: "Write",
  input: { file_path: "/elsewhere/a", content: "x" },
  summary: "Write /elsewhere/a",
  readOnly: false,
  reads: [],
  writes: ["/elsewhere/a"],
  executes: undefined,
  outside: ["/elsewhere/a"],
  sensitive: [],
  call: { tool: "Write", input: {}, readOnly: false, touches: [] },
  why: "it writes outside the workspace",
  suggestions: [
    { rule: "Write", covers: "", lasts: "session" },
    { rule: "Bash(npm test *)", covers: "", lasts: "project" },
  ],
}

const addRules = (destination: string, ...rules: ReadonlyArray<object>) => ({
  type: "addRules",
  behavior: "allow",
  rules,
  destination,
})

/** A person whose client answers every question with this. */
const answering = Effect.fnUntraced(function* (response: object) {
  const stage = yield* Stage.make(Stage.endless)
  const agent = yield* stage.agents.open()
  const sent: Array<Record<string, unknown>> = []
  const notes: Array<string> = []
  const channel: ControlChannel.ControlChannel = ControlChannel.make((line) => {
    const { request_id, request } = JSON.parse(line)
    sent.push(request)
    return channel.receive({ type: "control_response", response: { request_id, ...success(response) } })
  })
  const note = (text: string) => Effect.sync(() => void notes.push(text))
  return { ...stage, sent, notes, said: yield* person({ channel, agent: () => agent, note }).ask(ask) }
})

const success = (response: object) => ({ subtype: "success" as const, response })

describe("the person behind a client", () => {
  it.effect("is shown the call, and why it is asked", () =>
    Effect.gen(function* () {
      const { sent, said } = yield* answering({ behavior: "allow" })
      assert.deepStrictEqual(sent, [
        {
          subtype: "can_use_tool",
          tool_name: "Write",
          input: ask.input,
          tool_use_id: "t1",
          permission_suggestions: [
            addRules("session", { toolName: "Write" }),
            addRules("localSettings", { toolName: "Bash", ruleContent: "npm test *" }),
          ],
          description: "Write /elsewhere/a",
          decision_reason: "it writes outside the workspace",
          blocked_path: "/elsewhere/a",
        },
      ])
      assert.deepStrictEqual<unknown>(said, { allow: true, reason: "the client approved it" })
    }),
  )

  it.effect("changes the arguments only if they differ", () =>
    Effect.gen(function* () {
      assert.notProperty((yield* answering({ behavior: "allow", updatedInput: ask.input })).said, "updatedInput")
      assert.notProperty((yield* answering({ behavior: "allow", updatedInput: null })).said, "updatedInput")
      const updatedInput = { file_path: "b" }
      const { said } = yield* answering({ behavior: "allow", updatedInput })
      assert.deepInclude(said, { allow: true, updatedInput })
    }),
  )

  it.effect("denies in their own words, and ends the turn if they want that", () =>
    Effect.gen(function* () {
      const mild = yield* answering({ behavior: "deny", message: "no" })
      assert.deepStrictEqual<unknown>(mild.said, { allow: false, reason: "no" })
      assert.deepStrictEqual(mild.log, [])
      const strict = yield* answering({ behavior: "deny", message: "no", interrupt: true })
      assert.deepStrictEqual(strict.log, ["interrupt"])
    }),
  )

  it.effect(
    "may change the mode, and what need not be asked again; of other changes it is said that they do nothing",
    () =>
      Effect.gen(function* () {
        const setMode = { type: "setMode", mode: "acceptEdits", destination: "session" }
        const rules = [addRules("localSettings", { toolName: "Bash", ruleContent: "npm test *" }, { toolName: "Read" })]
        const changes = { behavior: "allow", updatedPermissions: [setMode, ...rules] }
        const { controls, notes, said } = yield* answering(changes)
        assert.strictEqual(controls.permissionMode, "acceptEdits")
        assert.deepStrictEqual<unknown>(said.grant, { rules: ["Bash(npm test *)", "Read"], destination: "local" })
        assert.deepStrictEqual(notes, [])
        const several = [...rules, addRules("userSettings", { toolName: "Glob" })]
        const mixed = yield* answering({ behavior: "allow", updatedPermissions: several })
        assert.propertyVal(mixed.said.grant, "destination", "session")
        const other = { type: "addDirectories", directories: ["/"], destination: "session" }
        const unknown = yield* answering({ behavior: "allow", updatedPermissions: [other] })
        assert.match(unknown.notes.join("\n"), /updatedPermissions.*no effect yet/)
        assert.notProperty(unknown.said, "grant")
      }),
  )

  it.effect("who gives no sensible answer has not allowed anything", () =>
    Effect.gen(function* () {
      for (const response of [{}, { behavior: "allow", updatedInput: "rm -rf" }, { behavior: "yes" }]) {
        const { said } = yield* answering(response)
        assert.isFalse(said.allow)
        assert.match(said.reason ?? "", /not valid/)
      }
    }),
  )
})
