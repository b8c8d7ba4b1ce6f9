import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as fs from "node:fs"
import * as path from "node:path"
import { Process } from "../../../src/platform/Process.ts"
import { Bash } from "../../../src/tools/builtin/Bash.ts"
import type { ToolFailure } from "../../../src/tools/Tool.ts"
import { Workspace } from "../../../src/tools/Workspace.ts"
import { call, inWorkspace, refusal, said } from "./kit.ts"

const bash = (command: string, more: object = {}) => said(Bash, { command, ...more })
const failed = (command: string, more: object = {}) =>
  Effect.map(Effect.flip(call(Bash, { command, ...more })), (error: ToolFailure) => error)

/** Living (not zombie) processes whose command line names the marker. */
const living = (marker: string): number =>
  fs.readdirSync("/proc").filter((name) => {
    try {
      if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
      if (/\) [ZX] /.test(fs.readFileSync(`/proc/${name}/stat`, "utf8"))) return false
      return fs.readFileSync(`/proc/${name}/cmdline`, "utf8").includes(marker)
    } catch {
      return false
    }
  }).length

describe("Bash", () => {
  it.live("returns what a command prints on both channels, in order, and its typed output", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const output = yield* call(Bash, { command: "echo out; echo err >&2", description: "print" })
        assert.sameMembers(String(output.content).split("\n"), ["out", "err"])
        assert.deepInclude(output.structured, { stdout: "out\n", stderr: "err\n", interrupted: false, exitCode: 0 })
        assert.strictEqual(yield* bash("true"), "(no output)")
        assert.strictEqual(yield* bash("cat <<'EOF'\na $b\nEOF"), "a $b")
        assert.strictEqual(yield* bash('echo "[$#]"'), "[0]")
      }),
    ),
  )

  it.live("fails with the exit code and the output", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const error = yield* failed("echo before; exit 3")
        assert.strictEqual(error.message, "Exit code 3\nbefore")
        assert.deepInclude(error.structured, { exitCode: 3, stdout: "before\n" })
        assert.match((yield* failed("no-such-program-here")).message, /Exit code 127\n.*not found/)
        assert.match((yield* failed("kill -9 $$")).message, /Exit code 137 \(ended by SIGKILL\)/)
        assert.match((yield* failed("if then")).message, /syntax error/)
      }),
    ),
  )

  it.live("takes exit code 1 of a search or comparison as its answer", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        put("a", "x\n")
        put("b", "y\n")
        assert.strictEqual(yield* bash("grep nothing a"), "(exit code 1: no match)")
        assert.match(yield* bash("cat a | diff - b"), /^\(exit code 1: the files differ\)\n1c1/)
        assert.match((yield* failed("grep x missing")).message, /Exit code 2/)
      }),
    ),
  )

  it.live("starts the next command where the last one ended, but never outside the workspace", () =>
    inWorkspace(({ root, at, put }) =>
      Effect.gen(function* () {
        const workspace = yield* Workspace
        put("src/a.ts", "")
        yield* bash("cd src")
        assert.strictEqual(yield* bash("pwd"), at("src"))
        yield* failed("cd ..; exit 9")
        assert.strictEqual(workspace.cwd(), root)
        const out = yield* bash("cd /tmp && pwd")
        assert.strictEqual(out, `/tmp\n[/tmp is outside the workspace; the next command starts in ${root} again.]`)
        assert.strictEqual(yield* bash("pwd"), root)
        yield* bash("mkdir gone && cd gone && rmdir ../gone")
        assert.strictEqual(yield* bash("pwd"), root)
        yield* bash("cd src && rm -r ../src && mkdir ../src")
        fs.rmdirSync(at("src"))
        assert.strictEqual(yield* bash("pwd"), root)
        assert.deepStrictEqual(fs.readdirSync(workspace.spillDir), [])
      }),
    ),
  )

  it.live("gives the command the session's environment and an empty stdin", () =>
    inWorkspace(
      () =>
        Effect.gen(function* () {
          assert.strictEqual(yield* bash('echo "$GREETING $CLAUDECODE"; cat'), "hello 1")
        }),
      { env: { GREETING: "hello" } },
    ),
  )

  it.live("ends a command and everything it started when its time is up", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const marker = `77${process.pid}.1`
        const error = yield* failed(`echo begun; sleep ${marker} & sleep ${marker}; wait`, { timeout: 300 })
        assert.match(error.message, /^The command was ended after 0\.3 s, with everything it had started\.\nbegun/)
        assert.deepInclude(error.structured, { interrupted: true })
        yield* (yield* Process).settled
        assert.strictEqual(living(marker), 0)
      }),
    ),
  )

  it.live("leaves no process behind when it is interrupted", () =>
    inWorkspace(({ at }) =>
      Effect.gen(function* () {
        const marker = `78${process.pid}.1`
        const started = yield* Deferred.make<void>()
        const command = `sleep ${marker} & echo ready > ${at("ready")}; echo ready; sleep ${marker}; wait`
        const fiber = yield* Effect.forkChild(
          call(Bash, { command }, () => Deferred.doneUnsafe(started, Effect.void)),
          { startImmediately: true },
        )
        yield* Deferred.await(started)
        assert.isAbove(living(marker), 0)
        yield* Fiber.interrupt(fiber)
        yield* (yield* Process).settled
        assert.strictEqual(living(marker), 0)
      }),
    ),
  )

  it.live("ends what a command leaves in the background, and says so", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const marker = `79${process.pid}.1`
        const out = yield* bash(`sleep ${marker} >/dev/null 2>&1 & echo done`)
        assert.match(out, /^done\n\[It left processes running in the background; they were ended\.\]$/)
        yield* (yield* Process).settled
        assert.strictEqual(living(marker), 0)
      }),
    ),
  )

  it.live("cuts long output in the middle and keeps the whole of it on disk", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const workspace = yield* Workspace
        const output = yield* call(Bash, { command: "seq 1 100000" })
        const text = String(output.content)
        assert.isAtMost(text.length, Bash.maxResultChars)
        assert.match(text, /^1\n2\n[\s\S]*bytes omitted[\s\S]*\n100000\n\[The whole output, 588895 bytes, is in /)
        const saved = (output.structured as { persistedOutputPath: string }).persistedOutputPath
        assert.strictEqual(path.dirname(saved), workspace.spillDir)
        assert.isTrue(yield* workspace.contains(saved))
        assert.strictEqual(fs.statSync(saved).size, 588_895)
        assert.strictEqual(fs.statSync(saved).mode & 0o777, 0o600)
        assert.match((yield* failed("seq 1 100000; exit 4")).message, /^Exit code 4\n1\n2[\s\S]*The whole output/)
      }),
    ),
  )

  it.live("takes a gigabyte of output without the memory or the disk for it", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const before = process.memoryUsage().rss
        let most = before
        const output = yield* call(Bash, { command: "head -c 1073741824 /dev/zero | tr '\\0' x" }, () => {
          most = Math.max(most, process.memoryUsage().rss)
        })
        assert.isBelow(Math.max(most, process.memoryUsage().rss) - before, 100 * 1024 * 1024)
        assert.match(
          String(output.content),
          /\[The output has 1073741824 bytes; only its beginning is in .*longer than/,
        )
        const saved = (output.structured as { persistedOutputPath: string }).persistedOutputPath
        assert.strictEqual(fs.statSync(saved).size, 64 * 1024 * 1024)
      }),
    ),
  )

  it.live("refuses arguments that make no sense", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        assert.match(yield* refusal(Bash, { command: "" }), /command/)
        assert.match(yield* refusal(Bash, { command: ["ls"] }), /Expected string/)
        assert.match(yield* refusal(Bash, { command: "ls", timeout: 600_001 }), /at most 600000 ms/)
        assert.match(yield* refusal(Bash, { command: "ls", timeout: 0 }), /timeout/)
        assert.match(yield* refusal(Bash, { command: "ls \0" }), /NUL/)
      }),
    ),
  )
})
