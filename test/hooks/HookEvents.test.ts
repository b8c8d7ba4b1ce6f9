import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { render } from "../../scripts/HookDocs.ts"
import { eventNames, isToolEvent, specOf, subjectOf } from "../../src/hooks/HookEvents.ts"

const all =
  "SessionStart Setup UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest PermissionDenied PostToolUse PostToolUseFailure " +
  "PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated TaskCompleted Stop StopFailure TeammateIdle " +
  "InstructionsLoaded ConfigChange CwdChanged DirectoryAdded FileChanged WorktreeCreate WorktreeRemove PreCompact PostCompact " +
  "Elicitation ElicitationResult SessionEnd PreModelSwitch PostModelSwitch"

describe("the table of events", () => {
  it("has all 33, and each matcher looks at a field that the event has", () => {
    assert.deepStrictEqual(eventNames.toSorted(), all.split(" ").toSorted())
    for (const event of eventNames) {
      const { input, matcher } = specOf(event)
      if (matcher !== undefined) assert.property(input, matcher.field, event)
    }
  })

  it("lets models answer only where an answer can change something", () => {
    const asked = eventNames.filter((event) => specOf(event).kinds.includes("prompt"))
    assert.deepStrictEqual(
      asked.toSorted(),
      (
        "PermissionDenied PermissionRequest PostToolBatch PostToolUse PostToolUseFailure PreToolUse Stop SubagentStop TaskCompleted " +
        "TaskCreated TeammateIdle UserPromptExpansion UserPromptSubmit"
      ).split(" "),
    )
    const early = eventNames.filter((event) => !specOf(event).kinds.includes("http"))
    assert.deepStrictEqual(early.toSorted(), ["SessionStart", "Setup"])
  })

  it("says at which events exit code 2 blocks", () => {
    const blocking = eventNames.filter((event) => ["blocks", "fails"].includes(specOf(event).exit2))
    assert.deepStrictEqual(
      blocking.toSorted(),
      (
        "ConfigChange Elicitation ElicitationResult PostToolBatch PreCompact PreModelSwitch PreToolUse Stop SubagentStop TaskCompleted " +
        "TaskCreated TeammateIdle UserPromptExpansion UserPromptSubmit WorktreeCreate"
      ).split(" "),
    )
  })

  it("knows what a matcher is compared with", () => {
    assert.strictEqual(subjectOf("PreToolUse", { tool_name: "Bash" }), "Bash")
    assert.strictEqual(subjectOf("FileChanged", { file_path: "/a/b/.env" }), ".env")
    assert.isUndefined(subjectOf("Stop", { stop_hook_active: true }))
    assert.deepStrictEqual(eventNames.filter(isToolEvent).toSorted(), [
      "PermissionDenied",
      "PermissionRequest",
      "PostToolUse",
      "PostToolUseFailure",
      "PreToolUse",
    ])
  })

  it("is what docs/hooks.md says", () => {
    const kept = readFileSync(new URL("../../docs/hooks.md", import.meta.url), "utf8")
    assert.strictEqual(kept, render(), "docs/hooks.md is stale: npm run docs")
  })
})
