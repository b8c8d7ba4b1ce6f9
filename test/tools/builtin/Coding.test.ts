import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Agents } from "../../../src/agents/Agents.ts"
import { Person } from "../../../src/permissions/Permissions.ts"
import { ScriptedModel } from "../../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../../src/testing/TestRuntime.ts"
import { SandboxedBash } from "../../../src/tools/builtin/Bash.ts"
import { coding } from "../../../src/tools/builtin/Coding.ts"
import { estimate } from "../../../src/tools/builtin/Excerpt.ts"

describe("the coding tools", () => {
  it("have names of their own, and descriptions and schemas that fit a small part of a request", () => {
    // Of the two for commands a session has one: with a sandbox, or without.
    const names = coding.filter((tool) => tool !== SandboxedBash).map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    const told = coding.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }))
    for (const one of told) assert.strictEqual(one.input_schema["type"], "object", one.name)
    assert.isBelow(estimate(JSON.stringify(told)), 8_000)
  })

  it.live("reach the network and a model of a whole session, and are offered where somebody can use them", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const agent = yield* agents.open({ tools: coding, permissionMode: "bypassPermissions" })
      yield* Stream.runDrain(agent.prompt("look"))
      const requests = yield* ScriptedModel.requests
      const told = JSON.stringify(requests.at(-1)?.body.messages.at(-1))
      assert.include(told, "could not be fetched: There is no network in this test.")
      const names = agent.tools()
      assert.includeMembers([...names], ["NotebookEdit", "Read", "WebFetch"])
      // Nobody is there to answer, the scripted service has no search, and today's models keep no lists.
      for (const name of ["AskUserQuestion", "ExitPlanMode", "WebSearch", "TaskCreate", "TodoWrite"]) {
        assert.notInclude(names, name)
      }
      const asked = yield* agents
        .open({ tools: coding })
        .pipe(Effect.provideService(Person, { ask: () => Effect.succeed({ allow: true }) }))
      assert.includeMembers([...asked.tools()], ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        TestRuntime.layer({
          rules: [
            { when: { user: "look" }, reply: [{ tool: "WebFetch", input: { url: "https://1.1.1.1/", prompt: "p" } }] },
            { reply: "Done." },
          ],
        }),
      ),
    ),
  )
})
