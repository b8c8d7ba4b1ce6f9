import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { OpenOptions } from "../../src/agents/Agents.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { Person } from "../../src/permissions/Permissions.ts"
import { Workspace } from "../../src/tools/Workspace.ts"
import { coding } from "../../src/tools/builtin/Coding.ts"
import type { Services } from "../../src/tools/builtin/Source.ts"
import { Agents } from "../../src/agents/Agents.ts"
import { ended, hurried, only } from "../agents/session.ts"

/** One call of a tool by the model, through the front door. */
const call = <R = never>(
  tool: string,
  input: Record<string, unknown>,
  options: OpenOptions<R>,
  world: TestRuntime.TestRuntimeOptions = {},
) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const agent = yield* agents.open(options)
    const events = yield* hurried(Stream.runCollect(agent.prompt("Go")))
    assert.strictEqual(ended(events).terminal.reason, "completed")
    const result = only(events, "ToolEnded")[0]
    assert(result !== undefined)
    const fs = yield* FileSystem.FileSystem
    return { events, result, text: String(result.content), fs }
  }).pipe(
    Effect.scoped,
    Effect.provide(TestRuntime.layer({ turns: [{ reply: [{ tool, input }] }, { reply: "Done." }] }, world)),
  )

const builtin = (tool: string, input: Record<string, unknown>, options: OpenOptions = {}, files = {}) =>
  call<Services>(tool, input, { tools: coding, ...options }, { files })

describe("ToolRunner", () => {
  it.effect("knows a tool by its other names", () =>
    Effect.gen(function* () {
      const tool = Tool.make({
        name: "Look",
        aliases: ["View"],
        description: "Looks.",
        input: Schema.Struct({}),
        readOnly: true,
        run: () => Effect.succeed({ content: "seen" }),
      })
      assert.strictEqual((yield* call("View", {}, { tools: [tool] })).text, "seen")
    }),
  )

  it.effect("denies a write when nobody can be asked, records why, and nothing happens", () =>
    Effect.gen(function* () {
      const { result, events, fs } = yield* builtin("Write", { file_path: "/work/a.txt", content: "x" })
      assert.strictEqual(result.outcome, "denied")
      assert.strictEqual(only(events, "PermissionDecided")[0]?.behavior, "deny")
      assert.strictEqual(only(events, "ToolStarted").length, 0)
      assert.isFalse(yield* fs.exists("/work/a.txt"))
    }),
  )

  it.effect("accepts edits inside the workspace in acceptEdits, and not outside or through a link", () =>
    Effect.gen(function* () {
      const options: OpenOptions = { permissionMode: "acceptEdits" }
      const inside = yield* builtin("Write", { file_path: "/work/a.txt", content: "x" }, options)
      assert.strictEqual(inside.result.outcome, "completed")
      const outside = yield* builtin("Write", { file_path: "/home/user/a.txt", content: "x" }, options)
      assert.strictEqual(outside.result.outcome, "denied")
      const guarded = yield* builtin("Write", { file_path: "/work/.git/hooks/pre-commit", content: "x" }, options)
      assert.strictEqual(guarded.result.outcome, "denied")
    }),
  )

  it.effect("reads inside without asking, and not outside", () =>
    Effect.gen(function* () {
      const files = { "/work/a.txt": "hello", "/etc/passwd": "root" }
      assert.match((yield* builtin("Read", { file_path: "/work/a.txt" }, {}, files)).text, /hello/)
      const outside = yield* builtin("Read", { file_path: "/etc/passwd" }, {}, files)
      assert.strictEqual(outside.result.outcome, "denied")
      assert.match(outside.text, /outside the workspace/)
      const added = yield* builtin("Read", { file_path: "/etc/passwd" }, { addDirs: ["/etc"] }, files)
      assert.match(added.text, /root/)
    }),
  )

  it.effect("judges a call by the world as it is when its turn comes, not as it was when the model made it", () =>
    Effect.gen(function* () {
      const go = Tool.make({
        name: "Go",
        description: "Changes the directory.",
        input: Schema.Struct({ to: Schema.String }),
        run: ({ to }) =>
          Effect.map(
            Effect.flatMap(Workspace, (workspace) => workspace.enter(to)),
            (entered) => ({ content: String(entered) }),
          ),
      })
      const agents = yield* Agents
      const agent = yield* agents.open({
        tools: [...coding, go],
        permissionMode: "acceptEdits",
        allowedTools: ["Go"],
      })
      const events = yield* hurried(Stream.runCollect(agent.prompt("Go")))
      assert.deepStrictEqual(
        only(events, "ToolEnded").map(({ tool, outcome }) => [tool, outcome]),
        [
          ["Go", "completed"],
          ["Write", "denied"],
        ],
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(
        TestRuntime.layer(
          {
            turns: [
              {
                reply: [
                  { tool: "Go", input: { to: "/work/.git" } },
                  { tool: "Write", input: { file_path: "hooks/pre-commit", content: "x" } },
                ],
              },
              { reply: "Done." },
            ],
          },
          { files: { "/work/.git/HEAD": "ref: refs/heads/main" } },
        ),
      ),
    ),
  )

  it.effect("asks again in vain when what a call touches changed while a person thought about it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const slow: Person = {
        ask: () =>
          Effect.as(Effect.ignore(fs.symlink("/home/user", "/work/link")), {
            allow: true,
          }),
      }
      const agents = yield* Agents
      const agent = yield* agents.open({ tools: coding }).pipe(Effect.provideService(Person, slow))
      const events = yield* hurried(Stream.runCollect(agent.prompt("Go")))
      assert.strictEqual(only(events, "ToolEnded")[0]?.outcome, "denied")
      assert.isFalse(yield* fs.exists("/home/user/a.txt"))
    }).pipe(
      Effect.scoped,
      Effect.provide(
        TestRuntime.layer(
          {
            turns: [
              { reply: [{ tool: "Write", input: { file_path: "/work/link/a.txt", content: "x" } }] },
              { reply: "Done." },
            ],
          },
          { files: { "/work/x": "" } },
        ),
      ),
    ),
  )

  it.effect("says which arguments are wrong", () =>
    Effect.gen(function* () {
      const { result, text } = yield* builtin("Read", { path: "/work/a.txt" })
      assert.strictEqual(result.outcome, "failed")
      assert.match(text, /file_path/)
    }),
  )

  it.effect("hides a forbidden tool from the model", () =>
    Effect.gen(function* () {
      const { text } = yield* builtin("Bash", { command: "ls" }, { disallowedTools: ["Bash"] })
      assert.match(text, /no tool named Bash\. The tools of this session are: .*Edit, .*Read, .*Write/)
    }),
  )

  it.effect("keeps a long result on disk and gives the model its beginning and the way to it", () =>
    Effect.gen(function* () {
      const long = `begin ${"x".repeat(50_000)} end`
      const tool = Tool.make({
        name: "Much",
        description: "Says much.",
        input: Schema.Struct({}),
        readOnly: true,
        run: () => Effect.succeed({ content: long }),
      })
      const { text, fs } = yield* call("Much", {}, { tools: [tool] })
      assert.isBelow(text.length, 3_000)
      assert.include(text, "<persisted-output>")
      const path = /is in (\S+\.txt)/.exec(text)?.[1] ?? ""
      assert.strictEqual(yield* fs.readFileString(path), long)
    }),
  )
})
