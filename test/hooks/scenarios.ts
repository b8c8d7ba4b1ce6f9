/** How each event of the table is brought about in a real session, and what an objection to it does. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agents } from "../../src/agents/Agents.ts"
import type { Read } from "../../src/cli/LineReader.ts"
import { runInteractive } from "../../src/cli/RunInteractive.ts"
import type { HookEventName } from "../../src/hooks/HookEvents.ts"
import { Person } from "../../src/permissions/Permissions.ts"
import type { Event } from "../../src/protocol/Event.ts"
import { ended, only, transitions } from "../agents/session.ts"
import { args, stdio } from "../cli/stage.ts"
import { call, type Depth, type Needs, objection, type Stage, until } from "./conformance.ts"

type Events = ReadonlyArray<Event>

export interface Scenario {
  /** Where it makes sense: an agent that was sent out has no person, no prompt and no settings of its own. */
  readonly depths: ReadonlyArray<Depth>
  readonly matcher?: string
  /** Brings it about, and answers everything that happened. */
  readonly play: (stage: Stage) => Effect.Effect<Events, unknown, Needs>
  /** What must be so after an objection. `ends`: a model's objection ends the turn here. */
  readonly held?: (stage: Stage, events: Events, ends: boolean) => Effect.Effect<void>
}

const both: ReadonlyArray<Depth> = ["main", "subagent"]
const mainOnly: ReadonlyArray<Depth> = ["main"]

/** What happened in the agent that the case is about; those that judge for hooks are others. */
const own = ({ depth }: Stage, events: Events): Events => {
  if (depth === "main") return events
  const sent = only(events, "SubagentStarted").find(({ agentType }) => agentType === "general-purpose")
  return only(events, "SubagentShown").flatMap(({ agentId, event }) => (agentId === sent?.agentId ? [event] : []))
}

const says = (held: (stage: Stage, events: Events) => void) => (stage: Stage, events: Events) =>
  Effect.sync(() => held(stage, own(stage, events)))

const lastEnd = (events: Events) => only(events, "TurnEnded").slice(-1)

/** The turn is over, and why is said. */
const stopped = says((_, events) => {
  assert.deepInclude(ended(lastEnd(events)).terminal, { reason: "hook_stopped", detail: objection })
})

/** The model hears it with the next request. */
const told = (stage: Stage) =>
  Effect.map(stage.asked, (asked) => assert.include(asked.join("\n"), objection, "the model is told"))

/** The call came to nothing, and the model is told why. */
const refused = says((_, events) => {
  assert.include(
    only(events, "ToolEnded")
      .map(({ content }) => JSON.stringify(content))
      .join("\n"),
    objection,
  )
})

const toldUnlessEnded = (stage: Stage, events: Events, ends: boolean) => (ends ? stopped(stage, events) : told(stage))

const goesOn = (stage: Stage, events: Events) =>
  Effect.andThen(
    told(stage),
    Effect.sync(() => assert.include(transitions(own(stage, events)), "stop_hook_blocking")),
  )

/** A conversation that is summed up: because a person wants it, or because there is no room left. */
const summedUp = (stage: Stage) =>
  stage.depth === "main"
    ? stage.session({ model: "opus" }, ({ say }) =>
        Effect.forEach(["Hello. ".repeat(500), "Go on.", "/compact be brief"], say, { discard: true }),
      )
    : stage.does("fill", { model: "opus" })

const layersOf = (events: Events) => only(events, "Compacted").map(({ layer }) => layer)

/** A session that is opened, and closed again. */
const opened = (stage: Stage, options = {}) => stage.session(options, () => Effect.void)

/** A person at a terminal who types these lines and leaves; answers what they saw. */
export const terminal = Effect.fnUntraced(function* (stage: Stage, lines: ReadonlyArray<string>) {
  const edges = yield* stdio()
  const left = [...lines]
  const read = Effect.suspend((): Effect.Effect<Read> => {
    const text = left.shift()
    return text === undefined ? Effect.as(stage.untilHeard, { _tag: "End" }) : Effect.succeed({ _tag: "Line", text })
  })
  const door = { stdio: edges.stdio, reader: { read: () => read }, cwd: stage.work, version: "1.0.0" }
  assert.strictEqual(yield* runInteractive({ ...door, agents: yield* Agents }, args()), 0)
  return edges.out()
})

const write = (stage: Stage) => call("Bash", { command: `echo hi > ${stage.work}/made` })

/** Watching begins in its own time, so it is written until somebody hears. */
const keepWriting = (stage: Stage, file: string) => {
  let times = 0
  const write = Effect.sync(() => stage.put(file, String(++times)))
  return Effect.race(stage.untilHeard, Effect.repeat(write, Schedule.spaced("50 millis")))
}

export const scenarios: Readonly<Partial<Record<HookEventName, Scenario>>> = {
  SessionStart: { depths: mainOnly, play: opened },
  Setup: { depths: mainOnly, play: (stage) => opened(stage, { setup: "init" }) },
  SessionEnd: { depths: mainOnly, play: opened },
  InstructionsLoaded: {
    depths: mainOnly,
    play: (stage) => {
      stage.put("work/CLAUDE.md", "Be brief.")
      return opened(stage)
    },
  },
  ConfigChange: {
    depths: mainOnly,
    play: (stage) =>
      stage.session({}, ({ events, say }) =>
        Effect.gen(function* () {
          stage.put("work/.claude/settings.local.json", JSON.stringify({ model: "haiku" }))
          yield* stage.untilHeard
          if (!stage.blocks) yield* until(happened(events, "ConfigChanged"), "the settings count")
          yield* say("Go on.")
        }),
      ),
    held: says((_, events) => assert.lengthOf(only(events, "ConfigChanged"), 0)),
  },
  CwdChanged: {
    depths: both,
    play: (stage) => {
      fs.mkdirSync(path.join(stage.work, "sub"))
      return stage.does(call("Bash", { command: "cd sub" }))
    },
  },
  DirectoryAdded: {
    depths: mainOnly,
    matcher: "slash_command",
    play: (stage) => {
      fs.mkdirSync(path.join(stage.root, "more"))
      return Effect.as(terminal(stage, ["/add-dir ../more"]), [])
    },
  },
  FileChanged: {
    depths: mainOnly,
    matcher: ".envrc|other",
    play: (stage) => stage.session({}, () => keepWriting(stage, "work/.envrc")),
  },
  PreModelSwitch: {
    depths: mainOnly,
    play: (stage) =>
      stage.session({ model: "sonnet" }, ({ agent, say }) => Effect.andThen(agent.setModel("haiku"), say("Go on."))),
    held: says((_, events) => {
      assert.lengthOf(only(events, "ControlsChanged"), 0)
      assert.include(only(events, "Diagnosed")[0]?.message, objection)
    }),
  },
  PostModelSwitch: {
    depths: mainOnly,
    play: (stage) => stage.session({ model: "sonnet" }, ({ agent }) => agent.setModel("haiku")),
  },
  UserPromptSubmit: {
    depths: mainOnly,
    play: (stage) => stage.does("Hello."),
    held: (stage, events) =>
      Effect.andThen(
        stopped(stage, events),
        Effect.map(stage.asked, (asked) => assert.lengthOf(asked, 0)),
      ),
  },
  UserPromptExpansion: {
    depths: mainOnly,
    play: (stage) => {
      stage.put("config/commands/greet.md", "Greet $ARGUMENTS.")
      return stage.does("/greet everybody")
    },
    held: (stage, events) =>
      Effect.andThen(
        stopped(stage, events),
        Effect.map(stage.asked, (asked) => assert.lengthOf(asked, 0)),
      ),
  },
  MessageDisplay: { depths: mainOnly, play: (stage) => Effect.as(terminal(stage, ["Hello."]), []) },
  Notification: {
    depths: both,
    matcher: "permission_prompt",
    play: (stage) =>
      Effect.provideService(stage.does(write(stage), { permissionMode: "default" }), Person, {
        ask: () => Effect.as(stage.untilHeard, { allow: false }),
      }),
  },
  SubagentStart: { depths: ["subagent"], play: (stage) => stage.does("Look around.") },
  SubagentStop: { depths: ["subagent"], play: (stage) => stage.does("Look around."), held: goesOn },
  Stop: { depths: mainOnly, play: (stage) => stage.does("Hello."), held: goesOn },
  StopFailure: { depths: both, play: (stage) => stage.does("fail") },
  PreCompact: {
    depths: both,
    play: summedUp,
    held: says((_, events) => assert.notInclude(layersOf(events), "summary")),
  },
  PostCompact: { depths: both, play: summedUp },
  PreToolUse: {
    depths: both,
    matcher: "Bash",
    play: (stage) => stage.does(write(stage)),
    held: (stage, events, ends) =>
      Effect.gen(function* () {
        assert.isFalse(fs.existsSync(path.join(stage.work, "made")), "nothing was done")
        yield* ends ? stopped(stage, events) : refused(stage, events)
      }),
  },
  PermissionRequest: {
    depths: both,
    play: (stage) => stage.does(write(stage), { permissionMode: "default" }),
  },
  PermissionDenied: {
    depths: both,
    play: (stage) => stage.does(call("Bash", { command: "npm run deploy" }), { permissionMode: "auto" }),
  },
  PostToolUse: {
    depths: both,
    matcher: "Bash",
    play: (stage) => stage.does(write(stage)),
    held: toldUnlessEnded,
  },
  PostToolUseFailure: {
    depths: both,
    matcher: "Read",
    play: (stage) => stage.does(call("Read", { file_path: `${stage.work}/missing` })),
    held: toldUnlessEnded,
  },
  PostToolBatch: { depths: both, play: (stage) => stage.does(write(stage)), held: stopped },
  TaskCreated: {
    depths: both,
    play: (stage) => stage.does(call("TaskCreate", { subject: "a task", description: "to be done" })),
    held: refused,
  },
  TaskCompleted: {
    depths: both,
    play: (stage) =>
      stage.session({}, ({ say }) =>
        Effect.gen(function* () {
          yield* say(call("TaskCreate", { subject: "a task", description: "to be done" }))
          yield* say(stage.order(call("TaskUpdate", { taskId: "1", status: "completed" })))
        }),
      ),
    held: refused,
  },
}

const happened = (events: Events, tag: Event["_tag"]) => Effect.sync(() => events.some((event) => event._tag === tag))
