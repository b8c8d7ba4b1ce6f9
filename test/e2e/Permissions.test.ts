/** What a session without a terminal may do: every permission mode and rule, from the outside. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { endedWith, linesOf, offered, resultOf, toldLast, world } from "./world.ts"

/** Writes a file, runs a command, and ends by saying what came of the two. */
const tries = {
  rules: [
    {
      when: { turn: 1, system: { matches: "Working directory: (?<cwd>.*)" } },
      reply: [
        { tool: "Write", input: { file_path: "${cwd}/new.txt", content: "new\n" } },
        { tool: "Bash", input: { command: "touch ran.txt" } },
      ],
    },
    { when: { turn: 2 }, reply: "Ended." },
  ],
}

/** What happened in the workspace, what the model was told, and the result. */
const attempt = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
  const { run, requests, work } = yield* world(tries)
  const ended = yield* run(["-p", "go", "--output-format", "stream-json", ...flags])
  endedWith(ended, 0)
  return {
    wrote: fs.existsSync(path.join(work, "new.txt")),
    ran: fs.existsSync(path.join(work, "ran.txt")),
    told: toldLast((yield* requests)[1]),
    offered: offered((yield* requests)[0]),
    lines: linesOf(ended.out),
    result: resultOf(ended),
  }
})

describe.concurrent("with nobody to ask", () => {
  it.live("the default mode denies what changes anything, and says how to allow it", () =>
    Effect.gen(function* () {
      const { wrote, ran, told, lines, result } = yield* attempt("--permission-mode", "default")
      assert.deepStrictEqual([wrote, ran], [false, false])
      assert.match(told, /Write needs approval and nobody is there.*--allowedTools \\"Write\\".*--permission-mode/)
      assert.strictEqual(lines.filter((line) => line.subtype === "permission_denied").length, 2)
      const denials = result["permission_denials"]
      assert(Array.isArray(denials))
      assert.deepStrictEqual(
        denials.map((denial) => denial.tool_name),
        ["Write", "Bash"],
      )
      assert.strictEqual(denials[1]?.tool_input.command, "touch ran.txt")
    }),
  )

  it.live("a rule of --allowedTools lets its tool through and no other", () =>
    Effect.gen(function* () {
      const byName = yield* attempt("--allowedTools", "Write")
      assert.deepStrictEqual([byName.wrote, byName.ran], [true, false])
      const byPrefix = yield* attempt("--allowedTools", "Bash(touch *)")
      assert.deepStrictEqual([byPrefix.wrote, byPrefix.ran], [false, true])
    }),
  )

  it.live("a rule of --disallowedTools wins over everything, and a tool forbidden whole is not offered", () =>
    Effect.gen(function* () {
      const { wrote, ran, offered } = yield* attempt("--dangerously-skip-permissions", "--disallowedTools", "Bash")
      assert.deepStrictEqual([wrote, ran], [true, false])
      assert.notInclude(offered, "Bash")
      const part = yield* attempt("--dangerously-skip-permissions", "--disallowedTools", "Bash(touch *)")
      assert.deepStrictEqual([part.wrote, part.ran], [true, false])
      assert.match(part.told, /the rule \\"Bash\(touch \*\)\\" forbids/)
    }),
  )

  it.live("plan mode only reads, whatever the rules say", () =>
    Effect.gen(function* () {
      const { wrote, ran, told } = yield* attempt("--permission-mode", "plan", "--allowedTools", "Write,Bash")
      assert.deepStrictEqual([wrote, ran], [false, false])
      assert.match(told, /plan mode only reads/)
    }),
  )

  it.live("acceptEdits changes files in the workspace, also by a command that does nothing else", () =>
    Effect.gen(function* () {
      const { wrote, ran } = yield* attempt("--permission-mode", "acceptEdits")
      assert.deepStrictEqual([wrote, ran], [true, true])
    }),
  )

  it.live("--dangerously-skip-permissions does both, and so does the mode of that name", () =>
    Effect.gen(function* () {
      for (const flags of [["--dangerously-skip-permissions"], ["--permission-mode", "bypassPermissions"]]) {
        const { wrote, ran, result } = yield* attempt(...flags)
        assert.deepStrictEqual([wrote, ran], [true, true])
        assert.deepStrictEqual(result["permission_denials"], [])
      }
    }),
  )

  it.live("a settings file can allow and forbid too", () =>
    Effect.gen(function* () {
      const { run, write, work, config } = yield* world(tries)
      write(
        path.join(config, "settings.json"),
        '{ "permissions": { "allow": ["Write", "Bash"], "deny": ["Bash(touch *)"] } }',
      )
      endedWith(yield* run(["-p", "go"]), 0)
      assert.isTrue(fs.existsSync(path.join(work, "new.txt")))
      assert.isFalse(fs.existsSync(path.join(work, "ran.txt")))
    }),
  )
})
