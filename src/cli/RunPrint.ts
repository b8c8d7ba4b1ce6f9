/**
 * Owns print mode: one prompt, or messages line by line, in; text, JSON or JSON lines out; an exit code at the end.
 *
 * A reader that goes away ends the session quietly. The first SIGINT ends the turn and the result is still printed; the
 * second leaves at once.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Agent } from "../agents/Agent.ts"
import * as Budget from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import type { Event } from "../protocol/Event.ts"
import * as Terminal from "../protocol/Terminal.ts"
import type { SessionArgs } from "./Argv.ts"
import { CannotStart, openSession, type Opener } from "./OpenSession.ts"
import { printer, type Printer } from "./Output.ts"
import * as Screen from "./Screen.ts"
import * as SdkMessages from "./SdkMessages.ts"
import { signalCodes, type Signal, type Stdio } from "./Stdio.ts"
import * as Talk from "./Talk.ts"

export interface PrintDoor {
  readonly agents: Opener
  readonly stdio: Stdio
  readonly cwd: string
  readonly version: string
  /** Which variable or setting the key comes from, never the key. */
  readonly apiKeySource: string
  readonly limitsOf?: NonNullable<SdkMessages.Setup["limitsOf"]>
}

/** SIGTERM and SIGHUP wait so long for an orderly end. */
const grace = "5 seconds"
/** What is read from a pipe as part of a prompt, at most. */
const mostInput = 10_000_000
/** A prompt was given, so a pipe that stays silent is not waited for. */
const patience = "3 seconds"

/** The code of a program that wrote into a closed pipe. */
const closedPipe = 128 + 13

/** Runs a session in print mode and answers the exit code. */
export const runPrint = Effect.fn("Cli.print")(function* (door: PrintDoor, args: SessionArgs) {
  const run = new Run(door, args)
  const guard = yield* Effect.forkChild(run.guard, { startImmediately: true })
  const limits = { usd: args.maxBudgetUsd, name: "--max-budget-usd" }
  const budgeted = args.maxBudgetUsd === undefined ? run.work : Budget.within(limits)(run.work)
  yield* Effect.scoped(budgeted).pipe(
    Effect.catchTag("BudgetExceeded", (error) => run.broke({ reason: "budget_exhausted", detail: error.message })),
    Effect.catchTag("OutputError", (error) =>
      error.reason === "closed"
        ? Effect.sync(() => {
            run.exitCode ??= closedPipe
          })
        : Effect.fail(error),
    ),
    Effect.ensuring(Effect.sync(() => guard.interruptUnsafe())),
  )
  const forced = run.signal === "SIGTERM" || run.signal === "SIGHUP" ? signalCodes[run.signal] : undefined
  return forced ?? run.exitCode ?? (run.signal === undefined ? 0 : signalCodes[run.signal])
})

/** What one run keeps: the projection, the printer, how the last turn ended. */
class Run {
  exitCode: number | undefined
  signal: Signal | undefined
  readonly door: PrintDoor
  readonly args: SessionArgs
  readonly printer: Printer
  agent: Agent | undefined
  messages: SdkMessages.SdkMessages | undefined
  readonly screen: Screen.Screen | undefined

  constructor(door: PrintDoor, args: SessionArgs) {
    const { out, err, columns } = door.stdio
    this.door = door
    this.args = args
    this.printer = printer(args.outputFormat, { verbose: args.verbose }, out, err)
    const look = { color: false, live: false, columns, cwd: door.cwd, verbose: true }
    this.screen = args.verbose && args.outputFormat === "text" ? Screen.make(look) : undefined
  }

  /** Reacts to signals. Before a session is open there is nothing to end in order. */
  get guard() {
    return Effect.gen({ self: this }, function* () {
      const { signal, quit } = this.door.stdio
      const first = yield* signal
      this.signal = first
      const code = signalCodes[first]
      if (this.agent === undefined) return yield* quit(code)
      yield* this.agent.interrupt()
      yield* first === "SIGINT" ? signal : Effect.raceFirst(signal, Effect.sleep(grace))
      yield* quit(code)
    })
  }

  get work() {
    return Effect.gen({ self: this }, function* () {
      const { agents, stdio, cwd } = this.door
      if (this.args.inputFormat === "stream-json") {
        return yield* Talk.talk(stdio, {
          open: Effect.tap(openSession(agents, this.args, cwd), (agent) => this.begin(agent)),
          show: (agent, event) => this.show(agent, event),
          stopped: () => this.signal !== undefined,
        })
      }
      const prompt = yield* readPrompt(this.args.prompt, stdio)
      const agent = yield* openSession(agents, this.args, cwd)
      yield* this.begin(agent)
      yield* agent.prompt(prompt).pipe(
        Stream.runForEach((event) => this.show(agent, event)),
        Effect.catchTags({
          JournalError: (error) => this.broke({ reason: "session_failed", detail: error.message }),
          ActorDown: (error) => this.broke({ reason: "session_failed", detail: error.message }),
        }),
      )
      yield* this.printer.end
    })
  }

  private readonly begin = Effect.fnUntraced({ self: this }, function* (agent: Agent) {
    this.agent = agent
    const { uuid } = yield* Ids.Ids
    this.messages = SdkMessages.make({
      sessionId: agent.sessionId,
      partial: this.args.partialMessages,
      uuid: () => Effect.runSync(uuid),
      ...(this.door.limitsOf && { limitsOf: this.door.limitsOf }),
    })
    for (const problem of agent.problems) yield* this.warn(problem)
  })

  private readonly show = Effect.fnUntraced({ self: this }, function* (agent: Agent, event: Event) {
    const { messages, printer, screen } = this
    if (messages === undefined) return
    if (event._tag === "PromptReceived" && event.delivery === "prompt" && event.harness !== true) {
      const { model, permissionMode } = yield* agent.controls
      const { version, apiKeySource } = this.door
      const tools = agent.tools()
      yield* printer.print(
        messages.init({ cwd: agent.cwd, tools, model, permissionMode, apiKeySource, version }),
      )
    }
    if (event._tag === "Diagnosed" && event.level !== "info") yield* this.warn(event.message)
    const seen = screen?.show(event) ?? ""
    if (seen !== "") yield* Effect.ignore(this.door.stdio.err.write(seen))
    if (event._tag === "TurnEnded") this.exitCode = Terminal.exitCode(event.terminal)
    for (const line of messages.apply(event)) yield* printer.print(line)
  })

  private warn(message: string) {
    return Effect.ignore(this.door.stdio.err.write(`troupe: ${message}\n`))
  }

  /** The turn broke off without an end of its own: it gets one. */
  broke(terminal: Terminal.Terminal) {
    return Effect.gen({ self: this }, function* () {
      this.exitCode = Terminal.exitCode(terminal)
      if (this.messages !== undefined) yield* this.printer.print(this.messages.failed(terminal))
      yield* this.printer.end
    })
  }
}

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
        ? Effect.fail(new CannotStart({ message: "Stdin holds more than 10 MB. Save it to a file and name that instead." }))
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
    const hint = "troupe: nothing came through the pipe within 3 s; going on without it (< /dev/null avoids the wait).\n"
    yield* Effect.ignore(stdio.err.write(hint))
  }
  return text
})
