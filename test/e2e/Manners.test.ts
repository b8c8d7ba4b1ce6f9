/** How the command behaves among other programs: pipes, logs, completions, and no control code where no terminal is. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { endedWith, linesOf, place, root, toldLast, world } from "./world.ts"

const says = (reply: string) => ({ rules: [{ reply }] })

describe.concurrent("a pipe", () => {
  it.live("adds what comes through it to the prompt, or is the prompt", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(says("Fine."))
      endedWith(yield* run(["-p", "review this"], { input: "+ added line\n" }), 0)
      endedWith(yield* run(["-p"], { input: "only the pipe" }), 0)
      endedWith(yield* run(["-p", "nothing comes"], { input: "" }), 0)
      const told = (yield* requests).map(toldLast)
      assert.match(told[0] ?? "", /review this\\?n?\n?\+ added line/)
      assert.include(told[1] ?? "", "only the pipe")
      assert.include(told[2] ?? "", "nothing comes")
    }),
  )

  it.live("without anything in it is no prompt", () =>
    Effect.gen(function* () {
      const { run } = yield* world(says("Fine."))
      const ended = yield* run(["-p"], { input: "" })
      endedWith(ended, 1)
      assert.include(ended.err, "stdin is empty")
    }),
  )

  it.live("with too much, or with something that is no text, is refused with what to do instead", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(says("Fine."))
      const huge = yield* run(["-p", "read"], { input: "x".repeat(10_000_001) })
      endedWith(huge, 1)
      assert.match(huge.err, /more than 10 MB. Save it to a file/)
      const binary = yield* run(["-p", "read"], { input: "\u007fELF\u0000\u0001" })
      endedWith(binary, 1)
      assert.match(binary.err, /no text. Save it to a file/)
      assert.lengthOf(yield* requests, 0)
    }),
  )
})

const commands: ReadonlyArray<ReadonlyArray<string>> = [
  ["--help"],
  ["config", "--help"],
  ["config", "explain", "--help"],
  ["config", "list", "--help"],
  ["config", "set", "--help"],
  ["config", "unset", "--help"],
  ["config", "trust", "--help"],
  ["model", "serve", "--help"],
  ["demo", "--help"],
  ["completion", "--help"],
]

describe.concurrent("where no terminal is", () => {
  it.live("no command writes a control code, also when it fails", () =>
    Effect.gen(function* () {
      const { run } = yield* world(says("Fine. 漢字 🎉"))
      const all = [
        ...commands,
        ["--version"],
        ["config", "list"],
        ["config", "explain"],
        ["config", "trust"],
        ["config", "set", "model", "opus"],
        ["completion", "bash"],
        ["__man"],
        ["-p", "x"],
        ["-p", "x", "--verbose"],
        ["-p", "x", "--output-format", "json"],
        ["-p", "x", "--output-format", "stream-json", "--verbose"],
        ["--wrong"],
        ["-p", "x", "--resume", "123e4567-e89b-42d3-a456-426614174000"],
        ["model", "serve", "nowhere.yaml"],
      ]
      for (const argv of all) {
        const { out, err } = yield* run(argv, { env: { TERM: "xterm-256color" } })
        assert.notMatch(out + err, /[^\P{Cc}\n\t]/u, argv.join(" "))
        assert.isAbove((out + err).length, 0, argv.join(" "))
      }
    }),
  )

  it.live("colours come when they are asked for", () =>
    Effect.gen(function* () {
      const { run } = yield* place()
      assert.include((yield* run(["demo"], { env: { FORCE_COLOR: "1" } })).out, "\u001b[32m")
    }),
  )
})

describe.concurrent("help", () => {
  it.live("of every command says how it is used, with an example", () =>
    Effect.gen(function* () {
      const { run } = yield* place()
      for (const argv of commands) {
        const ended = yield* run(argv)
        endedWith(ended, 0)
        assert.match(ended.out, /^Usage: troupe /, argv.join(" "))
        assert.match(ended.out, /\nExamples:\n {2}\S/, argv.join(" "))
      }
    }),
  )

  it.live("guesses what was meant: a command, a flag, a value", () =>
    Effect.gen(function* () {
      const { run } = yield* place()
      const table: ReadonlyArray<[ReadonlyArray<string>, string]> = [
        [["config", "explian"], "explain"],
        [["--modle", "x"], "--model"],
        [["config", "list", "--jsn"], "--json"],
        [["x", "--permission-mode", "acceptEdit"], "acceptEdits"],
        [["x", "-p", "--output-format", "jsn"], "json"],
        [["completion", "zhs"], "zsh"],
      ]
      for (const [argv, meant] of table) {
        const ended = yield* run(argv)
        endedWith(ended, 2)
        assert.include(ended.err, `Did you mean ${meant}?`, argv.join(" "))
      }
    }),
  )
})

describe.concurrent("--debug", () => {
  const key = "sk-ant-very-secret-0123456789"
  const busy = {
    rules: [
      { when: { request: 1 }, reply: "never", faults: [{ status: 529 }] },
      { when: { turn: 1 }, reply: [{ tool: "Bash", input: { command: "echo hidden-argument" } }] },
      { reply: "Done." },
    ],
  }

  it.live("keeps a log that tells what happened, and none of the secrets", () =>
    Effect.gen(function* () {
      const { run, config, write } = yield* world(busy)
      write(path.join(config, "settings.json"), '{"model":"sonnet"}')
      const id = "123e4567-e89b-42d3-a456-426614174000"
      const env = { ANTHROPIC_API_KEY: key, ANTHROPIC_CUSTOM_HEADERS: `X-Token: ${key}-header` }
      const ended = yield* run(["-p", "private words", "--debug", "--session-id", id, "--allowedTools", "Bash"], {
        env,
      })
      endedWith(ended, 0)
      assert.strictEqual(ended.out, "Done.\n")
      const file = path.join(config, "troupe/debug", `${id}.txt`)
      assert.include(ended.err, `the debug log is ${file}\n`)
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(fs.readlinkSync(path.join(config, "troupe/debug/latest")), `${id}.txt`)
      const log = fs.readFileSync(file, "utf8")
      for (const line of log.trimEnd().split("\n"))
        assert.match(line, /^\d{4}-\d\d-\d\dT[\d:.]+Z \[[A-Z]+\] \[[a-z]+\] \S/)
      for (const told of [
        /\[startup\] Session version=/,
        /\[settings\] read kind=user from=\S+settings\.json keys=model/,
        /\[api\] request id=\S+ attempt=1 model=/,
        /\[api\] http to="POST http:\S+" status=529 ms=\d+ request=\S+/,
        /\[api\] retry .*status=529/,
        /\[api\] http .* status=200/,
        /\[permissions\] allow .*tool=Bash/,
        /\[tools\] end .*tool=Bash outcome=completed ms=\d+/,
        /\[session\] turn ended .*reason=completed/,
        /\[session\] close/,
      ]) {
        assert.match(log, told)
      }
      for (const secret of [key, "private words", "hidden-argument"]) assert.notInclude(log + ended.err, secret)
    }),
  )

  it.live("keeps only the categories that are asked for, where it is told to", () =>
    Effect.gen(function* () {
      const { run, read, config } = yield* world(busy)
      const ended = yield* run([
        "-p",
        "x",
        "--debug",
        "tools,permissions",
        "--debug-file",
        "logs/a.txt",
        "--allowedTools",
        "Bash",
      ])
      endedWith(ended, 0)
      const categories = new Set([...read("logs/a.txt").matchAll(/\[DEBUG\] \[(\w+)\]/g)].map(([, name]) => name))
      assert.deepStrictEqual([...categories].toSorted(), ["permissions", "tools"])
      assert.isFalse(fs.existsSync(path.join(config, "troupe/debug")))
    }),
  )

  it.live("writes nothing when nobody asks, and says so when it cannot", () =>
    Effect.gen(function* () {
      const { run, config, work } = yield* world(says("Fine."))
      endedWith(yield* run(["-p", "x"]), 0)
      assert.isFalse(fs.existsSync(path.join(config, "troupe/debug")))
      const ended = yield* run(["config", "list", "--debug-file", work])
      assert.strictEqual(ended.code, 1)
      assert.match(ended.err, /The debug log .* cannot be written: .*Name another place with --debug-file/)
    }),
  )

  it.live("does not disturb what a program reads", () =>
    Effect.gen(function* () {
      const { run } = yield* world(says("Fine."))
      const ended = yield* run(["-p", "x", "--debug", "--output-format", "stream-json"])
      endedWith(ended, 0)
      assert.strictEqual(linesOf(ended.out).at(-1)?.type, "result")
    }),
  )
})

describe("completion of the built command", () => {
  it.live("works in bash, session ids included, and is fast enough for a key press", () =>
    Effect.gen(function* () {
      const { run, env, work, directory } = yield* world(says("Fine."))
      const id = "123e4567-e89b-42d3-a456-426614174000"
      endedWith(yield* run(["-p", "the first words", "--session-id", id]), 0)
      const bin = path.join(directory, "bin")
      fs.mkdirSync(bin)
      fs.symlinkSync(path.join(root, "bin/troupe.js"), path.join(bin, "troupe"))
      const code =
        'eval "$(troupe completion bash)"; COMP_WORDS=(troupe --resume ""); COMP_CWORD=2; _troupe; echo "${COMPREPLY[@]}"'
      const options = { cwd: work, encoding: "utf8" as const, env: { ...env, PATH: `${bin}:${env["PATH"]}` } }
      assert.strictEqual(execFileSync("bash", ["--norc", "-c", code], options), `${id}\n`)
      assert.match(
        execFileSync("troupe", ["__complete", "sessions"], options),
        new RegExp(`^${id}\t[-0-9: ]+ the first words\n$`),
      )
    }),
  )
})
