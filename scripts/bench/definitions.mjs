// Measures definitions of agents and skills: 200 of each on disk, read anew after one changed. Sends the figures to whoever started it, or
// prints them.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Definitions } from "../../dist/lib/agents/Definitions.js"
import { TroupeNode } from "../../dist/lib/node/index.js"
import { Host, make as makeHost } from "../../dist/lib/platform/Host.js"
import { MarkdownIndex } from "../../dist/lib/platform/MarkdownIndex.js"
import { Settings } from "../../dist/lib/settings/Settings.js"
import { SkillLibrary } from "../../dist/lib/skills/SkillLibrary.js"
import { now } from "./clock.mjs"
import { median } from "./median.mjs"

/** As people write them: most are plain, some have a list, some a description that is not quite YAML. */
export const agentFile = (i) =>
  [
    "---",
    `name: agent-${i}`,
    i % 4 === 0
      ? `description: Use this agent when: part ${i} changes. Example: user: "look at ${i}" assistant: "on it"`
      : `description: Looks after part ${i} of the program. Use it proactively.`,
    ...(i % 3 === 0 ? ["tools:", "  - Read", "  - Grep", "  - Bash(git diff *)"] : ["tools: Read, Grep, Glob, Bash"]),
    "model: sonnet",
    "---",
    "",
    `You know everything about part ${i}.\n`.repeat(60),
  ].join("\n")

export const writeAgents = (directory, count) => {
  mkdirSync(directory, { recursive: true })
  for (let i = 0; i < count; i++) writeFileSync(join(directory, `agent-${i}.md`), agentFile(i))
}

const skillFile = (i) =>
  [
    "---",
    `name: skill-${i}`,
    `description: Knows how part ${i} is released. Use it when somebody asks for "a release of part ${i}".`,
    ...(i % 5 === 0 ? ["allowed-tools:", "  - Bash(git log *)"] : []),
    "---",
    "",
    `Step ${i}: read the notes.\n`.repeat(60),
  ].join("\n")

export const writeSkills = (directory, count) => {
  for (let i = 0; i < count; i++) {
    const own = join(directory, `skill-${i}`)
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, "SKILL.md"), skillFile(i))
  }
}

/** Settings with so many hooks, none of which is meant by a session that only answers. */
export const hookSettings = (count) => ({
  hooks: Object.fromEntries(
    ["PreToolUse", "PostToolUse"].map((event, half) => [
      event,
      Array.from({ length: count / 2 }, (_, i) => ({
        matcher: i % 3 === 0 ? `mcp__server${i}__.*` : `Other${i}|More${i}`,
        hooks: [{ type: "command", command: `check-${half}-${i}.sh`, timeout: 10 }],
      })),
    ]),
  ),
})

/** Milliseconds of reading anew after one file of 200 changed, the median of several; `read` answers the changed one's description. */
const reloadOne = (quick, change, read) =>
  Effect.gen(function* () {
    const times = []
    for (let i = 0; i < (quick ? 10 : 30); i++) {
      change(1_000 + i)
      const startedAt = now()
      const description = yield* read
      times.push(now() - startedAt)
      if (!description?.includes(String(1_000 + i))) throw new Error("the change is not seen")
    }
    return median(times)
  })

const reloads = async (quick) => {
  const root = mkdtempSync(join(tmpdir(), "troupe-definitions-"))
  const config = join(root, "config")
  writeAgents(join(config, "agents"), 200)
  writeSkills(join(config, "skills"), 200)
  const host = makeHost({ cwd: root, home: root, configDir: config, env: {} })
  const layer = Layer.mergeAll(Definitions.layer(), SkillLibrary.layer).pipe(
    Layer.provideMerge(MarkdownIndex.layer),
    Layer.provideMerge(Settings.layer()),
    Layer.provide(Layer.succeed(Host, host)),
    Layer.provideMerge(TroupeNode.layer),
  )
  const seven = (active, name) => active.find((one) => one.name === name)?.description
  const program = Effect.gen(function* () {
    const definitions = yield* Definitions
    const library = yield* SkillLibrary
    const load = library.load({ cwd: root, sources: ["user"] })
    return {
      agentsMs: yield* reloadOne(
        quick,
        (i) =>
          writeFileSync(join(config, "agents", "agent-7.md"), agentFile(i).replace(/^name: .*$/m, "name: agent-7")),
        Effect.map(definitions.reload, ({ active }) => seven(active, "agent-7")),
      ),
      skillsMs: yield* reloadOne(
        quick,
        (i) =>
          writeFileSync(
            join(config, "skills", "skill-7", "SKILL.md"),
            skillFile(i).replace(/^name: .*$/m, "name: skill-7"),
          ),
        Effect.map(load, ({ active }) => seven(active, "skill-7")),
      ),
    }
  })
  try {
    return await Effect.runPromise(Effect.provide(program, layer))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const found = await reloads(process.argv.includes("--quick"))
  if (process.send === undefined) process.stdout.write(`${JSON.stringify(found)}\n`)
  else process.send(found, () => process.disconnect())
}
