/** Owns a stage for the front doors: an agent whose turns the test writes, and standard streams it can see. */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Health from "../../src/context/compaction/Health.ts"
import type { Agent } from "../../src/agents/Agent.ts"
import { parse } from "../../src/cli/Argv.ts"
import type { SessionArgs } from "../../src/cli/SessionArgs.ts"
import type { Opener } from "../../src/cli/OpenSession.ts"
import { OutputError, type Sink } from "../../src/cli/Output.ts"
import type { Signal, Stdio } from "../../src/cli/Stdio.ts"
import type { Content } from "../../src/protocol/Content.ts"
import type { Event } from "../../src/protocol/Event.ts"
import type { Checkpoint } from "../../src/session/RewindPlan.ts"
import type { PermissionMode } from "../../src/protocol/PermissionMode.ts"
import * as Events from "./events.ts"

/** What happens after `PromptReceived` of a prompt. `interrupted` is done when somebody interrupts the turn. */
export type Play = (content: Content, interrupted: Effect.Effect<void>) => Stream.Stream<Event>

export const says =
  (text: string): Play =>
  () =>
    Stream.make(Events.block({ type: "text", text }), Events.ended({ result: text }))

/** Runs until it is interrupted. */
export const endless: Play = (_content, interrupted) =>
  Stream.concat(
    Stream.make(Events.toolStarted("t1", "Bash", { command: "sleep 99" })),
    Stream.drain(Stream.fromEffect(interrupted)).pipe(
      Stream.concat(Stream.make(Events.ended({ terminal: { reason: "aborted_tools" }, result: "" }))),
    ),
  )

export const make = Effect.fnUntraced(function* (
  play: Play,
  rewriter: Agent["rewriter"] = () => undefined,
  past: ReturnType<Agent["messages"]> = [],
) {
  const about: { title: string | undefined; tags: ReadonlyArray<string> } = { title: undefined, tags: [] }
  const log: Array<string> = []
  const opened: Array<{ readonly how: string; readonly options: unknown }> = []
  const watchers = new Set<Queue.Queue<Event, Cause.Done>>()
  const controls: { model: string; permissionMode: PermissionMode } = { model: "sonnet", permissionMode: "default" }
  const asked = { status: 0 }
  const points: ReadonlyArray<Checkpoint> = [
    { id: "p1", uuid: "p1", kind: "prompt", seq: 3, time: 0, text: "fix it", files: ["/w/a.txt"], current: true },
  ]
  let busy = 0
  let interrupted = yield* Deferred.make<void>()

  const turn = (content: Content) =>
    Stream.unwrap(
      Effect.gen(function* () {
        busy++
        interrupted = yield* Deferred.make<void>()
        log.push(`prompt ${JSON.stringify(content)}`)
        return Stream.concat(Stream.make(Events.prompted(content)), play(content, Deferred.await(interrupted)))
      }),
    ).pipe(
      Stream.tap((event) =>
        Effect.sync(() => {
          for (const watcher of watchers) Queue.offerUnsafe(watcher, event)
          if (event._tag === "TurnEnded") busy--
        }),
      ),
    )

  const agent = (scope: Scope.Scope): Agent => ({
    sessionId: "s1",
    cwd: "/w",
    journalPath: "/c/journal",
    transcriptPath: "/c/transcript",
    tools: () => ["Read"],
    context: Effect.succeed(Health.empty),
    controls: Effect.sync(() => ({ ...controls })),
    problems: [],
    initialPrompt: undefined,
    leaving: () => {},
    outputStyle: "default",
    agentTypes: Effect.succeed([]),
    commands: Effect.succeed([]),
    hooks: () => [],
    addDirectory: (directory) => Effect.sync(() => (log.push(`add ${directory}`), directory)),
    rewriter,
    handedOver: () => Effect.void,
    messages: () => past,
    about: () => about,
    rename: (title) => Effect.sync(() => void (about.title = title)),
    tag: (tags) => Effect.sync(() => void (about.tags = tags)),
    idle: Effect.sync(() => void log.push("idle")),
    checkpoints: Effect.succeed(points),
    rewind: (to, { dryRun = false, force = false, what = "both" } = {}) =>
      Effect.sync(() => {
        log.push(`rewind ${to} ${what}${dryRun ? " dry" : ""}${force ? " forced" : ""}`)
        const files = [{ path: "/w/a.txt", action: "restored" as const, insertions: 2, deletions: 1 }]
        const point = { id: to, text: "fix it", time: 0 }
        return { to: point, what, dryRun, files, conversation: !dryRun && what !== "code" }
      }),
    prompt: turn,
    steer: (content, options) => {
      if (busy > 0) return Effect.sync(() => void log.push(`steer ${options?.delivery} ${JSON.stringify(content)}`))
      return Effect.asVoid(Effect.forkIn(Stream.runDrain(turn(content)), scope, { startImmediately: true }))
    },
    interrupt: () =>
      Effect.gen(function* () {
        log.push("interrupt")
        return yield* Deferred.succeed(interrupted, undefined)
      }),
    setModel: (model) => Effect.sync(() => void (controls.model = model)),
    setPermissionMode: (mode) => Effect.sync(() => void (controls.permissionMode = mode)),
    status: Effect.sync(() => {
      asked.status++
      return { busy: busy > 0, queued: 0 }
    }),
    watch: Effect.gen(function* () {
      const queue = yield* Queue.unbounded<Event, Cause.Done>()
      watchers.add(queue)
      yield* Scope.addFinalizer(scope, Queue.end(queue))
      return Stream.fromQueue(queue)
    }),
  })

  const open = (how: string) =>
    Effect.fnUntraced(function* (options: unknown) {
      opened.push({ how, options })
      return agent(yield* Effect.scope)
    })
  const agents: Opener = {
    open: (options) => open("open")(options),
    resume: (id, options) => open(`resume ${id}`)(options),
    fork: (id, options) => open(`fork ${id}`)(options),
    latest: () => Effect.succeed("latest-id"),
  }
  return { agents, log, opened, controls, asked }
})

export const stdio = Effect.fnUntraced(function* (
  options: { readonly input?: string; readonly closedAfter?: number } = {},
) {
  const signals = yield* Queue.unbounded<Signal>()
  const input = yield* Queue.unbounded<string, Cause.Done>()
  const out: Array<string> = []
  const err: Array<string> = []
  const quits: Array<number> = []
  if (options.input !== undefined) {
    yield* Queue.offer(input, options.input)
    yield* Queue.end(input)
  }
  const written: Sink = {
    write: (text) => {
      if (out.length >= (options.closedAfter ?? Infinity)) {
        return Effect.fail(new OutputError({ reason: "closed", detail: "EPIPE" }))
      }
      return Effect.sync(() => void out.push(text))
    },
  }
  const shape: Stdio = {
    out: written,
    screen: written,
    err: { write: (text) => Effect.sync(() => void err.push(text)) },
    input: Stream.fromQueue(input),
    inputIsTerminal: false,
    outputIsTerminal: false,
    columns: () => 80,
    signal: Queue.take(signals),
    quit: (code) => Effect.sync(() => void quits.push(code)),
  }
  return {
    stdio: shape,
    out: () => out.join(""),
    lines: () =>
      out.flatMap((text) => text.trimEnd().split("\n")).map((line): Record<string, unknown> => JSON.parse(line)),
    err: () => err.join(""),
    quits,
    signal: (signal: Signal) => Queue.offer(signals, signal),
    type: (text: string) => Queue.offer(input, text),
    close: Queue.end(input),
  }
})

export const args = (...argv: ReadonlyArray<string>): SessionArgs => {
  const parsed = parse(argv, { version: "0", stdinIsTerminal: false, stdoutIsTerminal: !argv.includes("-p") })
  if (parsed._tag !== "Do" || parsed.job._tag !== "Session") throw new Error(JSON.stringify(parsed))
  return parsed.job
}
