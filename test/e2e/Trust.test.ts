/** What a folder's files want to run: shown in full, agreed to once, asked about again when it changes. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { endedWith, world } from "./world.ts"

const project = Effect.gen(function* () {
  const here = yield* world({ rules: [{ reply: "Hi." }] })
  const hook = { type: "command", command: "echo from settings" }
  here.write(".claude/settings.json", JSON.stringify({ hooks: { SessionStart: [{ hooks: [hook] }] } }))
  const hooks = "hooks:\n  Stop:\n    - hooks:\n        - { type: command, command: echo from agent }"
  here.write(".claude/agents/tidy.md", `---\nname: tidy\ndescription: Tidies.\n${hooks}\n---\nTidy up.\n`)
  here.write(
    ".claude/skills/state/SKILL.md",
    "---\ndescription: Says how things are.\nallowed-tools: Bash(npm *)\n---\nIt is !`date +%Y`.\n",
  )
  here.write(".claude/commands/plain.md", "Only words.\n")
  here.write("../beside.md", "From elsewhere.\n")
  here.write("CLAUDE.md", "Be kind. @../beside.md\n")
  return here
})

describe.concurrent("troupe config trust", () => {
  it.live("shows what settings, agents, skills and instructions want, and nothing that only says something", () =>
    Effect.gen(function* () {
      const { run } = yield* project
      const shown = yield* run(["config", "trust"])
      endedWith(shown, 1)
      assert.match(shown.out, /settings\.json wants:[^]*echo from settings/)
      assert.match(shown.out, /agents\/tidy\.md wants:[^]*"hooks"[^]*echo from agent/)
      assert.match(shown.out, /state\/SKILL\.md wants:[^]*"allowed-tools"[^]*Bash\(npm \*\)[^]*"shell"[^]*date \+%Y/)
      assert.match(shown.out, /CLAUDE\.md wants:[^]*beside\.md/)
      assert.notInclude(shown.out, "plain.md")
    }),
  )

  it.live("puts it all in force with --yes, and asks again about what has changed", () =>
    Effect.gen(function* () {
      const { run, write } = yield* project
      endedWith(yield* run(["config", "trust", "--yes"]), 0)
      const quiet = yield* run(["config", "trust"])
      endedWith(quiet, 0)
      assert.match(quiet.out, /Nothing waits/)
      assert.notMatch((yield* run(["agents", "validate"])).out, /tidy/)
      write(".claude/skills/state/SKILL.md", "---\ndescription: Says how things are.\n---\nIt is !`whoami`.\n")
      const again = yield* run(["config", "trust"])
      endedWith(again, 1)
      assert.include(again.out, "whoami")
      assert.notInclude(again.out, "settings.json")
    }),
  )
})
