/**
 * Owns print mode: one prompt, or messages line by line, in; text, JSON or JSON lines out; an exit code at the end.
 *
 * A reader that goes away ends the session quietly. The first SIGINT ends the turn and the result is still printed; the
 * second leaves at once.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { Agent } from "../agents/Agent.ts"
import type { SessionHook } from "../agents/SessionHook.ts"
import type { Table } from "../cost/ModelTable.ts"
import * as Budget from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import type { Event, EventOf } from "../protocol/Event.ts"
import * as Terminal from "../protocol/Terminal.ts"
import type { Initialize } from "./ControlWire.ts"
import type { SessionArgs } from "./SessionArgs.ts"
import { CannotStart, openSession, type Opener } from "./OpenSession.ts"
import { printer } from "./Output.ts"
import * as Profiled from "./Profiled.ts"
import * as Rewritten from "./Rewritten.ts"
import type { SessionState } from "./SdkLine.ts"
import * as SdkMessages from "./SdkMessages.ts"
import { signalCodes, type Signal, type Stdio } from "./Stdio.ts"

export interface PrintDoor {
  readonly agents: Opener
  readonly stdio: Stdio
  readonly cwd: string
  readonly version: string
  /** Which variable or setting the key comes from, never the key. */
  readonly apiKeySource: string
  /** What is known of a model by its name or alias. */
  readonly modelOf: (name: string) => { readonly id: string; readonly limits: SdkMessages.Limits | undefined }
  /** What a client is told it may choose from. */
  readonly models?: Pick<Table, "models" | "resolve">
  readonly pid?: number
  /** A client that wants to know whether something runs. */
  readonly tellsState?: boolean
}

/** SIGTERM and SIGHUP wait so long for an orderly end. */
const grace = "5 seconds"
/** What is read from a pipe as part of a prompt, at most. */
const mostInput = 10_000_000
/** A prompt was given, so a pipe that stays silent is not waited for. */
const patience = "3 seconds"

/** The code of a program that wrote into a closed pipe. */
const closedPipe = 128 + 13
const wrongUsage = 2

/** What one run knows so far. */
interface Run {
  agent?: Agent
  signal?: Signal
  /** Done when there is a signal. */
  readonly stop: Deferred.Deferred<void>
  /** How the last turn ended. */
  exitCode?: number
}

/** Runs a session in print mode and answers the exit code. */
export const runPrint = Effect.fn("Cli.print")(function* (door: PrintDoor, args: SessionArgs) {
  const run: Run = { stop: yield* Deferred.make<void>() }
  const report = yield* reporting(door, args, run)
  const guard = yield* Effect.forkChild(guarding(door.stdio, run), { startImmediately: true })
  const work = Effect.scoped(working(door, args, run, report))
  const budget = Budget.within({ usd: args.maxBudgetUsd, name: "--max-budget-usd" })
  yield* (args.maxBudgetUsd === undefined ? work : budget(work)).pipe(
    Effect.catchTag("BudgetExceeded", (error) => report.broke("budget_exhausted", error.message)),
    Effect.andThen(report.end),
    Effect.catchTag("OutputError", (error) => {
      if (error.reason === "failed") return Effect.fail(error)
      run.exitCode ??= closedPipe
      return Effect.void
    }),
    Effect.ensuring(Fiber.interrupt(guard)),
  )
  if (run.signal === undefined) return run.exitCode ?? 0
  // An interrupted turn says so itself, unless there was none.
  return run.signal === "SIGINT" ? (run.exitCode ?? signalCodes.SIGINT) : signalCodes[run.signal]
})

/** Reacts to signals. Before a session is open there is nothing to end in order. */
const guarding = Effect.fnUntraced(function* ({ signal, quit }: Stdio, run: Run) {
  const first = yield* signal
  run.signal = first
  yield* Deferred.succeed(run.stop, undefined)
  if (run.agent !== undefined) {
    yield* run.agent.interrupt()
    yield* first === "SIGINT" ? signal : Effect.timeoutOption(signal, grace)
  }
  yield* quit(signalCodes[first])
})

const working = Effect.fnUntraced(function* (door: PrintDoor, args: SessionArgs, run: Run, report: Report) {
  const open = (asked?: Initialize, hooks?: ReadonlyArray<SessionHook>) =>
    openSession(door.agents, args, door.cwd, asked, hooks).pipe(Effect.tap(report.opened))
  if (args.inputFormat === "stream-json") {
    const { talk } = yield* Effect.promise(() => import("./Talk.ts"))
    const understood = yield* talk(door.stdio, {
      open,
      show: report.show,
      refuse: report.refuse,
      state: door.tellsState === true ? report.state : undefined,
      stopped: Deferred.await(run.stop),
      asks: args.asksClient,
      facts: { models: door.models, apiKeySource: door.apiKeySource, pid: door.pid ?? 0 },
    })
    // Every result said itself how its turn ended. Input that made no sense at all was not meant for us.
    if (run.signal === undefined) run.exitCode = understood ? 0 : wrongUsage
    return
  }
  if (args.initOnly) {
    yield* open()
    return
  }
  const prompt = yield* readPrompt(args.prompt, door.stdio)
  const agent = yield* open()
  if (run.signal !== undefined) return
  yield* agent.prompt(prompt).pipe(
    Profiled.events,
    Stream.runForEach((event) => report.show(agent, event)),
    Effect.catchTags({
      JournalError: (error) => report.broke("session_failed", error.message),
      ActorDown: (error) => report.broke("session_failed", error.message),
    }),
  )
  if (run.exitCode === undefined && run.signal === undefined) {
    yield* report.broke("session_failed", "The session ended before the turn did.")
  }
})

type Report = Effect.Success<ReturnType<typeof reporting>>

/** Prints what happens, as the flags want it. */
const reporting = Effect.fnUntraced(function* (door: PrintDoor, args: SessionArgs, run: Run) {
  const { out, err, columns } = door.stdio
  const output = printer(args.outputFormat, { verbose: args.verbose }, out, err)
  const look = { color: false, live: false, columns, cwd: door.cwd, verbose: true, mute: true }
  const verbose = args.verbose && args.outputFormat === "text"
  const screen = verbose ? (yield* Effect.promise(() => import("./Screen.ts"))).make(look) : undefined
  const rewritten = Rewritten.whole()
  let messages: SdkMessages.SdkMessages | undefined

  /** Nobody stops working because stderr is closed. */
  const note = (text: string) => (text === "" ? Effect.void : Effect.ignore(err.write(text)))

  return {
    opened: Effect.fnUntraced(function* (agent: Agent) {
      run.agent = agent
      messages = SdkMessages.make({
        sessionId: agent.sessionId,
        partial: args.partialMessages,
        hooks: args.hookEvents,
        limitsOf: (model) => door.modelOf(model).limits,
      })
      for (const problem of agent.problems) yield* note(`troupe: ${problem}\n`)
    }),
    show: Effect.fnUntraced(function* (agent: Agent, given: Event) {
      if (messages === undefined) return
      const rewrite = agent.rewriter()
      const event = rewrite === undefined ? given : yield* rewritten(given, rewrite)
      if (event._tag === "PromptReceived" && event.delivery === "prompt" && event.harness !== true) {
        const { version, apiKeySource } = door
        const { permissionMode, model: name } = yield* agent.controls
        const model = door.modelOf(name).id
        const commands = yield* agent.commands
        const facts = {
          cwd: agent.cwd,
          tools: agent.tools(),
          model,
          permissionMode,
          apiKeySource,
          version,
          slash_commands: commands.map(({ name }) => name),
          agents: (yield* agent.agentTypes).map(({ name }) => name),
          skills: commands.flatMap(({ form, name }) => (form === "skill" ? [name] : [])),
          output_style: agent.outputStyle,
        }
        yield* output.print(messages.init(facts, yield* Ids.uuid))
      }
      if (event._tag === "PromptRefused" && args.outputFormat === "text") yield* note(`troupe: ${event.reason}\n`)
      if (event._tag === "Diagnosed" && event.level !== "info") yield* note(`troupe: ${event.message}\n`)
      // Somebody waits for the text: a pause that is not explained looks like a program that hangs.
      if (event._tag === "RetryWaiting" && args.outputFormat === "text" && screen === undefined) {
        yield* note(`troupe: ${retrying(event)}\n`)
      }
      // The answer may not mention what it could not do.
      if (event._tag === "PermissionDecided" && event.behavior === "deny" && args.outputFormat === "text") {
        if (screen === undefined) yield* note(`troupe: denied: ${event.tool}: ${event.reason}\n`)
      }
      if (event._tag === "TurnEnded") run.exitCode = Terminal.exitCode(event.terminal)
      yield* note(screen?.show(event) ?? "")
      for (const line of messages.apply(event, yield* Ids.uuid)) yield* output.print(line)
    }),
    /** The turn broke off without an end of its own: it gets one. */
    broke: Effect.fnUntraced(function* (reason: Terminal.TerminalReason, detail: string) {
      const terminal = { reason, detail }
      run.exitCode = Terminal.exitCode(terminal)
      if (messages !== undefined) yield* output.print(messages.failed(terminal, yield* Ids.uuid))
    }),
    refuse: Effect.fnUntraced(function* (why: string) {
      if (messages !== undefined) yield* output.print(messages.refused(why, yield* Ids.uuid))
    }),
    state: Effect.fnUntraced(function* (state: SessionState) {
      if (messages !== undefined) yield* output.print(messages.state(state, yield* Ids.uuid))
    }),
    end: output.end,
  }
})

const retrying = ({ reason, detail, delayMs, attempt, maxAttempts }: EventOf<"RetryWaiting">): string =>
  `${(detail ?? reason).replace(/\.$/, "")}; trying again in ${(delayMs / 1000).toFixed(1)} s (attempt ${attempt} of ${maxAttempts})`

/** The prompt, and what is piped in behind it. */
const readPrompt = Effect.fnUntraced(function* (prompt: string | undefined, stdio: Stdio) {
  const piped = stdio.inputIsTerminal ? "" : yield* readInput(stdio, prompt !== undefined)
  const content = [prompt, piped].filter((part) => part !== undefined && part.trim() !== "").join("\n")
  if (content !== "") return content
  return yield* new CannotStart({ message: 'There is no prompt: stdin is empty. Use troupe -p "…", or pipe text in.' })
})

const readInput = Effect.fnUntraced(function* (stdio: Stdio, optional: boolean) {
  let text = ""
  let silent = true
  const all = stdio.input.pipe(
    Stream.runForEach((chunk) => {
      silent = false
      text += chunk
      return text.length > mostInput
        ? Effect.fail(
            new CannotStart({ message: "Stdin holds more than 10 MB. Save it to a file and name that instead." }),
          )
        : Effect.void
    }),
  )
  if (!optional) {
    yield* all
    return text
  }
  const tooSilent = Effect.andThen(
    Effect.sleep(patience),
    Effect.suspend(() => (silent ? Effect.succeed(true) : Effect.never)),
  )
  const gaveUp = yield* Effect.raceFirst(Effect.as(all, false), tooSilent)
  if (gaveUp) {
    const hint =
      "troupe: nothing came through the pipe within 3 s; going on without it (< /dev/null avoids the wait).\n"
    yield* Effect.ignore(stdio.err.write(hint))
  }
  return text
})
