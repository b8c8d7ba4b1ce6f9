import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Deferred from "effect/Deferred"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { layer } from "../../src/platform/NodeProcess.ts"
import { Process, type RunOptions } from "../../src/platform/Process.ts"

const temp = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-process-"))

const bash = (script: string, more: Partial<RunOptions> = {}): RunOptions => ({
  command: "bash",
  args: ["-c", script],
  cwd: temp,
  env: { PATH: process.env.PATH },
  maxOutputBytes: 30_000,
  ...more,
})

/** Living (not zombie) processes whose command line names the marker. */
const living = (marker: string): Array<number> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        if (pid === process.pid || /\) [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"))) return false
        return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(marker)
      } catch {
        return false
      }
    })

const marker = (() => {
  let n = 0
  return () => `86${process.pid}.${++n}`
})()

/** Runs until the command says "ready", then interrupts it. */
const interruptWhenReady = Effect.fnUntraced(function* (options: RunOptions) {
  const process = yield* Process
  const ready = yield* Deferred.make<void>()
  const fiber = yield* Effect.forkChild(
    process.run({ ...options, onOutput: () => Deferred.doneUnsafe(ready, Effect.void) }),
  )
  yield* Deferred.await(ready)
  yield* Fiber.interrupt(fiber)
  return fiber
})

describe("Process.run", () => {
  it.live("returns both channels, their order of arrival, and the exit code", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const result = yield* process.run(bash("echo out; sleep 0.05; echo err >&2; exit 3"))
      assert.deepInclude(result, { exitCode: 3, stdout: "out\n", stderr: "err\n", combined: "out\nerr\n" })
      assert.isFalse(result.truncated)
    }).pipe(Effect.provide(layer)),
  )

  it.live("gives the child an empty stdin unless one is given", () =>
    Effect.gen(function* () {
      const process = yield* Process
      assert.strictEqual((yield* process.run(bash("cat; echo end"))).stdout, "end\n")
      assert.strictEqual((yield* process.run(bash("cat", { stdin: "hällo" }))).stdout, "hällo")
    }).pipe(Effect.provide(layer)),
  )

  it.live("survives a child that ends without reading a large stdin", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const result = yield* process.run(bash("exit 0", { stdin: "x".repeat(5_000_000) }))
      assert.strictEqual(result.exitCode, 0)
    }).pipe(Effect.provide(layer)),
  )

  it.live("maps death by signal to 128 + n and names the signal", () =>
    Effect.gen(function* () {
      const process = yield* Process
      assert.deepInclude(yield* process.run(bash("kill -KILL $$")), { exitCode: 137, signal: "SIGKILL" })
    }).pipe(Effect.provide(layer)),
  )

  it.live("tells a missing program from a missing directory from a file that is not executable", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const file = path.join(temp, "plain")
      fs.writeFileSync(file, "", { mode: 0o644 })
      const reason = (more: Partial<RunOptions>) =>
        Effect.map(Effect.flip(process.run(bash("", more))), (error) => error.reason)
      assert.strictEqual(yield* reason({ command: "no-such-program" }), "NotFound")
      assert.strictEqual(yield* reason({ cwd: path.join(temp, "nowhere") }), "BadDirectory")
      assert.strictEqual(yield* reason({ command: file }), "PermissionDenied")
      assert.strictEqual(yield* reason({ args: ["-c", "true", "x".repeat(4_000_000)] }), "TooBig")
    }).pipe(Effect.provide(layer)),
  )

  it.live("does not wait for a background child that holds stdout, and ends it", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const mark = marker()
      const started = performance.now()
      const result = yield* process.run(bash(`sleep ${mark} & echo done`))
      assert.isBelow(performance.now() - started, 3000)
      assert.strictEqual(result.stdout, "done\n")
      assert.isTrue(result.leftoversKilled)
      yield* process.settled
      assert.deepStrictEqual(living(mark), [])
    }).pipe(Effect.provide(layer)),
  )

  it.live("keeps the first and last part in memory and writes everything to disk", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const spillTo = path.join(temp, "deep/er/spill.txt")
      const result = yield* process.run(bash("seq 1 200000", { maxOutputBytes: 1000, spillTo }))
      const whole = Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join("")
      assert.strictEqual(fs.readFileSync(spillTo, "utf8"), whole)
      assert.strictEqual(fs.statSync(spillTo).mode & 0o777, 0o600)
      assert.strictEqual(result.spilledTo, spillTo)
      assert.isTrue(result.truncated)
      assert.strictEqual(result.totalBytes, whole.length)
      assert.isTrue(result.combined.startsWith("1\n2\n3\n"))
      assert.isTrue(result.combined.endsWith("199999\n200000\n"))
      assert.include(result.combined, `${whole.length - 1000} bytes omitted`)
    }).pipe(Effect.provide(layer)),
  )

  it.live("stops the file on disk at its limit", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const spillTo = path.join(temp, "short.txt")
      const result = yield* process.run(bash("seq 1 200000", { maxOutputBytes: 100, spillTo, maxSpillBytes: 5000 }))
      assert.strictEqual(fs.statSync(spillTo).size, 5000)
      assert.strictEqual(result.exitCode, 0)
    }).pipe(Effect.provide(layer)),
  )

  it.live("leaves no file when the output fits", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const spillTo = path.join(temp, "never.txt")
      const result = yield* process.run(bash("echo small", { spillTo }))
      assert.isUndefined(result.spilledTo)
      assert.isFalse(fs.existsSync(spillTo))
    }).pipe(Effect.provide(layer)),
  )

  it.live("never shows half a character at the cut", () =>
    Effect.gen(function* () {
      const process = yield* Process
      for (const limit of [9, 10, 11, 12, 13]) {
        const result = yield* process.run(bash("printf '€%.0s' {1..50}", { maxOutputBytes: limit }))
        assert.notInclude(result.stdout, "\uFFFD")
      }
    }).pipe(Effect.provide(layer)),
  )

  it.live("ends the whole group at the timeout, also children that ignore TERM", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const mark = marker()
      const result = yield* process.run(
        bash(`trap '' TERM; sleep ${mark} & sleep ${mark} & wait; wait`, {
          timeout: "200 millis",
          killGrace: "100 millis",
        }),
      )
      assert.isTrue(result.timedOut)
      assert.strictEqual(result.exitCode, 137)
      assert.deepStrictEqual(living(mark), [])
    }).pipe(Effect.provide(layer)),
  )

  it.live("kills the group on interrupt without making the interrupter wait", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const mark = marker()
      const started = yield* Effect.sync(() => performance.now())
      yield* interruptWhenReady(
        bash(`trap '' TERM; sleep ${mark} & sleep ${mark} & echo ready; wait; wait`, { killGrace: "300 millis" }),
      )
      const interrupted = performance.now()
      assert.isBelow(interrupted - started, 2000)
      assert.isNotEmpty(living(mark))
      yield* process.settled
      assert.deepStrictEqual(living(mark), [])
    }).pipe(Effect.provide(layer)),
  )

  it.live("also kills a grandchild that left the group with setsid and lost its parent", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const mark = marker()
      yield* interruptWhenReady(
        bash(
          `(setsid sleep ${mark} &) ; (setsid bash -c 'env -i sleep ${mark}; true' &); sleep 0.2; echo ready; sleep ${mark}`,
        ),
      )
      yield* process.settled
      assert.deepStrictEqual(living(mark), [])
    }).pipe(Effect.provide(layer)),
  )

  it.live("wakes a stopped child so that it can end", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const mark = marker()
      yield* interruptWhenReady(bash(`sleep ${mark} & kill -STOP $!; echo ready; wait`, { killGrace: "10 seconds" }))
      yield* process.settled
      assert.deepStrictEqual(living(mark), [])
    }).pipe(Effect.provide(layer)),
  )

  it.live("leaves nothing behind when the service closes", () =>
    Effect.gen(function* () {
      const mark = marker()
      yield* Effect.gen(function* () {
        const process = yield* Process
        yield* process.run(bash(`setsid sleep ${mark} >/dev/null 2>&1 & sleep 0.1`))
        assert.isNotEmpty(living(mark))
      }).pipe(Effect.provide(layer))
      assert.deepStrictEqual(living(mark), [])
    }),
  )
})

describe("Process.spawn", () => {
  it.live("streams output in pieces, takes input, and reports the exit", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const child = yield* process.spawn({ ...bash("while read line; do echo got $line; done; exit 4"), stdin: "pipe" })
      yield* child.write("one\ntwo\n")
      yield* child.closeStdin
      const text = yield* Stream.runFold(
        child.output,
        () => "",
        (all, output) => all + output.text,
      )
      assert.strictEqual(text, "got one\ngot two\n")
      assert.deepStrictEqual(yield* child.exit, { exitCode: 4 })
      const late = yield* Effect.exit(child.write("late"))
      assert.isTrue(Exit.isFailure(late))
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("loses nothing to a slow reader, and makes the child wait meanwhile", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const { stdin: _, ...options } = bash("head -c 20000000 /dev/zero | tr '\\0' x; echo finished >&2")
      const child = yield* process.spawn(options)
      yield* Effect.sleep("300 millis")
      let bytes = 0
      yield* Stream.runForEach(child.output, (output) => Effect.sync(() => (bytes += output.text.length)))
      assert.strictEqual(bytes, 20_000_000 + "finished\n".length)
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("ends the child when its scope closes", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const mark = marker()
      const scope = yield* Scope.make()
      const { stdin: _, ...options } = bash(`echo up; sleep ${mark}`)
      const child = yield* Scope.provide(process.spawn(options), scope)
      yield* Stream.runHead(child.output)
      yield* Scope.close(scope, Exit.void)
      yield* process.settled
      assert.deepStrictEqual(living(mark), [])
      assert.strictEqual((yield* child.exit).exitCode, 143)
    }).pipe(Effect.provide(layer)),
  )

  it.live("writes to a log file when asked, as far as it may grow", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const logTo = path.join(temp, "logs/one.log")
      const { stdin: _, ...options } = bash("echo out; echo err >&2")
      const seen: Array<string> = []
      const child = yield* process.spawn({ ...options, logTo, onOutput: ({ from }) => seen.push(from) })
      yield* child.drained
      assert.strictEqual(fs.readFileSync(logTo, "utf8"), "out\nerr\n")
      assert.deepStrictEqual(child.log(), { totalBytes: 8, writtenBytes: 8 })
      assert.sameMembers(seen, ["stdout", "stderr"])
      assert.isFalse(yield* child.alive)

      const { stdin: __, ...long } = bash("seq 1 1000")
      const cut = yield* process.spawn({ ...long, logTo, maxLogBytes: 20 })
      yield* cut.drained
      assert.match(fs.readFileSync(logTo, "utf8"), /^1\n2\n[\s\S]{16}\n\[The output is longer than 20 bytes/)
      assert.deepInclude(cut.log(), { totalBytes: 3893, writtenBytes: 20, problem: "it is longer than 20 bytes" })
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("does not start a command whose log cannot be opened", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const { stdin: _, ...options } = bash(`touch ${temp}/never`)
      const error = yield* Effect.flip(process.spawn({ ...options, logTo: temp }))
      assert.match(error.message, /cannot open its log/)
      assert.isFalse(fs.existsSync(path.join(temp, "never")))
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("knows what a leader left behind, and ends it with the scope or by a variable it carries", () =>
    Effect.gen(function* () {
      const process = yield* Process
      const mark = marker()
      const { stdin: _, ...options } = bash(`setsid sleep ${mark} & sleep 0.1`)
      const launch = process.spawn({
        ...options,
        env: { ...options.env, MARK: mark },
        logTo: path.join(temp, "left.log"),
      })
      const scope = yield* Scope.make()
      const child = yield* Scope.provide(launch, scope)
      yield* child.drained
      assert.isTrue(yield* child.alive)
      yield* Scope.close(scope, Exit.void)
      yield* process.settled
      assert.deepStrictEqual(living(mark), [])
      assert.isFalse(yield* child.alive)

      const other = yield* launch
      yield* other.drained
      assert.isFalse(yield* process.endStrays("MARK", mark.slice(0, -1)))
      assert.isNotEmpty(living(mark))
      assert.isTrue(yield* process.endStrays("MARK", mark))
      assert.deepStrictEqual(living(mark), [])
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )
})
