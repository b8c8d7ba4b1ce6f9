import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as StatusInput from "../../src/cli/StatusInput.ts"
import * as StatusLine from "../../src/cli/StatusLine.ts"
import { fit } from "../../src/cli/Styled.ts"
import { TroupeNode } from "../../src/node/index.ts"
import { Host } from "../../src/platform/Host.ts"
import { Process, type RunOptions, type RunResult } from "../../src/platform/Process.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"
import * as Events from "./events.ts"

const facts: StatusInput.StatusFacts = {
  sessionId: "s1",
  transcriptPath: "/c/s1.jsonl",
  cwd: "/w",
  addedDirs: [],
  version: "1.0.0",
  outputStyle: "default",
  startedAt: 0,
}
const model = { id: "claude-opus-5", contextWindow: 1_000, thinks: true }
const settle = Effect.repeat(Effect.yieldNow, { times: 50 })

interface Script {
  readonly setting?: Partial<StatusLine.Setting>
  readonly answer?: (options: RunOptions, run: number) => Effect.Effect<Partial<RunResult>>
}

const start = Effect.fnUntraced(function* ({ answer, setting }: Script = {}) {
  const runs: Array<RunOptions> = []
  const cancelled: Array<number> = []
  const scripted = Process.layerScripted((options) => {
    const run = runs.push(options)
    const said = answer?.(options, run) ?? Effect.succeed({ stdout: `run ${run}\n` })
    return Effect.onInterrupt(said, () => Effect.sync(() => void cancelled.push(run)))
  })
  const process = yield* Effect.provide(Effect.service(Process), scripted)
  const status = yield* StatusLine.make({
    setting: { type: "command", command: "mine", ...setting },
    process,
    env: { HOME: "/home/user" },
    facts,
    model: Effect.succeed(model),
    columns: () => 40,
    rows: () => 12,
    color: true,
  })
  yield* settle
  return { status, runs, cancelled }
})

const Sent = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
const sent = (options: RunOptions | undefined) => Schema.decodeUnknownSync(Sent)(options?.stdin)

describe("the status line", () => {
  it.effect("runs the command when the session begins, with its data and the size of the terminal", () =>
    Effect.gen(function* () {
      const { runs, status } = yield* start({ setting: { padding: 2 } })
      assert.deepStrictEqual(status.lines(), ["  run 1"])
      assert.deepStrictEqual([runs[0]?.command, ...(runs[0]?.args ?? [])], ["/bin/sh", "-c", "mine"])
      assert.deepStrictEqual(runs[0]?.env, { HOME: "/home/user", COLUMNS: "40", LINES: "12" })
      assert.deepInclude(sent(runs[0]), {
        session_id: "s1",
        transcript_path: "/c/s1.jsonl",
        model: { id: "claude-opus-5", display_name: "Opus 5" },
        workspace: { current_dir: "/w", project_dir: "/w", added_dirs: [] },
        exceeds_200k_tokens: false,
      })
      assert.notProperty(sent(runs[0]), "prompt_id")
    }).pipe(Effect.scoped),
  )

  it.effect("runs once after changes that come close together, and not for what does not matter", () =>
    Effect.gen(function* () {
      const { runs, status } = yield* start()
      status.lines()
      yield* status.hear(Events.prompted())
      yield* status.hear(Events.replied())
      yield* TestClock.adjust("200 millis")
      yield* status.hear(Events.replied())
      yield* TestClock.adjust("299 millis")
      assert.lengthOf(runs, 1)
      yield* TestClock.adjust("1 millis")
      yield* status.changed
      assert.deepStrictEqual(status.lines(), ["run 2"])
      yield* status.hear(Events.prompted())
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(runs, 2)
      assert.deepInclude(sent(runs[1]), {
        prompt_id: "p1",
        cost: {
          total_cost_usd: 0.5,
          total_duration_ms: 500,
          total_api_duration_ms: 1800,
          total_lines_added: 0,
          total_lines_removed: 0,
        },
        context_window: {
          total_input_tokens: 550,
          total_output_tokens: 20,
          context_window_size: 1000,
          used_percentage: 55,
          remaining_percentage: 45,
          current_usage: {
            input_tokens: 100,
            output_tokens: 20,
            cache_creation_input_tokens: 50,
            cache_read_input_tokens: 400,
          },
        },
      })
    }).pipe(Effect.scoped),
  )

  it.effect("ends a run that a newer one makes useless, and one that never ends", () =>
    Effect.gen(function* () {
      const answer = (_: RunOptions, run: number) => (run === 1 ? Effect.never : Effect.succeed({ stdout: "new" }))
      const { cancelled, runs, status } = yield* start({ answer })
      assert.deepStrictEqual(status.lines(), [])
      yield* status.hear(Events.replied())
      yield* settle
      assert.deepStrictEqual(cancelled, [1])
      yield* TestClock.adjust("300 millis")
      assert.deepStrictEqual(status.lines(), ["new"])
      assert.strictEqual(runs[0]?.timeout, "10 seconds")
    }).pipe(Effect.scoped),
  )

  it.effect("runs by the clock when settings say so, but not into a run that is slow", () =>
    Effect.gen(function* () {
      const slow = (_: RunOptions, run: number) => Effect.delay(Effect.succeed({ stdout: `${run}` }), "2500 millis")
      const { cancelled, runs } = yield* start({ setting: { refreshInterval: 1 }, answer: slow })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(cancelled, [])
      assert.isAbove(runs.length, 2)
      assert.isBelow(runs.length, 5)
    }).pipe(Effect.scoped),
  )

  it.effect("is empty when the command fails, and short when it talks too much", () =>
    Effect.gen(function* () {
      const { status } = yield* start({ answer: () => Effect.succeed({ exitCode: 1, stdout: "half" }) })
      assert.deepStrictEqual(status.lines(), [])
      const { status: long } = yield* start({ answer: () => Effect.succeed({ stdout: "line\n".repeat(1000) }) })
      assert.lengthOf(long.lines(), 10)
    }).pipe(Effect.scoped),
  )

  it.live("is what a real command prints", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const host = yield* Host
      const status = yield* StatusLine.make({
        setting: {
          type: "command",
          command: `printf '\\033[32m%s\\033[0m %s' "$COLUMNS" "$(cat | wc -c)"; cat /etc/nope; true`,
        },
        process,
        env: host.allEnv,
        facts: { ...facts, cwd: "/" },
        model: Effect.succeed(model),
        columns: () => 33,
        rows: () => 10,
        color: true,
      })
      yield* status.changed
      const [line = ""] = status.lines()
      assert.isTrue(line.startsWith("\u001b[32m33\u001b[0m"), line)
      assert.match(line, / \d{3}$/)
    }).pipe(Effect.scoped, Effect.provide(TroupeNode.layer)),
  )
})

describe("the setting of the status line", () => {
  const of = (files: Readonly<Record<string, string>>, trusted = true) =>
    Effect.gen(function* () {
      return (yield* StatusLine.configured(yield* Settings))?.command
    }).pipe(
      Effect.provide(
        Settings.layer({ cwd: "/w", managedDirectory: "/etc/claude-code", trusted: () => trusted }).pipe(
          Layer.provide(MemoryWorkspace.layer(files, { cwd: "/w" })),
        ),
      ),
    )
  const line = (command: string, more = "") => `{"statusLine":{"type":"command","command":"${command}"}${more}}`
  const user = "/home/user/.claude/settings.json"
  const project = "/w/.claude/settings.json"
  const managed = "/etc/claude-code/managed-settings.json"

  it.effect("is the strongest that counts", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* of({}))
      assert.strictEqual(yield* of({ [user]: line("u"), [project]: line("p") }), "p")
      assert.strictEqual(yield* of({ [user]: line("u"), [project]: line("p") }, false), "u")
      assert.isUndefined(yield* of({ [user]: line(" ") }))
    }),
  )

  it.effect("is only the machine's where hooks are off", () =>
    Effect.gen(function* () {
      const off = ',"disableAllHooks":true'
      assert.isUndefined(yield* of({ [user]: line("u", off) }))
      assert.strictEqual(yield* of({ [user]: line("u", off), [managed]: line("m") }), "m")
      assert.isUndefined(yield* of({ [managed]: line("m", off) }))
      assert.isUndefined(yield* of({ [user]: line("u"), [managed]: '{"allowManagedHooksOnly":true}' }))
    }),
  )
})

describe("a line with colours and links", () => {
  const green = (text: string) => `\u001b[32m${text}\u001b[0m`
  const link = (text: string) => `\u001b]8;;https://x.y\u0007${text}\u001b]8;;\u0007`

  it("keeps them, and loses everything else that moves a terminal", () => {
    assert.strictEqual(fit(`${green("a")} ${link("b")}`, 40, true), `${green("a")} ${link("b")}`)
    assert.strictEqual(fit("a\u001b[2Jb\u001b]0;title\u0007c\rd\u0007", 40, true), "abc d")
    assert.strictEqual(fit(green("a"), 40, false), "a")
  })

  it("is cut to its columns, with what it opened closed", () => {
    assert.strictEqual(fit(green("abcdef"), 3, true), green("abc"))
    assert.strictEqual(fit("\u001b[31mabcdef", 3, true), "\u001b[31mabc\u001b[0m")
    assert.strictEqual(fit("\u001b]8;;u\u0007abcdef", 2, true), "\u001b]8;;u\u0007ab\u001b]8;;\u0007")
    assert.strictEqual(fit("日本語", 5, true), "日本")
  })
})

describe("what a status line is told", () => {
  it("counts the lines that changed", () => {
    const structured = { structuredPatch: [{ lines: ["+a", "+b", "-c", " d"] }] }
    const ended = Events.toolEnded("t", "Edit", { structured })
    assert.include(StatusInput.hear(StatusInput.empty, ended), { added: 2, removed: 1 })
  })

  it.each([
    ["git@github.com:anthropics/claude-code.git", { host: "github.com", owner: "anthropics", name: "claude-code" }],
    ["https://user@gitlab.com/a/b/c.git", { host: "gitlab.com", owner: "a/b", name: "c" }],
    ["ssh://git@host:2222/o/n", { host: "host", owner: "o", name: "n" }],
    ["/local/path", undefined],
  ])("knows the repository at %s", (url, expected) => {
    const config = `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n\tfetch = +x\n[branch "main"]\n`
    assert.deepStrictEqual(StatusInput.repoOf(config), expected)
  })
})
