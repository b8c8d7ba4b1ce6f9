/** The events that tools and the session fire: tasks, directories, variables, models, files, settings. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as SessionDefaults from "../../src/agents/SessionDefaults.ts"
import * as FileHooks from "../../src/hooks/FileHooks.ts"
import { HookEngine, type HookEngineShape } from "../../src/hooks/HookEngine.ts"
import type { Hooks } from "../../src/hooks/Hooks.ts"
import * as ModelHooks from "../../src/hooks/ModelHooks.ts"
import { type Change, Watch } from "../../src/platform/Watch.ts"
import type { Event } from "../../src/protocol/Event.ts"
import * as Controls from "../../src/session/Controls.ts"
import * as Recorder from "../../src/session/Recorder.ts"
import { Bash } from "../../src/tools/builtin/Bash.ts"
import { Read } from "../../src/tools/builtin/Read.ts"
import { TaskCreate, TaskGet, TaskUpdate } from "../../src/tools/builtin/TaskListTools.ts"
import { play } from "../agents/session.ts"
import { call, inWorkspace, refusal, said } from "../tools/builtin/kit.ts"
import { command, engineWith, functions, layer, machine, one } from "./engine.ts"

const block = (reason: string) => ({ decision: "block" as const, reason })

describe("tasks", () => {
  it.live("are neither created nor closed where a hook forbids it, and the model is told why", () =>
    Effect.gen(function* () {
      const { engine } = yield* engineWith([layer(one("TaskCompleted", command("echo tests fail >&2; exit 2")))])
      yield* engine.on("TaskCreated", ({ task_subject }) =>
        Effect.succeed(task_subject.startsWith("[") ? undefined : block(`no ticket in: ${task_subject}`)),
      )
      yield* inWorkspace(() =>
        Effect.gen(function* () {
          const create = (subject: string) => ({ subject, description: "d" })
          yield* call(TaskCreate, create("[T-1] fix it"))
          assert.strictEqual(yield* refusal(TaskCreate, create("fix it")), "no ticket in: fix it")
          assert.strictEqual(yield* said(TaskGet, { taskId: "2" }), "Task not found")
          assert.strictEqual(yield* refusal(TaskUpdate, { taskId: "1", status: "completed" }), "tests fail")
          assert.include(yield* said(TaskGet, { taskId: "1" }), "Status: pending")
        }).pipe(Effect.provideService(HookEngine, engine)),
      )
    }).pipe(Effect.provide(machine)),
  )
})

describe("the shell's directory", () => {
  it.live("is told when it changes, and commands find the variables that hooks left for it", () =>
    Effect.gen(function* () {
      const env = `jq -r '"export WHERE=" + .new_cwd' >> "$CLAUDE_ENV_FILE"`
      const { engine } = yield* engineWith([layer(one("CwdChanged", command(env)))])
      yield* inWorkspace(({ put, root }) =>
        Effect.gen(function* () {
          put("sub/file", "")
          assert.strictEqual(yield* said(Bash, { command: 'echo "[$WHERE]"' }), "[]")
          yield* call(Bash, { command: "cd sub" })
          assert.strictEqual(yield* said(Bash, { command: 'echo "[$WHERE]"' }), `[${root}/sub]`)
        }).pipe(Effect.provideService(HookEngine, engine)),
      )
    }).pipe(Effect.provide(machine)),
  )
})

describe("files in a call", () => {
  it.effect("are shown to hooks by their whole path, however the model spells them", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const embed = (hooks: Hooks["Service"]) =>
        hooks.on("PreToolUse", ({ tool_input }) => Effect.sync(() => void seen.push(tool_input)))
      const rules = [
        { when: { turn: 1 }, reply: [{ tool: "Read", input: { file_path: "./src/../a.txt" } }] },
        { reply: "Done." },
      ]
      yield* play({ rules }, "go", { tools: [Read] }, { files: { "/work/a.txt": "x" } }, embed)
      assert.deepStrictEqual(seen, [{ file_path: "/work/a.txt" }])
    }),
  )
})

describe("the model", () => {
  it.effect("is not switched where a hook forbids it, and hooks hear when it is", () =>
    Effect.gen(function* () {
      const engine = yield* HookEngine
      const controls = yield* Controls.make({ model: "sonnet", permissionMode: "default" })
      const said: Array<string> = []
      const told = yield* Queue.unbounded<string>()
      yield* ModelHooks.follow(engine, controls, {
        resolve: (name) => `claude-${name}`,
        say: (message) => Effect.sync(() => void said.push(message)),
        tell: (text) => Queue.offer(told, text),
      })
      assert.isUndefined(yield* controls.change("embedder", { model: "haiku" }))
      assert.deepStrictEqual(said, ["The model stays claude-sonnet: haiku is too small"])
      yield* controls.change("embedder", { model: "opus" })
      assert.strictEqual((yield* controls.current).model, "opus")
      assert.strictEqual(
        yield* Queue.take(told),
        "PostModelSwitch:claude-opus hook additional context: from claude-sonnet by sdk",
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(
        functions((engine) =>
          Effect.gen(function* () {
            yield* engine.on(
              "PreModelSwitch",
              ({ requested_model }) => Effect.succeed(block(`${requested_model} is too small`)),
              {
                matcher: "claude-haiku",
              },
            )
            yield* engine.on("PostModelSwitch", ({ from_model, source }) =>
              Effect.succeed({
                hookSpecificOutput: {
                  hookEventName: "PostModelSwitch" as const,
                  additionalContext: `from ${from_model} by ${source}`,
                },
              }),
            )
          }),
        ),
      ),
    ),
  )
})

describe("watched files", () => {
  it.live("are those that matchers name and hooks ask for; a change of one is an event", () =>
    Effect.gen(function* () {
      const bursts = yield* PubSub.unbounded<ReadonlyArray<Change>>()
      const heard = yield* Queue.unbounded<string>()
      const { engine } = yield* engineWith([layer(one("FileChanged", command("true"), ".envrc|.env"))])
      yield* engine.on("FileChanged", ({ event, file_path }) =>
        Effect.as(Queue.offer(heard, `${event} ${file_path}`), {
          hookSpecificOutput: { hookEventName: "FileChanged" as const, watchPaths: ["/other/file"] },
        }),
      )
      yield* FileHooks.follow(engine, () => "/w").pipe(Effect.provide(Watch.layerOf(bursts)))
      const change = (type: Change["type"], path: string) => PubSub.publish(bursts, [{ type, path }])
      const until = Effect.fnUntraced(function* (type: Change["type"], path: string) {
        // Watching begins in its own time.
        const again = yield* Effect.forkChild(
          Effect.forever(Effect.andThen(change(type, path), Effect.sleep("5 millis"))),
        )
        const first = yield* Queue.take(heard)
        yield* Fiber.interrupt(again)
        return first
      })
      assert.strictEqual(yield* until("changed", "/w/.env"), "change /w/.env")
      // From now on also what the hook asked for.
      const more = Stream.fromQueue(heard).pipe(
        Stream.filter((text) => text.includes("other")),
        Stream.runHead,
      )
      const waiting = yield* Effect.forkChild(more)
      yield* Effect.forkChild(
        Effect.forever(Effect.andThen(change("removed", "/other/file"), Effect.sleep("5 millis"))),
      )
      const found = yield* Fiber.join(waiting)
      assert.strictEqual(found._tag === "Some" ? found.value : "", "unlink /other/file")
    }).pipe(Effect.provide(machine)),
  )
})

describe("settings that change", () => {
  const follow = Effect.fnUntraced(function* (engine: HookEngineShape) {
    const events: Array<Event> = []
    const done = yield* Queue.unbounded<void>()
    const updates = yield* Queue.unbounded<SessionDefaults.DefaultsUpdate>()
    const first = layer({ permissions: { deny: ["Read(./a)"] } })
    const recorder = {
      ...Recorder.nowhere("x"),
      emit: (event: Event) => Effect.sync(() => void events.push(event)),
    }
    const book = yield* SessionDefaults.follow({
      defaults: { layers: [first] },
      recorder,
      controls: yield* Controls.make({ model: "sonnet", permissionMode: "default" }),
      cwd: "/w",
      home: "/h",
      defaultModel: undefined,
      allowedTools: [],
      disallowedTools: [],
    }).pipe(
      Effect.provideService(HookEngine, engine),
      Effect.provideService(SessionDefaults.SessionDefaults, {
        current: Effect.succeed({}),
        updates: Stream.fromQueue(updates).pipe(Stream.tap(() => Queue.offer(done, undefined))),
      }),
    )
    const kinds: Array<ReadonlyArray<string>> = []
    const update = Effect.fnUntraced(function* (layers: SessionDefaults.DefaultsUpdate["layers"]) {
      yield* Queue.offer(updates, {
        layers,
        defaultsOf: (accepted) =>
          Effect.sync(() => {
            kinds.push(accepted.map(({ source, value }) => `${source.kind} ${JSON.stringify(value)}`))
            return {}
          }),
        warnings: [],
      })
      yield* Queue.take(done)
      yield* Effect.yieldNow
      yield* Effect.yieldNow
    })
    return { book, events, first, kinds, update }
  })

  it.live("stay out where a hook wants so, until they change again; a policy never does", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const engine = yield* HookEngine
      yield* engine.on("ConfigChange", ({ source }) =>
        Effect.sync(() => {
          asked.push(source)
          return source === "user_settings" ? undefined : block("no")
        }),
      )
      const { events, first, kinds, update } = yield* follow(engine)
      const project = layer({ model: "opus" }, "project")
      yield* update([first, project])
      assert.deepStrictEqual(asked, ["project_settings"])
      assert.deepStrictEqual(kinds, [], "nothing is applied")
      yield* update([first, project])
      assert.deepStrictEqual(asked, ["project_settings"], "it is not asked twice about the same")
      const mine = layer({ model: "haiku" })
      yield* update([mine, project])
      assert.deepStrictEqual(kinds, [['user {"model":"haiku"}']])
      const policy = layer({ model: "sonnet" }, "managed")
      yield* update([mine, project, policy])
      assert.deepStrictEqual(asked, ["project_settings", "user_settings", "policy_settings"])
      assert.deepStrictEqual(kinds[1], ['user {"model":"haiku"}', 'managed {"model":"sonnet"}'])
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "ConfigChanged" ? [event.source] : [])),
        ["user", "managed"],
      )
    }).pipe(Effect.scoped, Effect.provide(functions(() => Effect.void))),
  )
})
