/** Every event of the table, fired by a real session, heard by every kind of hook that may answer it, at every depth. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agents } from "../../src/agents/Agents.ts"
import * as Toolset from "../../src/agents/Toolset.ts"
import { type Pending, pendingKinds } from "../../src/hooks/HookEvent.ts"
import { eventNames, specOf } from "../../src/hooks/HookEvents.ts"
import { ended, only } from "../agents/session.ts"
import { call, type Case, check, kindsOf, objectorsOf, type Stage, staged, until } from "./conformance.ts"
import { scenarios, terminal } from "./scenarios.ts"

/** Everything that could fire an event. */
const src = new URL("../../src", import.meta.url).pathname
const sources = fs
  .readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !/^hooks\/(?:events|run|HookRunner|HookEngine)/.test(file))
  .map((file) => fs.readFileSync(path.join(src, file), "utf8"))

const built = eventNames.filter((event) => specOf(event).pending === undefined)

describe.concurrent("a hook", () => {
  for (const event of built) {
    const scenario = scenarios[event]
    if (scenario === undefined) continue
    for (const depth of scenario.depths) {
      const one: Case = { event, depth, kinds: kindsOf(event), blocks: false, matcher: scenario.matcher }
      it.live(`of any kind hears ${event} (${depth}): ${one.kinds.join(", ")}`, () =>
        staged(one, (stage) =>
          Effect.gen(function* () {
            yield* scenario.play(stage)
            const heard = yield* stage.heard
            for (const kind of one.kinds) for (const input of heard[kind] ?? []) check(one, input)
          }),
        ),
      )
      if (objectorsOf(event).length === 0) continue
      it.live(`that is a command and objects to ${event} (${depth}) has its way`, () =>
        staged({ ...one, kinds: ["command"], blocks: true }, (stage) =>
          Effect.gen(function* () {
            assert(scenario.held, `what an objection to ${event} does is not tested`)
            yield* scenario.held(stage, yield* scenario.play(stage), false)
          }),
        ),
      )
    }
  }
})

describe("the table", () => {
  const pending = eventNames.flatMap((event) => specOf(event).pending ?? [])

  it("leaves pending what nobody fires, and nothing else", () => {
    const fired = eventNames.filter((event) => sources.some((text) => text.includes(`"${event}"`)))
    assert.deepStrictEqual(fired.toSorted(), built.toSorted())
  })

  it("leaves pending what its feature is missing for, and nothing else", () => {
    const tools = Toolset.all.map(({ name }) => name)
    const landed: Readonly<Record<Pending, boolean>> = {
      // The first thing that each of them must have.
      mcp: sources.some((text) => text.includes("HookMcp")) || tools.some((name) => name.startsWith("ListMcp")),
      teams: tools.some((name) => name.startsWith("Team") || name === "SendMessage"),
      worktrees:
        tools.some((name) => name.includes("Worktree")) || sources.some((text) => text.includes("worktree add")),
    }
    const waiting = [...pending, ...Object.values(pendingKinds)]
    assert.deepStrictEqual(
      waiting.filter((feature) => landed[feature]),
      [],
      "built, but its rows are still pending: clear them, and write their scenarios",
    )
    assert.deepStrictEqual(
      eventNames.filter((event) => specOf(event).pending !== undefined).toSorted(),
      "Elicitation ElicitationResult TeammateIdle WorktreeCreate WorktreeRemove".split(" "),
    )
  })

  it.live("says of a kind that is pending, in a session, that nobody can answer", () =>
    staged({ event: "PreToolUse", depth: "main", kinds: ["mcp_tool"], blocks: false }, (stage) =>
      Effect.gen(function* () {
        const events: Array<string> = []
        yield* Effect.scoped(
          Effect.gen(function* () {
            const agent = yield* (yield* Agents).open({ permissionMode: "bypassPermissions", tools: Toolset.all })
            const seen = yield* Stream.runCollect(agent.prompt(call("Bash", { command: `touch ${stage.work}/made` })))
            events.push(...only(seen, "Diagnosed").map(({ message }) => message))
            assert.strictEqual(ended(seen).result, "Done.")
          }),
        )
        assert.match(events.join("\n"), /PreToolUse:Bash hook "nobody: hear".*MCP/)
      }),
    ),
  )

  it("has a scenario for every event that can happen, and none for others", () => {
    assert.deepStrictEqual(Object.keys(scenarios).toSorted(), built.toSorted())
  })
})

describe("a skill that changes while a session runs", () => {
  const one = (answers: string): Case => ({
    event: "ConfigChange",
    depth: "main",
    kinds: ["command"],
    blocks: false,
    settings: {
      hooks: {
        ConfigChange: [{ matcher: "skills", hooks: [{ type: "command", command: `cat >> ../heard; ${answers}` }] }],
      },
    },
  })
  const skill = (stage: Stage, name: string, what: string) =>
    stage.put(`work/.claude/skills/${name}/SKILL.md`, `---\ndescription: Makes ${what}\n---\nDo it.\n`)
  /** Some changes until somebody hears, as watching begins in its own time, then one more. */
  const played = (stage: Stage, comes: boolean) =>
    stage.session({}, ({ say }) =>
      Effect.gen(function* () {
        let times = 0
        const write = Effect.sync(() => skill(stage, "knit", `socks ${++times}`))
        yield* Effect.race(stage.untilHeard, Effect.repeat(write, Schedule.spaced("50 millis")))
        skill(stage, "weave", "scarves")
        const heardLast = Effect.map(stage.heard, (heard) => JSON.stringify(heard).includes("skills/weave/SKILL.md"))
        yield* until(heardLast, "the last change")
        const told = Effect.map(stage.asked, (asked) => asked.join("\n").includes("scarves"))
        // It is looked for again once the hook has ended, which nobody hears of.
        yield* comes ? until(Effect.andThen(say("Hello."), told), "the skill") : say("Hello.")
        assert.strictEqual(yield* told, comes)
      }),
    )

  it.live("is told to ConfigChange", () =>
    staged(one("exit 0"), (stage) =>
      Effect.gen(function* () {
        yield* played(stage, true)
        const [heard] = (yield* stage.heard).command ?? []
        check(one(""), heard)
        assert.deepInclude(heard, { source: "skills", file_path: `${stage.work}/.claude/skills/knit/SKILL.md` })
      }),
    ),
  )

  it.live("stays out of it where the hook says so", () => staged(one("exit 2"), (stage) => played(stage, false)))
})

describe("at the terminal", () => {
  const shout = `jq '{hookSpecificOutput: {hookEventName, displayContent: ("[" + (.index|tostring) + .delta + "]")}} | .hookSpecificOutput.hookEventName = "MessageDisplay"'`
  const rewriting = { hooks: { MessageDisplay: [{ hooks: [{ type: "command", command: shout }] }] } }
  const one: Case = { event: "MessageDisplay", depth: "main", kinds: [], blocks: false }

  it.live("text is shown as a hook wants it, and kept as the model said it", () =>
    staged({ ...one, settings: rewriting }, (stage) =>
      Effect.gen(function* () {
        assert.match(yield* terminal(stage, ["Hello.", "Hello again."]), /\[0Done\.\][^]*\[0Done\.\]/)
        const asked = (yield* stage.asked).at(-1)
        assert.match(asked ?? "", /\nDone\.\n/)
      }),
    ),
  )

  it.live("a directory that a person adds can be worked in from then on, also by those who are sent out", () =>
    staged({ ...one, event: "DirectoryAdded" }, (stage) =>
      Effect.gen(function* () {
        stage.put("more/file", "here")
        const read = call("Read", { file_path: `${stage.root}/more/file` })
        const seen = yield* terminal(stage, [
          read,
          "n",
          "/add-dir ../more",
          read,
          `send ${read}`,
          "/add-dir ../more",
          "/add-dir no",
        ])
        const asked = (yield* stage.asked).join("\n")
        assert.match(seen, /✗ Read [^]*added: [^]*● Read [^]*● Agent a task/)
        assert.lengthOf([...seen.matchAll(/\? Read/g)], 1, "nobody is asked about it any more")
        assert.match(seen, /\/more cannot be added: it belongs to the workspace already\./)
        assert.match(seen, /\/no cannot be added: there is nothing there\./)
        assert.include(asked, "belongs to the workspace from now on")
      }),
    ),
  )
})
