import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Person } from "../../../src/permissions/Permissions.ts"
import { Controls } from "../../../src/session/Controls.ts"
import { EnterPlanMode, ExitPlanMode } from "../../../src/tools/builtin/PlanMode.ts"
import { call, inWorkspace, refusal } from "./kit.ts"

describe("plan mode", () => {
  it.live("is entered at once, and left with a plan for the mode that was before", () =>
    inWorkspace(
      ({ config }) =>
        Effect.gen(function* () {
          const controls = yield* Controls
          const entered = yield* call(EnterPlanMode, {})
          assert.deepStrictEqual(entered.controls, { permissionMode: "plan" })
          yield* controls.change("test", { permissionMode: "plan" })
          const again = yield* call(EnterPlanMode, {})
          assert.isUndefined(again.controls)
          assert.match(String(again.content), /on already/)
          const left = yield* call(ExitPlanMode, { plan: "# Plan\n1. Do it" })
          assert.deepStrictEqual(left.controls, { permissionMode: "acceptEdits" })
          const filePath = path.join(config, "plans", "session-1.md")
          assert.match(String(left.content), /^User has approved your plan.*saved to: .*session-1\.md.*1\. Do it$/s)
          assert.deepStrictEqual(left.structured, { plan: "# Plan\n1. Do it", isAgent: false, filePath })
          assert.strictEqual(fs.readFileSync(filePath, "utf8"), "# Plan\n1. Do it")
        }),
      { controls: { model: "sonnet", permissionMode: "acceptEdits" } },
    ),
  )

  it.live("is left for the default mode where nobody knows what was before, or for the one the person chose", () =>
    inWorkspace(
      () =>
        Effect.gen(function* () {
          const controls = yield* Controls
          const left = yield* call(ExitPlanMode, { plan: "p" })
          assert.deepStrictEqual(left.controls, { permissionMode: "default" })
          const invocation = yield* ExitPlanMode.decode({ plan: "p" })
          yield* invocation.validate
          yield* controls.change("person", { permissionMode: "acceptEdits" })
          assert.isUndefined((yield* call(ExitPlanMode, { plan: "p" })).controls)
        }),
      { controls: { model: "sonnet", permissionMode: "plan" } },
    ),
  )

  it.live("needs a person, a plan, and to be on", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        assert.match(yield* refusal(ExitPlanMode, { plan: "p" }), /Plan mode is not on/)
        assert.match(yield* refusal(ExitPlanMode, { plan: "" }), /plan/)
        assert.deepInclude(yield* (yield* ExitPlanMode.decode({ plan: "p" })).opinion, {
          behavior: "ask",
          always: true,
        })
        for (const tool of [EnterPlanMode, ExitPlanMode]) {
          assert.isFalse(yield* tool.enabled)
          assert.isTrue(
            yield* Effect.provideService(tool.enabled, Person, { ask: () => Effect.succeed({ allow: true }) }),
          )
          assert.isTrue((yield* tool.decode({ plan: "p" })).readOnly)
        }
      }),
    ),
  )
})
