/** A session at a real pseudo-terminal: what a person types, and what they see. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { noTerminal, terminal } from "./terminal.ts"
import { place, toldLast, world } from "./world.ts"

const echo = { rules: [{ when: { prompt: { matches: "(?<said>[\\s\\S]*)" } }, reply: "heard" }] }
const prompt = "› "
const up = "\u001b[A"
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`

const history = (config: string) =>
  fs
    .readFileSync(path.join(config, "history.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line): Record<string, unknown> => JSON.parse(line))

describe.skipIf(noTerminal)("a session at a terminal (skipped where python3 is not installed)", () => {
  it.live("sends what is typed, recalls it in the next session, and Ctrl-D leaves", () =>
    Effect.gen(function* () {
      const here = yield* world(echo)
      const first = yield* terminal(here, [])
      yield* first.shows(prompt)
      yield* first.press("remember this\r")
      yield* first.shows("heard")
      yield* first.shows(prompt)
      yield* first.press("\u0004")
      assert.strictEqual((yield* first.ended).code, 0)

      const [entry] = history(here.config)
      assert.deepStrictEqual(Object.keys(entry ?? {}), [
        "display",
        "pastedContents",
        "timestamp",
        "project",
        "sessionId",
      ])
      assert.deepInclude(entry, { display: "remember this", pastedContents: {}, project: here.work })
      assert.strictEqual(fs.statSync(path.join(here.config, "history.jsonl")).mode & 0o777, 0o600)

      const second = yield* terminal(here, [])
      yield* second.shows(prompt)
      yield* second.press(up)
      yield* second.shows("remember this")
      yield* second.press("\r")
      yield* second.shows("heard")
      assert.include(toldLast((yield* here.requests)[1]), "remember this")
      yield* second.shows(prompt)
      yield* second.press("/exit\r")
      assert.strictEqual((yield* second.ended).code, 0)
    }),
  )

  it.live("shows a turn that begins by itself, asks in it, keeps what was half typed, and hears each key once", () =>
    Effect.gen(function* () {
      const here = yield* world({
        rules: [
          {
            when: { turn: 1 },
            reply: [
              {
                tool: "Bash",
                input: { command: "until [ -e gate ]; do sleep 0.05; done", run_in_background: true },
              },
            ],
          },
          { when: { turn: 2 }, reply: "It runs." },
          { when: { turn: 3 }, reply: [{ tool: "Bash", input: { command: "touch asked.txt" } }] },
          { when: { turn: 4 }, reply: "Noticed." },
          { when: { turn: 5 }, reply: "Heard." },
        ],
      })
      const at = yield* terminal(here, [])
      yield* at.shows(prompt)
      yield* at.press("start it\r")
      yield* at.shows("It runs.")
      yield* at.shows(prompt)
      yield* at.press("half a")
      yield* at.shows("half a")
      here.write("gate", "")
      yield* at.shows("[y]es")
      yield* at.press("y\r")
      yield* at.shows("Noticed.")
      yield* at.shows("half a")
      yield* at.press(" line\r")
      yield* at.shows("Heard.")
      yield* at.shows(prompt)
      assert.isTrue(fs.existsSync(path.join(here.work, "asked.txt")))
      assert.include(toldLast((yield* here.requests)[4]), "half a line")
      assert.lengthOf(yield* here.requests, 5)
      yield* at.press("\u0004")
      assert.strictEqual((yield* at.ended).code, 0)
    }),
  )

  it.live("keeps a rule for the project that a person agrees to, and asks no more", () =>
    Effect.gen(function* () {
      const command = (turn: number) => ({
        when: { turn },
        reply: [{ tool: "Bash", input: { command: "npm run lint" } }],
      })
      const here = yield* world({
        rules: [command(1), { when: { turn: 2 }, reply: "Once." }, command(3), { when: { turn: 4 }, reply: "Twice." }],
      })
      fs.mkdirSync(path.join(here.work, ".git"))
      const at = yield* terminal(here, ["go"])
      yield* at.shows("Bash(npm run lint *)")
      yield* at.shows("[p]roject")
      yield* at.press("what?\r")
      yield* at.shows("words behind it tell the model")
      yield* at.press("p\r")
      yield* at.shows("Allowed from now on: Bash(npm run lint *)")
      yield* at.shows("Once.")
      yield* at.shows(prompt)
      yield* at.press("again\r")
      yield* at.shows("Twice.")
      yield* at.shows(prompt)
      yield* at.press("\u0004")
      const { all } = yield* at.ended
      assert.strictEqual(all.split("[p]roject").length, 3)
      assert.notInclude(all, "not in force")
      const kept = fs.readFileSync(path.join(here.work, ".claude", "settings.local.json"), "utf8")
      assert.include(kept, "Bash(npm run lint *)")
    }),
  )

  it.live("finds an earlier line with Ctrl-R", () =>
    Effect.gen(function* () {
      const here = yield* world(echo)
      fs.mkdirSync(here.config, { recursive: true })
      const entry = (display: string, project = here.work) =>
        `${JSON.stringify({ display, pastedContents: {}, timestamp: 1, project })}\n`
      const lines = [entry("needle one"), entry("something else"), entry("needle elsewhere", "/other")].join(
        "no json\n",
      )
      fs.writeFileSync(path.join(here.config, "history.jsonl"), lines)
      const at = yield* terminal(here, [])
      yield* at.shows(prompt)
      yield* at.press("\u0012need")
      yield* at.shows("(search) need: needle one")
      yield* at.press("\r")
      yield* at.shows("heard")
      assert.include(toldLast((yield* here.requests)[0]), "needle one")
      yield* at.shows(prompt)
      yield* at.press("\u0004")
      yield* at.ended
    }),
  )

  it.live("goes on after a backslash, and keeps pasted lines together until Enter", () =>
    Effect.gen(function* () {
      const here = yield* world(echo)
      const at = yield* terminal(here, [])
      yield* at.shows("\u001b[?2004h")
      yield* at.shows(prompt)
      yield* at.press("first\\\r")
      yield* at.shows("… ")
      yield* at.press("second\r")
      yield* at.shows("heard")
      assert.match(toldLast((yield* here.requests)[0]), /first\\?n?\nsecond|first\\nsecond/)
      yield* at.shows(prompt)
      yield* at.press(`look: ${paste("one\r\ntwo\rthree")}`)
      yield* at.shows("look: [Pasted text #1 +2 lines]")
      yield* at.press(" ok\r")
      yield* at.shows("heard")
      assert.match(toldLast((yield* here.requests)[1]), /look: one\\ntwo\\nthree ok|look: one\ntwo\nthree ok/)
      yield* at.shows(prompt)
      yield* at.press("\u0004")
      const { all } = yield* at.ended
      assert.include(all.slice(all.lastIndexOf("\u001b[?2004h")), "\u001b[?2004l")
      assert.deepInclude(history(here.config)[1], {
        display: "look: [Pasted text #1 +2 lines] ok",
        pastedContents: { "1": { id: 1, type: "text", content: "one\ntwo\nthree" } },
      })
    }),
  )

  it.live("clears the line at the first Ctrl-C and leaves at the second", () =>
    Effect.gen(function* () {
      const here = yield* world(echo)
      const at = yield* terminal(here, [])
      yield* at.shows(prompt)
      yield* at.press("never sent\u0003")
      yield* at.shows(prompt)
      yield* at.press("\u0003")
      assert.strictEqual((yield* at.ended).code, 0)
      assert.lengthOf(yield* here.requests, 0)
    }),
  )

  it.live("interrupts a turn at Ctrl-C and asks again", () =>
    Effect.gen(function* () {
      const here = yield* world({
        rules: [{ reply: "One two three four", pace: { chunk: 4, delay: "50ms" }, faults: [{ stall: 8 }] }],
      })
      const at = yield* terminal(here, ["speak"])
      yield* at.shows("One")
      yield* at.press("\u0003")
      yield* at.shows("■")
      yield* at.shows(prompt)
      yield* at.press("\u0004")
      assert.strictEqual((yield* at.ended).code, 0)
    }),
  )

  it.live("asks for permission, and remembers nothing of the answer", () =>
    Effect.gen(function* () {
      const here = yield* world({
        rules: [
          { when: { turn: 1 }, reply: [{ tool: "Bash", input: { command: "touch made.txt" } }] },
          { reply: "Did it." },
        ],
      })
      const at = yield* terminal(here, ["make it"])
      yield* at.shows("[y]es")
      yield* at.press(`${up}y\r`)
      yield* at.shows("Did it.")
      yield* at.shows(prompt)
      yield* at.press(up)
      yield* at.shows("make it")
      yield* at.press("\u0003")
      yield* at.shows(prompt)
      yield* at.press("\u0003")
      yield* at.ended
      assert.isTrue(fs.existsSync(path.join(here.work, "made.txt")))
      assert.deepStrictEqual(
        history(here.config).map(({ display }) => display),
        ["make it"],
      )
    }),
  )

  it.live("draws nothing on a dumb terminal, and no colours without colour", () =>
    Effect.gen(function* () {
      const here = yield* world({ rules: [{ reply: "heard", pace: { before: "300ms" } }] })
      const at = yield* terminal(here, ["hello"], { env: { TERM: "dumb" } })
      yield* at.shows("heard")
      yield* at.shows(prompt)
      yield* at.press("\u0004")
      assert.notInclude((yield* at.ended).all, "\u001b[")
      const plain = yield* terminal(here, ["hello"], { env: { NO_COLOR: "1" } })
      yield* plain.shows("heard")
      yield* plain.shows(prompt)
      yield* plain.press("\u0004")
      for (const tone of [2, 31, 32, 33]) assert.notInclude((yield* plain.ended).all, `\u001b[${tone}m`)
    }),
  )

  it.live("keeps the status within forty columns, whatever the letters", () =>
    Effect.gen(function* () {
      const command = `echo ${"漢字🎉é".repeat(20)}; sleep 0.3`
      const here = yield* world({
        rules: [{ when: { turn: 1 }, reply: [{ tool: "Bash", input: { command } }] }, { reply: "Done." }],
      })
      const at = yield* terminal(here, ["go", "--dangerously-skip-permissions"], { columns: 40 })
      yield* at.shows("Done.")
      yield* at.shows(prompt)
      yield* at.press("\u0004")
      const { default: width } = yield* Effect.promise(() => import("string-width"))
      const drawn = (yield* at.ended).all.split(/[\r\n]/).filter((line) => line.includes("漢"))
      assert.isAbove(drawn.length, 1)
      for (const line of drawn) assert.isAtMost(width(line), 40, line)
    }),
  )

  it.live("shows a sign of life on stderr while -p waits, and takes it away", () =>
    Effect.gen(function* () {
      const here = yield* world({ rules: [{ reply: "Late.", pace: { before: "1500ms" } }] })
      const at = yield* terminal(here, ["-p", "wait"])
      yield* at.shows("thinking")
      yield* at.shows("\r\u001b[2KLate.")
      assert.strictEqual((yield* at.ended).code, 0)
    }),
  )

  it.live("prints one answer when something is piped in, also without -p", () =>
    Effect.gen(function* () {
      const here = yield* world(echo)
      const at = yield* terminal(here, ["review"], { piped: "echo the-change" })
      const { code, all } = yield* at.ended
      assert.strictEqual(code, 0)
      assert.include(all, "heard\r\n")
      assert.notInclude(all, prompt)
      assert.match(toldLast((yield* here.requests)[0]), /review[^]*the-change/)
    }),
  )

  it.live("shows help that fits forty columns", () =>
    Effect.gen(function* () {
      const here = yield* place()
      const help = yield* Effect.flatMap(terminal(here, ["--help"], { columns: 40 }), (at) => at.ended)
      assert.notInclude(help.all, "\u001b")
      // Names and examples are not broken; everything else is.
      const long = help.all.split("\r\n").filter((line) => line.length > 40 && !/^ {2}(-|troupe|git)/.test(line))
      assert.deepStrictEqual(long, [])
    }),
  )
})
