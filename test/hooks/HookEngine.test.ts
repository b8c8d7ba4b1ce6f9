/** The engine with real processes: what a command is told, what its end means, and that nothing of it harms the session. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import { bash, command, engineWith, layer, machine, one } from "./engine.ts"

const pre = (line: string, more: object = {}) => [layer(one("PreToolUse", command(line, more), "Bash"))]

describe("a command", () => {
  it.live("is told the event on stdin, and where it is in its environment", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { directory, engine, ran } = yield* engineWith(
        pre(
          'cat > "$CLAUDE_PROJECT_DIR/in.json"; echo "$CLAUDE_EFFORT $PWD" > env.txt; (: < /dev/tty) 2>/dev/null && echo tty >> env.txt; exit 0',
        ),
      )
      const verdict = yield* engine.fire("PreToolUse", bash("npm test"), { toolUseId: "toolu_1" })
      assert.strictEqual(verdict.ran, 1)
      assert.isUndefined(verdict.permission)
      const told: unknown = JSON.parse(yield* fs.readFileString(`${directory}/in.json`))
      assert.deepStrictEqual(told, {
        session_id: "5f0c1f9e-7f1c-4f0e-9a3b-0d6c1c0a7e11",
        prompt_id: "prompt-1",
        transcript_path: `${directory}/transcript.jsonl`,
        cwd: directory,
        permission_mode: "default",
        effort: { level: "high" },
        hook_event_name: "PreToolUse",
        tool_name: "Bash",
        tool_input: { command: "npm test" },
        tool_use_id: "toolu_1",
      })
      assert.strictEqual(yield* fs.readFileString(`${directory}/env.txt`), `high ${directory}\n`)
      const [record] = ran()
      assert.strictEqual(record?.name, "PreToolUse:Bash")
      assert.strictEqual(record?.outcome, "success")
      assert.strictEqual(record?.exitCode, 0)
      assert.match(record?.source ?? "", /user\.json:\d+$/)
    }).pipe(Effect.provide(machine)),
  )

  it.live("in exec form gets each argument as it is written, with placeholders filled", () =>
    Effect.gen(function* () {
      const args = ["-c", 'printf "%s|" "$@" >&2; exit 2', "sh", "${CLAUDE_PROJECT_DIR}/a b", "$HOME `x`"]
      const { directory, engine } = yield* engineWith(pre("sh", { args }))
      const { block } = yield* engine.fire("PreToolUse", bash("x"))
      assert.strictEqual(block?.reason, `${directory}/a b|$HOME \`x\`|`)
    }).pipe(Effect.provide(machine)),
  )

  it.live("that exits with 2 blocks, whatever its JSON allows, and its stderr is the reason", () =>
    Effect.gen(function* () {
      const json = JSON.stringify({
        systemMessage: "hello",
        hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow" },
      })
      const { engine, said } = yield* engineWith(pre(`echo '${json}'; echo "not today" >&2; exit 2`))
      const verdict = yield* engine.fire("PreToolUse", bash("rm x"))
      assert.deepStrictEqual(verdict.permission, { behavior: "deny", reason: "not today", source: "User" })
      assert.deepStrictEqual(said(), ["PreToolUse:Bash says: hello"])
    }).pipe(Effect.provide(machine)),
  )

  it.live("whose JSON decides is heard with any other exit code; without JSON it is an error that stops nothing", () =>
    Effect.gen(function* () {
      const deny = JSON.stringify({
        hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "no" },
      })
      const first = yield* engineWith(pre(`echo '${deny}'; exit 1`))
      assert.strictEqual((yield* first.engine.fire("PreToolUse", bash("x"))).permission?.behavior, "deny")
      assert.deepStrictEqual(first.said(), [])

      const second = yield* engineWith(pre(`echo oops >&2; exit 1`))
      for (let time = 0; time < 2; time++) {
        const verdict = yield* second.engine.fire("PreToolUse", bash("x"))
        assert.isUndefined(verdict.permission)
      }
      assert.strictEqual(second.said().length, 1, "it is said once")
      assert.match(second.said()[0] ?? "", /user\.json:\d+: .*failed with the exit code 1: oops/)
      assert.deepStrictEqual(
        second.ran().map(({ outcome }) => outcome),
        ["error", "error"],
      )
    }).pipe(Effect.provide(machine)),
  )

  it.live("that hangs is given up, and decides nothing", () =>
    Effect.gen(function* () {
      const { engine, ran, said } = yield* engineWith(pre("exec sleep 60", { timeout: 0.2 }))
      const verdict = yield* engine.fire("PreToolUse", bash("x"))
      assert.isUndefined(verdict.permission)
      assert.isUndefined(verdict.block)
      assert.strictEqual(ran()[0]?.outcome, "cancelled")
      assert.match(said()[0] ?? "", /no answer within 0.2 s/)
    }).pipe(Effect.provide(machine)),
  )

  it.live("that prints 50 MB stays small in memory, and the session goes on", () =>
    Effect.gen(function* () {
      const { engine, ran } = yield* engineWith(pre("head -c 52428800 /dev/zero | tr '\\0' x"))
      // What the first run leaves to the garbage collector says nothing.
      yield* engine.fire("PreToolUse", bash("x"))
      const before = process.memoryUsage().rss
      const verdict = yield* engine.fire("PreToolUse", bash("x"))
      assert.strictEqual(verdict.ran, 1)
      assert.isBelow(process.memoryUsage().rss - before, 40 * 1024 * 1024)
      assert.isAtMost(ran()[0]?.stdout?.length ?? 0, 10_000)
    }).pipe(Effect.provide(machine)),
  )

  it.live("that leaves a daemon with its pipes behind is not waited for", () =>
    Effect.gen(function* () {
      const { engine, ran } = yield* engineWith(pre("sleep 30 & echo done"))
      yield* engine.fire("PreToolUse", bash("x"))
      assert.isBelow(ran()[0]?.durationMs ?? Infinity, 5_000)
      assert.strictEqual(ran()[0]?.outcome, "success")
    }).pipe(Effect.provide(machine)),
  )

  it.live("that is killed, cannot be found, or prints broken JSON is said with its place, once", () =>
    Effect.gen(function* () {
      for (const [line, says] of [
        ["kill -9 $$", /was ended by SIGKILL/],
        ["/nowhere/hook.sh", /exit code 127: .*nowhere/],
        [`echo '{"decision": '`, /begins with \{ but is not valid JSON/],
        [
          `echo '{"hookSpecificOutput":{"permissionDecision":"deny"}}'`,
          /no hookEventName; add "hookEventName": "PreToolUse"/,
        ],
      ] as const) {
        const { engine, said } = yield* engineWith(pre(line))
        const verdict = yield* engine.fire("PreToolUse", bash("x"))
        assert.isUndefined(verdict.permission, line)
        assert.match(said()[0] ?? "", says)
        assert.match(said()[0] ?? "", /user\.json:\d+/)
      }
    }).pipe(Effect.provide(machine)),
  )

  it.live("that does not read its input is no problem, however long the input is", () =>
    Effect.gen(function* () {
      const { engine, ran } = yield* engineWith(pre("exec true"))
      yield* engine.fire("PreToolUse", bash("x".repeat(5_000_000)))
      assert.strictEqual(ran()[0]?.outcome, "success")
    }).pipe(Effect.provide(machine)),
  )
})

describe("what is said to the model", () => {
  it.live(
    "is plain text at the events that take it, and JSON's additionalContext; more than 10,000 characters go to a file",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const long = JSON.stringify({
          hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: "y".repeat(20_000) },
        })
        const { engine } = yield* engineWith([
          layer({
            hooks: {
              SessionStart: [{ hooks: [command("echo on branch main"), command(`echo '${long}'`)] }],
              PreToolUse: [{ hooks: [command("echo ignored")] }],
            },
          }),
        ])
        const { context } = yield* engine.fire("SessionStart", { source: "startup" })
        assert.strictEqual(context[0], "SessionStart:startup hook success: on branch main")
        assert.isBelow(context[1]?.length ?? 0, 3_000)
        const path = /whole text is in (\S+)\]/.exec(context[1] ?? "")?.[1] ?? ""
        assert.strictEqual((yield* fs.readFileString(path)).length, 20_000)
        assert.deepStrictEqual((yield* engine.fire("PreToolUse", bash("x"))).context, [])
      }).pipe(Effect.provide(machine)),
  )
})

describe("hooks in the background", () => {
  it.live("do not make anybody wait, and are heard with the next prompt", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const late = JSON.stringify({ systemMessage: "tests passed" })
      const line = `while [ ! -e go ]; do :; done; echo '${late}'`
      const { directory, engine, ran } = yield* engineWith(pre(line, { async: true }))
      const verdict = yield* engine.fire("PreToolUse", bash("x"))
      assert.strictEqual(verdict.ran, 0)
      assert.deepStrictEqual(yield* engine.takeContext, [])
      yield* fs.writeFileString(`${directory}/go`, "")
      yield* Effect.repeat(
        Effect.sync(() => ran().length),
        { until: (count) => count === 1 },
      )
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* engine.takeContext, ["PreToolUse:Bash hook says: tests passed"])
      assert.deepStrictEqual(yield* engine.takeContext, [])
    }).pipe(Effect.provide(machine)),
  )

  it.live("may wake the model with exit code 2", () =>
    Effect.gen(function* () {
      const { engine } = yield* engineWith(pre("echo the build broke >&2; exit 2", { asyncRewake: true }))
      yield* engine.fire("PreToolUse", bash("x"))
      const [woken] = yield* Stream.runCollect(Stream.take(engine.wakes, 1))
      assert.strictEqual(woken, "PreToolUse:Bash hook, in the background: the build broke")
    }).pipe(Effect.provide(machine)),
  )

  it.live("end with the session", () =>
    Effect.gen(function* () {
      const tried = yield* Effect.scoped(
        Effect.gen(function* () {
          const made = yield* engineWith(pre("exec sleep 60", { async: true }))
          yield* made.engine.fire("PreToolUse", bash("x"))
          return made
        }),
      )
      assert.deepStrictEqual(
        tried.ran().map(({ outcome }) => outcome),
        ["cancelled"],
      )
    }).pipe(Effect.provide(machine)),
  )
})

describe("variables for later commands", () => {
  it.live("are left in CLAUDE_ENV_FILE, and those of a directory go with it", () =>
    Effect.gen(function* () {
      const leaves = (text: string) => command(`echo 'export ${text}' >> "$CLAUDE_ENV_FILE"`)
      const { engine } = yield* engineWith([
        layer({
          hooks: {
            SessionStart: [{ hooks: [leaves("A=1")] }],
            CwdChanged: [{ hooks: [leaves("B=2")] }],
            PreToolUse: [{ hooks: [command('test -z "$CLAUDE_ENV_FILE" || exit 2')] }],
          },
        }),
      ])
      yield* engine.fire("CwdChanged", { old_cwd: "/a", new_cwd: "/b" })
      yield* engine.fire("SessionStart", { source: "startup" })
      assert.strictEqual(engine.shellPreamble(), "export A=1\n\nexport B=2\n")
      yield* engine.fire("CwdChanged", { old_cwd: "/b", new_cwd: "/c" })
      assert.strictEqual(engine.shellPreamble().match(/B=2/g)?.length, 1)
      assert.isUndefined((yield* engine.fire("PreToolUse", bash("x"))).block)
    }).pipe(Effect.provide(machine)),
  )
})
