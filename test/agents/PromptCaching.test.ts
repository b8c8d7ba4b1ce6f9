/** What a session costs the service's prompt cache: real HTTP, real files, and a server that caches as the real one does. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Agent } from "../../src/agents/Agent.ts"
import { Agents } from "../../src/agents/Agents.ts"
import * as Toolset from "../../src/agents/Toolset.ts"
import { TroupeNode } from "../../src/node/index.ts"
import { Host } from "../../src/platform/Host.ts"
import type { EventOf } from "../../src/protocol/Event.ts"
import { promptTokens } from "../../src/protocol/Usage.ts"
import * as Runtime from "../../src/Runtime.ts"
import * as Journal from "../../src/session/Journal.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedServer } from "../../src/testing/ScriptedServer.ts"
import { ToolCatalog } from "../../src/tools/ToolCatalog.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { temporary } from "./realWorld.ts"

/** Thinks, reads a file that is another one each time, and answers. */
const reader: Playbook = {
  rules: [
    {
      reply: ({ prompt, results }) =>
        results.length > 0
          ? `I have read it: ${"so it says. ".repeat(20)}`
          : [
              { thinking: `What about ${prompt}?` },
              ...(/plug (\w+)/.test(prompt)
                ? [{ tool: "Plug", input: { name: /plug (\w+)/.exec(prompt)?.[1] ?? "" } }]
                : []),
              { tool: "Read", input: { file_path: `${/turn \d+/.exec(prompt)?.[0] ?? "turn 0"}.txt` } },
            ],
    },
  ],
}

/** Stands for a server that connects and goes while the session runs: one tool comes, the one before it goes. */
const plug = Effect.gen(function* () {
  let connected = yield* Scope.make()
  return Tool.make({
    name: "Plug",
    description: "Connects another server.",
    input: Schema.Struct({ name: Schema.String }),
    run: Effect.fnUntraced(function* ({ name }) {
      yield* Scope.close(connected, Exit.void)
      connected = yield* Scope.make()
      const catalog = yield* ToolCatalog
      yield* catalog.register(lateTool(name)).pipe(Scope.provide(connected))
      return { content: `connected ${name}` }
    }),
  })
})

const lateTool = (name: string) =>
  Tool.make({
    name,
    description: `Does ${name}, which nothing else does.`,
    input: Schema.Struct({ what: Schema.String }),
    run: () => Effect.succeed({ content: "done" }),
  })

const make = (book: Playbook, env: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const directory = yield* temporary("caching")
    const work = path.join(directory, "work")
    fs.mkdirSync(work)
    const { url } = yield* ScriptedServer.serve({ playbook: book, record: false })
    const host = Host.layerTest({
      cwd: work,
      home: directory,
      configDir: path.join(directory, ".claude"),
      env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "scripted", PATH: process.env["PATH"] ?? "", ...env },
    })
    const platform = Layer.merge(TroupeNode.layer, host)
    const context = yield* Layer.build(Runtime.layer({ settings: "project" }).pipe(Layer.provideMerge(platform)))
    const write = (name: string, text: string) => {
      const file = path.join(work, name)
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, text)
    }
    for (let turn = 0; turn < 210; turn++)
      write(`turn ${turn}.txt`, `This is file ${turn}. ${"A line of it.\n".repeat(30)}`)
    const agents = Context.get(context, Agents)
    const options = { permissionMode: "bypassPermissions", tools: [...Toolset.all, yield* plug], cwd: work } as const
    return {
      write,
      open: agents.open(options),
      resume: (id: string) => agents.resume(id, options),
      fork: (id: string) => agents.fork(id, options),
      goBack: (id: string, prompt: number) =>
        Effect.gen(function* () {
          const journal = yield* Journal.open(id)
          const at = journal.records.filter(({ event }) => event._tag === "PromptReceived")[prompt]
          assert(at?.event._tag === "PromptReceived")
          const { promptId } = at.event
          yield* journal.append("main", { _tag: "Rewound", uuid: crypto.randomUUID(), promptId, to: at.seq })
        }).pipe(Effect.scoped, Effect.provideContext(context)),
    }
  })

/** The figures of every request of a prompt. */
const turn = Effect.fnUntraced(function* (agent: Agent, prompt: string) {
  const events = yield* Stream.runCollect(agent.prompt(prompt))
  const of = <Tag extends (typeof events)[number]["_tag"]>(tag: Tag) =>
    events.filter((event): event is EventOf<Tag> => event._tag === tag)
  const replies = of("ReplyEnded").map(({ usage }) => ({
    total: promptTokens(usage),
    read: usage.cache_read_input_tokens,
    cached: usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
    uncached: usage.input_tokens + usage.cache_creation_input_tokens,
  }))
  assert.strictEqual(events.at(-1)?._tag, "TurnEnded")
  return { replies, misses: of("CacheMissed"), told: of("ContextAdded").map(({ origin }) => origin) }
})

type Figures = Effect.Success<ReturnType<typeof turn>>["replies"]

/** How much more was uncached than was new, and how often less was read than there was: over all requests but the first. */
const judged = (replies: Figures) => {
  let [uncached, fresh, rewrites] = [0, 0, 0]
  for (const [at, reply] of replies.entries()) {
    const before = replies[at - 1]
    if (before === undefined) continue
    uncached += reply.uncached
    fresh += reply.total - before.total
    if (reply.read < before.cached) rewrites++
  }
  return { ratio: uncached / fresh, rewrites }
}

/** Files are followed by whoever watches them; a little later they count. */
const until = (seen: Effect.Effect<boolean>) =>
  Effect.repeat(seen, { until: (yes) => yes, schedule: Schedule.spaced("10 millis") })

const say = (line: string) => Effect.sync(() => process.stdout.write(`  ${line}\n`))
const percent = (part: number) => `${(part * 100).toFixed(1)} %`

describe("the prompt cache", () => {
  it.live("is read in full: over fifty turns nothing is paid for twice, and the first request is small", () =>
    Effect.gen(function* () {
      const { open } = yield* make(reader)
      const agent = yield* open
      const replies: Array<Figures[number]> = []
      for (let n = 1; n <= 50; n++) {
        const done = yield* turn(agent, `Look at turn ${n}`)
        assert.deepStrictEqual(done.misses, [])
        replies.push(...done.replies)
      }
      const { ratio, rewrites } = judged(replies)
      const first = replies[0]?.total ?? 0
      yield* say(
        `first request ${first} tokens; 50 turns, ${replies.length} requests: uncached ${ratio.toFixed(4)} × new`,
      )
      assert.isAtMost(first, 8_000)
      assert.strictEqual(rewrites, 0)
      assert.isAtMost(ratio, 1.03)
    }).pipe(Effect.scoped),
  )

  it.live(
    "is not rewritten while skills, agents, tools and instructions change",
    () =>
      Effect.gen(function* () {
        const { open, write } = yield* make(reader, { ENABLE_TOOL_SEARCH: "true" })
        write("CLAUDE.md", "Be brief.\n")
        const agent = yield* open
        const replies: Array<Figures[number]> = []
        const told = new Set<string>()
        for (let n = 1; n <= 200; n++) {
          if (n % 40 === 10) {
            write(
              `.claude/skills/skill-${n}/SKILL.md`,
              `---\nname: skill-${n}\ndescription: Knows ${n}.\n---\nDo ${n}.\n`,
            )
            yield* until(Effect.map(agent.commands, (all) => JSON.stringify(all).includes(`skill-${n}`)))
          }
          if (n % 40 === 20) {
            write(
              `.claude/agents/helper-${n}.md`,
              `---\nname: helper-${n}\ndescription: Helps with ${n}.\n---\nHelp.\n`,
            )
            yield* until(Effect.map(agent.agentTypes, (all) => all.some(({ name }) => name === `helper-${n}`)))
          }
          if (n % 40 === 30) write("CLAUDE.md", `Be brief, and think of ${n}.\n`)
          const done = yield* turn(agent, `${n % 40 === 0 ? `plug Aardvark${n}, and l` : "L"}ook at turn ${n}`)
          assert.deepStrictEqual(done.misses, [], `turn ${n}`)
          replies.push(...done.replies)
          for (const origin of done.told) told.add(origin.replace(/ .*/, ""))
        }
        const { ratio, rewrites } = judged(replies)
        yield* say(
          `200 turns with changes, ${replies.length} requests: ${rewrites} rewrites, uncached ${ratio.toFixed(4)} × new`,
        )
        assert.includeMembers([...told], ["skills", "agents", "changed", "tools"])
        assert.strictEqual(rewrites, 0)
        assert.isAtMost(ratio, 1.03)
      }).pipe(Effect.scoped),
    120_000,
  )

  it.live("is read by whoever resumes a session, goes on in a copy, or goes back", () =>
    Effect.gen(function* () {
      const { fork, goBack, open, resume } = yield* make(reader)
      const session = yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* open
          const turns: Array<Figures> = []
          for (let n = 1; n <= 6; n++) turns.push((yield* turn(agent, `Look at turn ${n}`)).replies)
          return { id: agent.sessionId, turns }
        }),
      )
      const cachedAfter = (n: number) => session.turns[n - 1]?.at(-1)?.cached ?? Number.NaN
      const firstOf = (opened: typeof open, n: number) =>
        Effect.scoped(
          Effect.gen(function* () {
            const { misses, replies } = yield* turn(yield* opened, `Look at turn ${n}`)
            assert.deepStrictEqual(misses, [])
            return replies[0]?.read ?? 0
          }),
        )
      const forked = yield* firstOf(fork(session.id), 7)
      const resumed = yield* firstOf(resume(session.id), 8)
      yield* goBack(session.id, 4)
      const rewound = yield* firstOf(resume(session.id), 9)
      yield* say(
        `of what is shared is read: resumed ${percent(resumed / cachedAfter(6))}, forked ${percent(forked / cachedAfter(6))}, gone back ${percent(rewound / cachedAfter(4))}`,
      )
      assert.deepStrictEqual([resumed, forked, rewound], [cachedAfter(6), cachedAfter(6), cachedAfter(4)])
    }).pipe(Effect.scoped),
  )

  it.live("is read by the request for a summary", () =>
    Effect.gen(function* () {
      const sumsUp = { when: { user: "goes on from a summary" }, reply: "<summary>Files were read.</summary>" }
      const { open } = yield* make({ rules: [sumsUp, ...(reader.rules ?? [])] })
      const agent = yield* open
      const before: Array<Figures[number]> = []
      for (let at = 1; at <= 8; at++) before.push(...(yield* turn(agent, `turn ${at}`)).replies)
      const events = yield* Stream.runCollect(agent.prompt("/compact"))
      const end = events.at(-1)
      assert(end?._tag === "TurnEnded")
      assert.isTrue(events.some((event) => event._tag === "Compacted"))
      const { cache_read_input_tokens: read } = end.usage
      const shared = before.at(-1)?.cached ?? 0
      yield* say(`summary of ${promptTokens(end.usage)} tokens: ${read} read, of ${shared} that could be`)
      assert.isAtLeast(read, shared * 0.99)
    }).pipe(Effect.scoped),
  )
})
