/** What hooks say together, from what each of them printed. */
import { assert, describe, it } from "@effect/vitest"
import type { Handler, HookScope } from "../../src/hooks/Handler.ts"
import type { HookEventName } from "../../src/hooks/HookEvents.ts"
import { isTerminalSequence } from "../../src/hooks/HookOutput.ts"
import { everything } from "../../src/hooks/Matcher.ts"
import * as Reply from "../../src/hooks/Reply.ts"
import { aggregate } from "../../src/hooks/Verdict.ts"

const handler = (event: HookEventName, scope: HookScope, action: Handler["action"]): Handler => ({
  event,
  matcher: everything,
  origin: { scope, name: scope },
  action,
  identity: scope,
})

interface Said {
  readonly scope?: HookScope
  readonly exitCode?: number
  readonly stdout?: string
  readonly stderr?: string
  readonly json?: object
}

const hear = (event: HookEventName, ...said: ReadonlyArray<Said>) =>
  aggregate(
    event,
    said.map(({ exitCode = 0, json, scope = "user", stderr = "", stdout = "" }) =>
      Reply.read(event, handler(event, scope, { type: "command", command: "x" }), `${event}:x`, {
        _tag: "Exited",
        exitCode,
        stdout: json === undefined ? stdout : JSON.stringify(json),
        stderr,
      }),
    ),
  )

const specific = (event: HookEventName, fields: object) => ({ hookSpecificOutput: { hookEventName: event, ...fields } })
const pre = (permissionDecision: string, more: object = {}) => specific("PreToolUse", { permissionDecision, ...more })

const judge = (event: HookEventName, ending: object, more: object = {}) =>
  aggregate(event, [
    Reply.read(event, handler(event, "user", { type: "prompt", prompt: "ok?", ...more }), event, {
      _tag: "Judged",
      ok: false,
      reason: "not yet",
      ...ending,
    }),
  ])

describe("several hooks", () => {
  it("are heard by the strictest of them: deny, defer, ask, allow", () => {
    const behavior = (...decisions: ReadonlyArray<string>) =>
      hear("PreToolUse", ...decisions.map((decision) => ({ json: pre(decision) }))).permission?.behavior
    assert.strictEqual(behavior("allow", "ask", "defer", "deny"), "deny")
    assert.strictEqual(behavior("allow", "ask", "defer"), "defer")
    assert.strictEqual(behavior("allow", "ask"), "ask")
    assert.strictEqual(behavior("allow"), "allow")
    assert.isUndefined(behavior())
  })

  it("that give other arguments are heard by scope, whoever answers first", () => {
    const update = (scope: HookScope) => ({ scope, json: specific("PreToolUse", { updatedInput: { from: scope } }) })
    const scopes = ["skill", "agent", "plugin", "local", "project", "user", "managed"] as const
    for (let from = 0; from < scopes.length; from++) {
      const heard = hear("PreToolUse", ...scopes.slice(0, from + 1).map(update))
      assert.deepStrictEqual(heard.updatedInput, { from: scopes[from] })
    }
  })

  it("that put a call off neither change it nor say more about it", () => {
    const { context, updatedInput } = hear("PreToolUse", {
      json: pre("defer", { updatedInput: { a: 1 }, additionalContext: "x" }),
    })
    assert.isUndefined(updatedInput)
    assert.deepStrictEqual(context, [])
  })

  it("all tell the model what they have to tell", () => {
    const json = (text: string) => ({ json: specific("PostToolUse", { additionalContext: text }) })
    assert.deepStrictEqual(hear("PostToolUse", json("a"), json("b")).context, [
      "PostToolUse:x hook additional context: a",
      "PostToolUse:x hook additional context: b",
    ])
  })
})

describe("one hook's words", () => {
  it("in the old spelling of PreToolUse are understood", () => {
    assert.strictEqual(hear("PreToolUse", { json: { decision: "approve" } }).permission?.behavior, "allow")
    const block = hear("PreToolUse", { json: { decision: "block", reason: "no" } }).permission
    assert.deepStrictEqual(block, { behavior: "deny", reason: "no", source: "User" })
  })

  it("end the work with continue: false, except where nothing can be ended", () => {
    const json = { continue: false, stopReason: "enough" }
    assert.deepStrictEqual(hear("PostToolUse", { json }).stop, { reason: "enough", by: "PostToolUse:x" })
    assert.isUndefined(hear("TaskCreated", { json }).stop)
    assert.isUndefined(hear("Notification", { json }).stop)
  })

  it("block where the event can be blocked, by JSON or by exit code 2", () => {
    const json = { decision: "block", reason: "why not" }
    for (const event of ["Stop", "UserPromptSubmit", "ConfigChange", "PreCompact", "PostToolBatch"] as const) {
      assert.strictEqual(hear(event, { json }).block?.reason, "why not", event)
      assert.strictEqual(hear(event, { exitCode: 2, stderr: "stop" }).block?.reason, "stop", event)
    }
    for (const event of [
      "Notification",
      "StopFailure",
      "SessionEnd",
      "PermissionRequest",
      "InstructionsLoaded",
    ] as const) {
      assert.isUndefined(hear(event, { json }).block, event)
      assert.isUndefined(hear(event, { exitCode: 2, stderr: "stop" }).block, event)
    }
  })

  it("with exit code 2 and JSON that blocks give the JSON's reason", () => {
    const heard = hear("Stop", { exitCode: 2, stderr: "stderr", json: { decision: "block", reason: "json" } })
    assert.strictEqual(heard.block?.reason, "json")
    assert.strictEqual(hear("Stop", { exitCode: 2, stderr: "stderr", json: { continue: 7 } }).block?.reason, "stderr")
  })

  it("that do not fit are no decision", () => {
    const heard = hear("PreToolUse", { json: pre("perhaps") })
    assert.isUndefined(heard.permission)
    assert.isUndefined(hear("PreToolUse", { json: specific("PostToolUse", { permissionDecision: "deny" }) }).permission)
  })

  it("answer for a person, and a denial outweighs an allowance", () => {
    const decision = (behavior: string, more: object = {}) => ({
      json: specific("PermissionRequest", { decision: { behavior, ...more } }),
    })
    const allowed = hear("PermissionRequest", decision("allow", { updatedInput: { a: 1 } }))
    assert.deepStrictEqual(allowed.request, { behavior: "allow", updatedInput: { a: 1 } })
    const denied = hear("PermissionRequest", decision("allow"), decision("deny", { message: "no", interrupt: true }))
    assert.strictEqual(denied.request?.behavior, "deny")
    assert.strictEqual(denied.stop?.reason, "no")
  })

  it("carry whatever else the event honours, and nothing that it does not", () => {
    const start = hear("SessionStart", {
      json: specific("SessionStart", {
        initialUserMessage: "go",
        sessionTitle: "t",
        watchPaths: ["/a"],
        reloadSkills: true,
        retry: true,
      }),
    })
    assert.deepInclude(start, { initialUserMessage: "go", sessionTitle: "t", watchPaths: ["/a"], reloadSkills: true })
    assert.isUndefined(start.retry)
    assert.strictEqual(
      hear("MessageDisplay", { json: specific("MessageDisplay", { displayContent: "*" }) }).displayContent,
      "*",
    )
    assert.isTrue(hear("PermissionDenied", { json: specific("PermissionDenied", { retry: true }) }).retry)
    assert.deepInclude(
      hear("Elicitation", { json: specific("Elicitation", { action: "accept", content: { a: 1 } }) }),
      {
        action: "accept",
        content: { a: 1 },
      },
    )
    assert.deepStrictEqual(hear("Elicitation", { json: { systemMessage: "psst" } }).messages, [])
  })

  it("of a worktree are the last line it prints, and any failure is one", () => {
    assert.strictEqual(
      hear("WorktreeCreate", { stdout: "\u001b[32mhello\u001b[0m\n/tmp/tree\n\n" }).worktreePath,
      "/tmp/tree",
    )
    assert.match(
      hear("WorktreeCreate", { exitCode: 1, stdout: "/x", stderr: "svn failed" }).block?.reason ?? "",
      /svn failed/,
    )
  })

  it("about a result reach the judge, up to 2,000 characters, and not when another hook replaces it", () => {
    const note = (text: string, more: object = {}) => ({
      json: specific("PostToolUse", { classifierContext: text, ...more }),
    })
    const { classifierContext } = hear("PostToolUse", note("a".repeat(1_500)), note("b".repeat(1_500)))
    assert.strictEqual(classifierContext?.text.length, 2_000)
    assert.isFalse(classifierContext?.verified)
    const replaced = hear(
      "PostToolUse",
      { scope: "user", ...note("mine", { updatedToolOutput: "x" }) },
      { scope: "skill", ...note("lost", { updatedToolOutput: "y" }) },
    )
    assert.strictEqual(replaced.classifierContext?.text, "mine")
    assert.strictEqual(replaced.updatedToolOutput, "x")
  })
})

describe("a model's judgement", () => {
  it("means what the event says", () => {
    assert.strictEqual(judge("Stop", {}).block?.reason, "not yet")
    assert.isUndefined(judge("Stop", { impossible: true }).block)
    assert.strictEqual(judge("PreToolUse", {}).permission?.behavior, "deny")
    assert.strictEqual(judge("PreToolUse", {}).stop?.reason, "not yet")
    assert.isUndefined(judge("PreToolUse", {}, { continueOnBlock: true }).stop)
    assert.strictEqual(judge("PostToolUse", {}).stop?.reason, "not yet")
    assert.strictEqual(judge("PostToolUse", {}, { continueOnBlock: true }).block?.reason, "not yet")
    assert.strictEqual(judge("PostToolUseFailure", {}).block?.reason, "not yet")
    assert.strictEqual(judge("TaskCreated", {}).block?.reason, "not yet")
    assert.isUndefined(judge("PermissionRequest", {}).request)
    assert.isUndefined(judge("Stop", { ok: true }).block)
  })
})

describe("silence", () => {
  const late = (event: HookEventName, action: Handler["action"]) =>
    aggregate(event, [Reply.read(event, handler(event, "user", action), event, { _tag: "TimedOut", seconds: 1 })])
  const script = { type: "command", command: "x" } as const
  const callback = { type: "function", name: "f", run: () => assert.fail("not run") } as const

  it("decides nothing, except where a function guards, and before the model is switched", () => {
    assert.isUndefined(late("PreToolUse", script).permission)
    assert.strictEqual(late("PreToolUse", callback).permission?.behavior, "deny")
    assert.isDefined(late("UserPromptSubmit", callback).block)
    assert.isUndefined(late("Stop", callback).block)
    assert.isDefined(late("PreModelSwitch", script).block)
  })
})

describe("a sequence for the terminal", () => {
  it("may set titles, notify and ring, and nothing else", () => {
    for (const good of ["\u0007", "\u001b]0;title\u0007", "\u001b]777;notify;a;b\u001b\\", "\u001b]9;hi\u0007\u0007"]) {
      assert.isTrue(isTerminalSequence(good), JSON.stringify(good))
    }
    for (const bad of [
      "\u001b[2J",
      "\u001b]52;c;AAAA\u0007",
      "\u001b]8;;http://x\u0007",
      "text",
      "\u001b]0;a\u001b[2J\u0007",
      "",
    ]) {
      assert.isFalse(isTerminalSequence(bad), JSON.stringify(bad))
    }
  })
})
