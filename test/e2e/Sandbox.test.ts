/** Commands in the sandbox, from the outside: what they can do without anybody being asked, and what they cannot. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { endedWith, offered, toldLast, world } from "./world.ts"

const running = (command: string, more: Readonly<Record<string, unknown>> = {}) => ({
  rules: [
    { when: { turn: 1 }, reply: [{ tool: "Bash", input: { command, ...more } }] },
    { when: { turn: 2 }, reply: "Done." },
  ],
})

const settings = (sandbox: object) => ["--settings", JSON.stringify({ sandbox })]

describe.concurrent("in the sandbox", () => {
  it.live("a command works in the workspace unasked, and reaches nothing else", () =>
    Effect.gen(function* () {
      const outside = `/opt/troupe-outside-${process.pid}`
      const command = `echo made > in.txt; touch ${outside}; cat ~/.netrc; echo "key=$ANTHROPIC_API_KEY"; cat .env`
      const here = yield* world(running(command))
      here.write(".env", "SECRET=1\n")
      fs.mkdirSync(String(here.env["HOME"]), { recursive: true })
      fs.writeFileSync(path.join(String(here.env["HOME"]), ".netrc"), "password\n")
      endedWith(yield* here.run(["-p", "go", ...settings({ enabled: true })]), 0)
      const [first, second] = yield* here.requests
      const told = toldLast(second)
      assert.strictEqual(here.read("in.txt"), "made\n")
      assert.isFalse(fs.existsSync(outside))
      assert.include(told, "Read-only file system")
      assert.notInclude(told, "password")
      assert.notInclude(told, "SECRET=1")
      assert.match(told, /key=(?:\\n|")/)
      const bash = first?.body.tools?.find(({ name }) => name === "Bash")
      assert.include(JSON.stringify(bash), "dangerouslyDisableSandbox")
      assert.strictEqual(offered(first).filter((name) => name === "Bash").length, 1)
    }),
  )

  it.live("a program cannot read what a rule keeps from Read, however it names it", () =>
    Effect.gen(function* () {
      const here = yield* world(running("bash -c 'cat \"$(printf sec; printf ret.txt)\"'; cat open.txt"))
      here.write("secret.txt", "SECRET=1\n")
      here.write("open.txt", "open\n")
      const flags = ["--disallowedTools", "Read(secret.txt)", ...settings({ enabled: true })]
      endedWith(yield* here.run(["-p", "go", ...flags]), 0)
      const told = toldLast((yield* here.requests)[1])
      assert.include(told, "open")
      assert.notInclude(told, "SECRET=1")
    }),
  )

  it.live("a call that asks to run outside is asked about, and denied where nobody is there", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(running("touch x.txt", { dangerouslyDisableSandbox: true }))
      endedWith(yield* run(["-p", "go", ...settings({ enabled: true })]), 0)
      assert.include(toldLast((yield* requests)[1]), "needs approval and nobody is there")
    }),
  )

  it.live("nothing runs where the sandbox is required and cannot be had", () =>
    Effect.gen(function* () {
      const here = yield* world(running("touch x.txt"))
      const flags = ["--dangerously-skip-permissions", ...settings({ enabled: true, failIfUnavailable: true })]
      endedWith(yield* here.run(["-p", "go", ...flags], { env: { PATH: "/nowhere" } }), 0)
      assert.include(toldLast((yield* here.requests)[1]), "bwrap is not installed")
      assert.isFalse(fs.existsSync(path.join(here.work, "x.txt")))
    }),
  )
})
