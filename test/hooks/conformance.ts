/**
 * What the conformance suite stands on: a real session for each case, on real files, processes and sockets, with hooks of every kind that
 * write down what they are told. Only the model is scripted; nothing fires an event but the session itself.
 */
import { assert } from "@effect/vitest"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as path from "node:path"
import type { Agent, AgentError } from "../../src/agents/Agent.ts"
import { Agents, type OpenOptions } from "../../src/agents/Agents.ts"
import * as Toolset from "../../src/agents/Toolset.ts"
import { type Kind, pendingKinds } from "../../src/hooks/HookEvent.ts"
import { eventNames, type HookEventName, specOf } from "../../src/hooks/HookEvents.ts"
import { Hooks } from "../../src/hooks/Hooks.ts"
import { Host } from "../../src/platform/Host.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as NodeFileSystem from "../../src/platform/NodeFileSystem.ts"
import * as NodeHttpFetch from "../../src/platform/NodeHttpFetch.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import * as NodeRipgrep from "../../src/platform/NodeRipgrep.ts"
import * as NodeWatch from "../../src/platform/NodeWatch.ts"
import { plainText } from "../../src/protocol/Content.ts"
import type { Event } from "../../src/protocol/Event.ts"
import * as Runtime from "../../src/Runtime.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import type { Told } from "../../src/testing/Told.ts"
import { temporary } from "../agents/realWorld.ts"

export type Depth = "main" | "subagent"

/** One case of the matrix: these kinds of hooks at this event, and which of them object. */
export interface Case {
  readonly event: HookEventName
  readonly depth: Depth
  readonly kinds: ReadonlyArray<Kind>
  readonly blocks: boolean
  readonly matcher?: string | undefined
  /** The person's settings, where they are others than the kinds say. */
  readonly settings?: object
}

export const objection = "this hook objects"

/** The kinds that can answer an event today. */
export const kindsOf = (event: HookEventName): ReadonlyArray<Kind> =>
  specOf(event).kinds.filter((kind) => pendingKinds[kind] === undefined)

/** Those whose objection means something, by the row. */
export const objectorsOf = (event: HookEventName): ReadonlyArray<Kind> => {
  const { block, exit2, notOk } = specOf(event)
  const exits = exit2 === "blocks" || exit2 === "tells the model"
  return kindsOf(event).filter((kind) => {
    if (kind === "command") return exits
    return kind === "prompt" || kind === "agent" ? notOk !== "nothing" : block !== undefined
  })
}

/** What was heard, by the kind of hook. */
export type Heard = Readonly<Partial<Record<Kind, ReadonlyArray<unknown>>>>

export interface Stage extends Case {
  readonly root: string
  readonly work: string
  readonly put: (file: string, text: string) => void
  readonly heard: Effect.Effect<Heard>
  /** Until every kind has heard it. */
  readonly untilHeard: Effect.Effect<void>
  /** What the model of agents was asked, not that of judges. */
  readonly asked: Effect.Effect<ReadonlyArray<string>>
  /** The first line of a prompt that has the task done, here or by an agent that is sent out. */
  readonly order: (task: string) => string
  /** Everything that happens in a session that is open for as long as the play takes, and until all is heard. */
  readonly session: <E, R>(
    options: OpenOptions<Toolset.Services>,
    play: (session: Played) => Effect.Effect<unknown, E, R>,
  ) => Effect.Effect<ReadonlyArray<Event>, unknown, R | Agents>
  /** The same for one task, in a session that may do everything. */
  readonly does: (
    task: string,
    options?: OpenOptions<Toolset.Services>,
  ) => Effect.Effect<ReadonlyArray<Event>, unknown, Agents>
}

/** An open session of a play. */
export interface Played {
  readonly agent: Agent
  /** What has happened so far. */
  readonly events: ReadonlyArray<Event>
  /** One prompt to its end. */
  readonly say: (prompt: string) => Effect.Effect<void, AgentError>
}

export type Needs = Runtime.Services | ScriptedModel

/** Sets the stage for a case, and plays it. */
export const staged = <A, E>(one: Case, play: (stage: Stage) => Effect.Effect<A, E, Needs>) =>
  Effect.gen(function* () {
    const root = yield* temporary("conformance")
    const work = path.join(root, "work")
    fs.mkdirSync(work)
    const put = (file: string, text: string) => {
      const at = path.resolve(root, file)
      fs.mkdirSync(path.dirname(at), { recursive: true })
      fs.writeFileSync(at, text)
    }
    const server = yield* listening(one.blocks)
    put("config/settings.json", JSON.stringify(one.settings ?? settingsOf(one, server.url, root)))
    return yield* acted(one, { root, work, put, posted: server.posted }, play).pipe(
      Effect.provide(world(root, one.blocks)),
    )
  }).pipe(Effect.scoped)

interface Ground extends Pick<Stage, "root" | "work" | "put"> {
  readonly posted: ReadonlyArray<unknown>
}

const acted = Effect.fnUntraced(function* <A, E>(
  one: Case,
  { posted, ...ground }: Ground,
  play: (stage: Stage) => Effect.Effect<A, E, Needs>,
) {
  const hooks = yield* Hooks
  const model = yield* ScriptedModel
  const called: Array<unknown> = []
  if (one.kinds.includes("function")) {
    yield* hooks.on(
      one.event,
      (input) =>
        Effect.sync(() => {
          called.push(input)
          return one.blocks ? { decision: "block" as const, reason: objection } : undefined
        }),
      { matcher: one.matcher },
    )
  }
  const strays: Array<string> = []
  for (const event of eventNames) {
    if (specOf(event).pending === undefined) continue
    yield* hooks.on(event, () => Effect.sync(() => void strays.push(event)))
  }
  const asked = Effect.map(model.requests, (requests) =>
    requests.map(({ body }) => ({
      system: typeof body.system === "string" ? body.system : plainText(body.system ?? ""),
      text: body.messages.map(({ content }) => plainText(content)).join("\n"),
    })),
  )
  const judged = (system: string) =>
    Effect.map(asked, (requests) =>
      requests.flatMap((request) => {
        const json = /\[\[(.*)\]\]/.exec(request.text)?.[1]
        return request.system.includes(system) && json !== undefined ? [parse(json)] : []
      }),
    )
  const heard = Effect.gen(function* () {
    const all = {
      command: linesOf(path.join(ground.root, "heard")).map(parse),
      http: posted,
      prompt: yield* judged(judge.prompt),
      agent: yield* judged(judge.agent),
      function: called,
    }
    return Object.fromEntries(
      Object.entries(all).map(([kind, inputs]) => [kind, inputs.filter((input) => isOf(one, input))]),
    )
  })
  const untilHeard = until(
    Effect.map(heard, (all) => one.kinds.every((kind) => (all[kind]?.length ?? 0) > 0)),
    `every hook hears ${one.event}`,
  )
  const order = (task: string) => (one.depth === "main" ? task : `send ${task}`)
  const session: Stage["session"] = (options, act) =>
    Effect.gen(function* () {
      const events: Array<Event> = []
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agents = yield* Agents
          const open = { permissionMode: "bypassPermissions", effort: "high", tools: Toolset.all } as const
          const agent = yield* agents.open({ ...open, ...options })
          const seen = yield* agent.watch
          yield* Effect.forkScoped(
            Stream.runForEach(seen, (event) => Effect.sync(() => void events.push(event))),
            { startImmediately: true },
          )
          let turns = 0
          const say = Effect.fnUntraced(function* (prompt: string) {
            yield* Stream.runDrain(agent.prompt(prompt))
            turns++
            // Whoever watches sees it in its own time.
            const seenAll = Effect.sync(() => events.filter(({ _tag }) => _tag === "TurnEnded").length >= turns)
            yield* until(seenAll, "the end of the turn")
          })
          yield* act({ agent, events, say })
          if (one.event !== "SessionEnd") yield* untilHeard
        }),
      )
      yield* untilHeard
      return events
    })
  const outcome = yield* play({
    ...one,
    ...ground,
    heard,
    untilHeard,
    asked: Effect.map(asked, (requests) =>
      requests.filter(({ system }) => !system.includes("You judge")).map(({ text }) => text),
    ),
    order,
    session,
    does: (task, options = {}) => session(options, ({ say }) => say(order(task))),
  })
  assert.deepStrictEqual(strays, [], "what is pending was fired")
  return outcome
})

/** Waits for a fact that no event tells of: a file that another process writes, a request that a server got. */
export const until = <E = never>(fact: Effect.Effect<boolean, E>, what: string) =>
  fact.pipe(
    Effect.repeat({ schedule: Schedule.spaced("5 millis"), until: (so) => so }),
    Effect.asVoid,
    Effect.timeoutOrElse({ duration: "15 seconds", orElse: () => Effect.die(new Error(`It never came: ${what}`)) }),
  )

/** Whoever sends an agent out has events of its own. */
const isOf = ({ depth, event }: Case, input: unknown): boolean =>
  typeof input === "object" &&
  input !== null &&
  Reflect.get(input, "hook_event_name") === event &&
  (depth === "main" || "agent_id" in input)

const parse = (json: string): unknown => JSON.parse(json)

const linesOf = (file: string): ReadonlyArray<string> =>
  fs.existsSync(file)
    ? fs
        .readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line.startsWith("{") && line.endsWith("}"))
    : []

/** How the instructions of the judges begin. */
const judge = { prompt: "You judge an event", agent: "You judge for a hook" }

const settingsOf = ({ blocks, event, kinds, matcher }: Case, url: string, root: string) => {
  const written: Partial<Record<Kind, object>> = {
    command: { type: "command", command: `cat >> ${root}/heard${blocks ? `; echo ${objection} >&2; exit 2` : ""}` },
    http: { type: "http", url },
    mcp_tool: { type: "mcp_tool", server: "nobody", tool: "hear" },
    prompt: { type: "prompt", prompt: "Is it fine? [[$ARGUMENTS]]" },
    agent: { type: "agent", prompt: "Look whether it is fine. [[$ARGUMENTS]]" },
  }
  const hooks = kinds.flatMap((kind) => written[kind] ?? [])
  return hooks.length === 0 ? {} : { hooks: { [event]: [{ ...(matcher !== undefined && { matcher }), hooks }] } }
}

/** A server on the loopback that keeps what it is told. */
const listening = Effect.fnUntraced(function* (blocks: boolean) {
  const posted: Array<unknown> = []
  const server = yield* Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const made = http.createServer((request, response) => {
        let body = ""
        request.on("data", (chunk: Buffer) => (body += chunk.toString()))
        request.on("end", () => {
          posted.push(parse(body))
          response.setHeader("content-type", "application/json")
          response.end(JSON.stringify(blocks ? { decision: "block", reason: objection } : {}))
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (open) =>
      Effect.sync(() => {
        open.closeAllConnections()
        open.close()
      }),
  )
  const address: AddressInfo | string | null = server.address()
  assert(typeof address === "object" && address !== null)
  return { posted, url: `http://127.0.0.1:${address.port}/hook` }
})

/** So many failures, each another one, that a few of them fill the small window of these sessions: nothing of them may be lost. */
const failures = (round: number) =>
  `for i in $(seq 1 240); do echo "Error: case $i of round ${round} failed at src/case$i.ts:$i"; done`

/** A model that does what it is told: `do {"tool":…,"input":…}`, `send <task>`, `fill`, `fail`. */
const book = (blocks: boolean): Playbook => ({
  rules: [
    {
      when: ({ system }) => system.includes(judge.prompt) || system.includes(judge.agent),
      reply: JSON.stringify(blocks ? { ok: false, reason: objection } : { ok: true }),
    },
    { when: { user: "goes on from a summary that you write now" }, reply: "<summary>It was filled.</summary>" },
    {
      when: (told) => taskIn(told.prompt) === "fill" && told.turn < 8,
      reply: ({ turn }) => [{ tool: "Bash", input: { command: failures(turn) } }],
    },
    { when: { system: "may make a tool call" }, reply: '{"behavior":"deny","reason":"not wanted"}' },
    { when: (told) => told.results.length === 0 && taskOf(told) === "fail", faults: [{ status: 401 }] },
    {
      when: (told) => told.results.length === 0 && taskOf(told) !== undefined,
      reply: (told) => {
        const task = taskOf(told) ?? ""
        const sent = /^send (.*)$/.exec(task)?.[1]
        if (sent !== undefined) return [{ tool: "Agent", input: { description: "a task", prompt: sent } }]
        return [decodeCall(task.slice("do ".length))]
      },
    },
    { reply: "Done." },
  ],
})

const taskIn = (said: string): string | undefined => /^(?:do|send|fail|fill)\b.*$/m.exec(said)?.[0]
const taskOf = ({ user }: Told): string | undefined => taskIn(user)

const decodeCall = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ tool: Schema.String, input: Schema.Record(Schema.String, Schema.Unknown) })),
)

export const call = (tool: string, input: object): string => `do ${JSON.stringify({ tool, input })}`

const world = (root: string, blocks: boolean) => {
  const facts = {
    env: { PATH: process.env["PATH"], CLAUDE_CODE_ENABLE_TODO_TOOLS: "1", CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "2" },
    cwd: path.join(root, "work"),
    home: root,
    configDir: path.join(root, "config"),
  }
  const platform = NodeRipgrep.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Host.layerTest(facts),
        NodeFiles.layer,
        NodeFileSystem.layer,
        NodePath.layer,
        NodeProcess.layer,
        NodeHttpFetch.layer,
        NodeWatch.layer,
      ),
    ),
  )
  const model = ScriptedModel.layer(book(blocks))
  return Layer.merge(Runtime.layer({ settings: "project", provider: model }), model).pipe(Layer.provideMerge(platform))
}

const Common = Schema.Struct({
  session_id: Schema.String,
  transcript_path: Schema.String,
  cwd: Schema.String,
  hook_event_name: Schema.String,
  prompt_id: Schema.optionalKey(Schema.String),
  permission_mode: Schema.optionalKey(Schema.String),
  effort: Schema.optionalKey(Schema.Struct({ level: Schema.Literal("high") })),
  agent_id: Schema.optionalKey(Schema.String),
  agent_type: Schema.optionalKey(Schema.String),
})
const decodeCommon = Schema.decodeUnknownSync(Common)

/** What each handler is told: the event's own fields by its row, and those that all share. Nothing else. */
export const check = (one: Case, input: unknown): void => {
  const { carries, input: own } = specOf(one.event)
  const told = decodeCommon(input)
  assert(Schema.is(Schema.Struct(own))(input), `not by the row of ${one.event}: ${JSON.stringify(input)}`)
  const known = [...Object.keys(Common.fields), ...Object.keys(own)]
  assert.includeMembers(known, Object.keys(input))
  for (const field of ["permission_mode", "effort"] as const) {
    assert.strictEqual(field in told, carries.includes(field), `${one.event}: ${field}`)
  }
  if (one.depth === "main") return assert.notProperty(told, "agent_id")
  assert.strictEqual(told.agent_type, "general-purpose")
  assert.match(String(told.agent_id), /^agent-/)
}
