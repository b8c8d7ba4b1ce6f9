/**
 * Owns a session at the terminal: a prompt loop around turns that are shown as they happen.
 *
 * While a turn runs, Ctrl-C ends the turn and a second one leaves; at the prompt, two in a row leave.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberHandle from "effect/FiberHandle"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Agent } from "../agents/Agent.ts"
import * as Budget from "../kernel/Budget.ts"
import { Person } from "../permissions/Permissions.ts"
import type { Event } from "../protocol/Event.ts"
import { parse as parseMode } from "../protocol/PermissionMode.ts"
import type { SessionArgs } from "./SessionArgs.ts"
import * as Ask from "./Ask.ts"
import * as Display from "./Display.ts"
import { readPrompt, type LineReader } from "./LineReader.ts"
import { openSession, type Opener } from "./OpenSession.ts"
import { nearest } from "../platform/Near.ts"
import { permissionModes } from "./Options.ts"
import type { Pastes } from "./Pastes.ts"
import type { Answer } from "./TrustDialogue.ts"
import * as HealthView from "./HealthView.ts"
import * as PromptHelp from "./PromptHelp.ts"
import * as PromptSession from "./PromptSession.ts"
import * as PromptHistory from "./PromptHistory.ts"
import * as RewindDialogue from "./RewindDialogue.ts"
import * as Rewritten from "./Rewritten.ts"
import * as Screen from "./Screen.ts"
import { signalCodes, type Signal, type Stdio } from "./Stdio.ts"
import type { StatusLine } from "./StatusLine.ts"
import type { Tone, ViewLine } from "./ToolView.ts"

export interface InteractiveDoor {
  readonly agents: Opener
  readonly stdio: Stdio
  readonly reader: LineReader
  readonly cwd: string
  readonly version: string
  /** A terminal that can only be written on, line by line. */
  readonly dumb?: boolean
  readonly history?: PromptHistory.PromptHistory
  /** Puts what the folder's files want to run to the person; `undefined` where nothing waits. */
  readonly trust?: Effect.Effect<Answer | undefined>
  /** Writes the session to a file. */
  readonly save?: PromptSession.Save
  /** What words in a typed line stand for. */
  readonly pastes?: Pick<Pastes, "expand">
  /** Takes the session elsewhere: into a file, or to another process, after which it is to be left. */
  readonly travel?: Travel
  /** What stands above the prompt, if settings want something there. */
  readonly statusLine?: (agent: Agent) => Effect.Effect<StatusLine | undefined, never, Scope.Scope>
}

/** Both answer what the person is told. */
export interface Travel {
  readonly toFile: (agent: Agent, file: string | undefined) => Effect.Effect<ReadonlyArray<string>, Failed>
  readonly handOver: (agent: Agent, address: string) => Effect.Effect<ReadonlyArray<string>, Failed>
}
interface Failed {
  readonly message: string
}

/** Runs until the person leaves, and answers the exit code. */
export const runInteractive = Effect.fn("Cli.interactive")(function* (door: InteractiveDoor, args: SessionArgs) {
  const look = {
    color: args.color,
    live: door.dumb !== true,
    columns: door.stdio.columns,
    cwd: door.cwd,
    verbose: args.verbose,
  }
  const display = yield* Display.make(Screen.make(look), door.stdio.screen)
  let opened: Agent | undefined
  const interrupt = Effect.suspend(() => (opened === undefined ? Effect.void : Effect.asVoid(opened.interrupt())))
  const asked = Ask.person({
    reader: door.reader,
    alone: display.alone,
    show: display.within,
    columns: door.stdio.columns,
    interrupt,
  })
  const session = Effect.gen(function* () {
    const agent = yield* openSession(door.agents, args, door.cwd)
    opened = agent
    yield* greet(display, agent, door)
    const { code, gone } = yield* converse(door, display, agent, args.prompt ?? agent.initialPrompt)
    agent.leaving("prompt_input_exit")
    if (gone !== true) yield* display.say("quiet", `To go on: troupe --resume ${agent.sessionId}`)
    return code
  })
  const limits = { usd: args.maxBudgetUsd, name: "--max-budget-usd" }
  return yield* Effect.scoped(args.maxBudgetUsd === undefined ? session : Budget.within(limits)(session)).pipe(
    Effect.provideService(Person, asked),
  )
})

const greet = Effect.fnUntraced(function* (display: Display.Display, agent: Agent, door: InteractiveDoor) {
  const { model, permissionMode } = yield* agent.controls
  yield* display.say("quiet", `troupe ${door.version} · ${model} · permissions: ${permissionMode} · ${agent.cwd}`)
  for (const problem of agent.problems) yield* display.say("warning", problem)
  yield* display.lines(PromptSession.earlier(agent.messages(), agent.cwd))
})

/** How a session at the terminal ended; `gone`: it goes on elsewhere. */
interface Leaving {
  readonly code: number
  readonly gone?: boolean
}
const left: Leaving = { code: 0 }
const leftBy = (signal: Signal): Leaving => ({ code: signalCodes[signal] })

const converse = Effect.fnUntraced(function* (
  door: InteractiveDoor,
  display: Display.Display,
  agent: Agent,
  first: string | undefined,
) {
  const { history = PromptHistory.none, pastes } = door
  const rewritten = Rewritten.make(agent.rewriter)
  const show = (event: Event) =>
    Effect.flatMap(rewritten(event), (events) => Effect.forEach(events, display.show, { discard: true }))
  const own = yield* selfStarted(agent, show)
  const idle = yield* FiberHandle.make()
  const footer = yield* footerOf(door, display, agent)
  let prompt = first
  let leaving = false
  let again = false
  if (first !== undefined) yield* history.add(first, agent.sessionId)
  while (true) {
    if (prompt !== undefined) {
      const signal = yield* guarded(door, display, agent, Stream.runForEach(agent.prompt(prompt), show))
      if (signal !== undefined && signal !== "SIGINT") return leftBy(signal)
      prompt = undefined
      yield* FiberHandle.run(idle, Effect.delay(agent.idle, idleAfter))
    }
    yield* display.settle
    yield* footer.show(again)
    const asking = readPrompt(door.reader, "› ", "… ", yield* history.recall)
    const read = yield* Effect.raceAllFirst([asking, signalled(door.stdio), own.began, footer.changed])
    again = read._tag === "Changed"
    if (read._tag === "Changed") continue
    yield* FiberHandle.clear(idle)
    if (read._tag === "Signal") return leftBy(read.signal)
    if (read._tag === "Began") {
      const signal = yield* guarded(door, display, agent, read.end)
      if (signal !== undefined && signal !== "SIGINT") return leftBy(signal)
      continue
    }
    if (read._tag === "End") return left
    if (read._tag === "Interrupt") {
      if (leaving && !read.typed) return left
      leaving = true
      if (!read.typed) yield* display.say("quiet", "Ctrl-C again, or Ctrl-D, to leave.")
      continue
    }
    leaving = false
    const text = read.text.trim()
    if (text === "" || text === "exit" || text === "quit") {
      if (text !== "") return left
      continue
    }
    yield* history.add(read.text, agent.sessionId)
    const done = text.startsWith("/") ? yield* command(text, agent, door, display) : undefined
    if (done === "leave") return left
    if (done !== undefined && "gone" in done) {
      yield* display.lines(done.gone)
      return { ...left, gone: true }
    }
    if (done === undefined) prompt = pastes?.expand(read.text) ?? read.text
    else yield* display.lines(done)
  }
})

/** The status line above the prompt. On a terminal that can be drawn on, it is renewed in its place while somebody types. */
const footerOf = Effect.fnUntraced(function* (door: InteractiveDoor, display: Display.Display, agent: Agent) {
  const status = yield* door.statusLine?.(agent) ?? Effect.undefined
  if (status === undefined) return { show: () => Effect.void, changed: Effect.never }
  const events = yield* agent.watch
  yield* Effect.forkScoped(Stream.runForEach(events, status.hear), { startImmediately: true })
  let shown = 0
  return {
    show: (again: boolean) =>
      Effect.suspend(() => {
        const lines = status.lines()
        const over = again ? shown : 0
        shown = lines.length
        return display.footer(lines, over)
      }),
    changed: door.dumb === true ? Effect.never : Effect.as(status.changed, { _tag: "Changed" as const }),
  }
})

const signalled = ({ signal }: Stdio) => Effect.map(signal, (signal) => ({ _tag: "Signal" as const, signal }))

/**
 * Turns that begin by themselves: work in the background has ended, and the model hears of it. They are shown as they happen, and who
 * waits at the prompt is told when one begins.
 */
const selfStarted = Effect.fnUntraced(function* (agent: Agent, show: (event: Event) => Effect.Effect<void>) {
  const began = yield* Queue.unbounded<Deferred.Deferred<void>>()
  const events = yield* agent.watch
  let end: Deferred.Deferred<void> | undefined
  const hear = Effect.fnUntraced(function* (event: Event) {
    if (event._tag === "PromptReceived" && event.delivery === "prompt" && event.harness === true) {
      end = yield* Deferred.make<void>()
      yield* Queue.offer(began, end)
    }
    if (end === undefined) return
    yield* show(event)
    if (event._tag !== "TurnEnded") return
    yield* Deferred.succeed(end, undefined)
    end = undefined
  })
  yield* Effect.forkScoped(Stream.runForEach(events, hear))
  return { began: Effect.map(Queue.take(began), (done) => ({ _tag: "Began" as const, end: Deferred.await(done) })) }
})

/** So long nobody answers before whoever is elsewhere is told of it. */
const idleAfter = "60 seconds"

/** One turn on the screen; answers the signal that ended it, if one did. */
const guarded = Effect.fnUntraced(function* <E>(
  door: InteractiveDoor,
  display: Display.Display,
  agent: Agent,
  showing: Effect.Effect<void, E>,
) {
  let ended: Signal | undefined
  const { signal, quit } = door.stdio
  const guard = Effect.gen(function* () {
    ended = yield* signal
    yield* agent.interrupt()
    yield* display.say("warning", "Interrupting … (Ctrl-C again leaves at once)")
    yield* quit(signalCodes[yield* signal])
  })
  const guarding = yield* Effect.forkChild(guard, { startImmediately: true })
  yield* showing.pipe(display.spinning, Effect.ensuring(Fiber.interrupt(guarding)))
  return ended
})

/** The few commands of the prompt; `undefined` for one that is none, which goes to the model as it is. */
const command = Effect.fnUntraced(function* (
  text: string,
  agent: Agent,
  { reader, save, travel, trust }: InteractiveDoor,
  { lines: show }: Display.Display,
) {
  const [name, ...words] = text.split(/\s+/)
  const argument = words.join(" ")
  const say = (tone: Tone, text: string): ReadonlyArray<ViewLine> => [{ tone, text }]
  switch (name) {
    case "/exit":
    case "/quit":
      return "leave" as const
    case "/help":
      return PromptHelp.help(yield* agent.commands)
    case "/skills":
      return PromptHelp.skills(yield* agent.commands)
    case "/agents":
      return PromptHelp.agents(yield* agent.agentTypes)
    case "/hooks": {
      const answer = argument === "trust" && trust !== undefined ? yield* trust : undefined
      if (argument === "trust" && answer === undefined) return say("quiet", "Nothing waits for your agreement.")
      const said =
        answer === "agreed" ? say("quiet", "In force: hooks and rules at once, the rest from the next session on.") : []
      return [...said, ...PromptHelp.hooks(agent.hooks())]
    }
    case "/rewind":
    case "/checkpoint":
      return yield* RewindDialogue.rewind({ agent, reader, show }, words)
    case "/add-dir": {
      if (argument === "") return say("bad", "Name the directory: /add-dir <path>")
      const added = yield* Effect.result(agent.addDirectory(argument))
      return added._tag === "Success" ? say("quiet", `added: ${added.success}`) : say("bad", added.failure.message)
    }
    case "/teleport": {
      if (travel === undefined) return say("bad", "This session cannot be exported from here.")
      const left = yield* Effect.result(travel.toFile(agent, argument === "" ? undefined : argument))
      return left._tag === "Success"
        ? left.success.flatMap((line) => say("quiet", line))
        : say("bad", left.failure.message)
    }
    case "/desktop": {
      if (travel === undefined) return say("bad", "This session cannot be handed over from here.")
      if (argument === "") return PromptHelp.desktop
      const sent = yield* Effect.result(travel.handOver(agent, argument))
      if (sent._tag === "Failure") return say("bad", `${sent.failure.message}. The session stays here.`)
      return { gone: sent.success.flatMap((line) => say("quiet", line)) }
    }
    case "/rename":
    case "/tag":
    case "/export":
      return yield* PromptSession.command(name, argument, agent, save)
    case "/context":
      return HealthView.view(yield* agent.context)
    case "/model":
      if (argument !== "") yield* agent.setModel(argument, "person")
      return say("quiet", `model: ${(yield* agent.controls).model}`)
    case "/mode": {
      const mode = parseMode(argument)
      if (argument !== "" && mode === undefined) {
        const near = nearest(argument, permissionModes)
        const hint = near === undefined ? `One of ${permissionModes.join(", ")}.` : `Did you mean ${near}?`
        return say("bad", `There is no permission mode "${argument}". ${hint}`)
      }
      if (mode !== undefined) yield* agent.setPermissionMode(mode, "person")
      return say("quiet", `permissions: ${(yield* agent.controls).permissionMode}`)
    }
    default:
      return undefined
  }
})
