/**
 * Owns the background tasks of a session: commands that go on while the model does something else.
 *
 * They belong to the session's scope: closing it ends each of them with everything it started, and waits until that is gone.
 * Output goes to a file of bounded size, never through memory. How a task ended is told to the model once: by the tool that
 * waits for it, or by a notice; after a crash the journal tells which were never reported.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Ids from "../kernel/Ids.ts"
import { Host } from "../platform/Host.ts"
import { type Command, type Handle, Process, ProcessError } from "../platform/Process.ts"
import { MonitorLines } from "./MonitorLines.ts"
import type { Task, TaskType } from "./Task.ts"
import * as TaskLog from "./TaskLog.ts"
import * as TaskNotice from "./TaskNotice.ts"
import type * as TaskRecords from "./TaskRecords.ts"
import type { ToolFailure } from "./Tool.ts"
import { Workspace } from "./Workspace.ts"

/** How much of a task's output is kept on disk. */
export const MaxOutputBytes = Context.Reference<number>("troupe/tools/Tasks/MaxOutputBytes", {
  defaultValue: () => 64 * 1024 * 1024,
})

/** How many may run at the same time. */
export const MaxRunning = Context.Reference<number>("troupe/tools/Tasks/MaxRunning", { defaultValue: () => 50 })

export interface StartOptions {
  readonly type: TaskType
  /** For bash. */
  readonly command: string
  readonly description?: string | undefined
  readonly toolUseId: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** It is ended after this long; without it, when the session ends. */
  readonly timeout?: Duration.Input | undefined
  /** What is started instead: the same in a sandbox. It is undone when the task has ended. */
  readonly within?: (command: Command, scope: Scope.Scope) => Effect.Effect<Command, ToolFailure>
}

/** What a task has printed since somebody last looked. */
export interface News {
  readonly text: string
  /** Bytes before it that were not shown and will not be. */
  readonly skipped: number
  /** Why its file has not everything. */
  readonly problem?: string
}

export class Tasks extends Context.Service<
  Tasks,
  {
    readonly start: (options: StartOptions) => Effect.Effect<Task, ProcessError | ToolFailure>
    readonly find: (id: string) => Task | undefined
    readonly list: () => ReadonlyArray<Task>
    /** Waits for its end; at once where there is no such task. */
    readonly ended: (id: string) => Effect.Effect<void>
    /** Ends it with everything it started, also what it left behind; returns when all of that is gone. */
    readonly stop: (id: string, why?: string) => Effect.Effect<void>
    /** The newest output since the last look, which this is from now on. */
    readonly read: (id: string, atMost: number) => Effect.Effect<News>
    /** The next whole lines since the last look, or from a place on; `seen` makes that the last look. */
    readonly lines: (id: string, atMost: number, from?: number) => Effect.Effect<TaskLog.Piece>
    readonly seen: (id: string, to: number) => void
    /** The model knows how it ended: there is no notice about that any more. */
    readonly told: (id: string) => void
    /** What the model must hear between two rounds, one after the other and each once. For one reader. */
    readonly notices: Stream.Stream<TaskNotice.Notice>
    /** Variables for any other command of the session: what carries them and outlives the command ends with the session. */
    readonly mark: () => Readonly<Record<string, string>>
    /** After a resume: what ran when the session ended is ended, should it still run. Answers what to tell the model about it. */
    readonly recover: (found: TaskRecords.Found) => Effect.Effect<ReadonlyArray<TaskNotice.Notice>>
  }
>()("troupe/tools/Tasks") {
  static readonly layer: Layer.Layer<Tasks, never, Process | Workspace | Host | FileSystem.FileSystem | Path.Path> =
    Layer.effect(
      Tasks,
      Effect.suspend(() => make),
    )
}

/** Whether a session may have background tasks at all. */
export const allowed: Effect.Effect<boolean, never, Host> = Effect.map(Host, (host) =>
  ["", "0", "false", "no", "off"].includes((host.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") ?? "").toLowerCase()),
)

/** Processes of tasks carry it with the session's id, so that a session finds what a killed life of it left running. */
export const variable = "TROUPE_TASK"

/** What it says: a session that travels is in two places of a machine, and each ends only what it has started itself. */
export const markOf = (sessionId: string, configDir: string): string => `${sessionId}@${configDir}`

interface Entry {
  task: Task
  readonly ended: Deferred.Deferred<void>
  /** The last look ended here. */
  lookedTo: number
  /** Absent: it ran in an earlier life of the session. */
  readonly work?: { readonly handle: Handle; readonly scope: Scope.Closeable }
  readonly lines?: MonitorLines
  /** It is being stopped, and why. */
  stopping?: string
}

const make = Effect.gen(function* () {
  const processes = yield* Process
  const workspace = yield* Workspace
  const host = yield* Host
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const scope = yield* Scope.Scope
  const maxLogBytes = yield* MaxOutputBytes
  const maxRunning = yield* MaxRunning
  const entries = new Map<string, Entry>()
  const desk = new NoticeDesk()
  // Whoever opens a session from within one of its own tasks must not end themselves.
  const mark = markOf(workspace.sessionId, host.configDir)
  const isWithin = host.env(variable) === mark
  let marked = false

  yield* Effect.addFinalizer(
    Effect.fnUntraced(function* () {
      const cut = [...entries.values()].filter(({ task }) => task.status === "running")
      yield* Effect.forEach(entries.values(), (entry) => end(entry), { concurrency: "unbounded", discard: true })
      for (const { task } of cut) yield* Effect.logWarning(`ended with the session, still running: ${task.description}`)
      if (marked && !isWithin) yield* processes.endStrays(variable, mark)
    }),
  )

  /** Ends whatever is left of a task and lets go of it. */
  const end = ({ work }: Entry) =>
    work === undefined ? Effect.void : Effect.andThen(work.handle.kill, Scope.close(work.scope, Exit.void))

  const follow = Effect.fnUntraced(function* (entry: Entry, handle: Handle) {
    const { exitCode, signal } = yield* handle.exit
    yield* handle.drained
    const leavesSomething = entry.stopping === undefined && (yield* handle.alive)
    const notes = [
      ...(entry.stopping === undefined || entry.stopping === "" ? [] : [entry.stopping]),
      ...(entry.stopping === undefined && signal !== undefined ? [`ended by ${signal}`] : []),
      ...(leavesSomething ? ["it left processes running, which end with the session or with TaskStop"] : []),
    ]
    const status = entry.stopping !== undefined ? "killed" : exitCode === 0 ? "completed" : "failed"
    entry.task = { ...entry.task, status, exitCode, notes }
    entry.lines?.finish()
    tellLines(entry)
    desk.put(TaskNotice.ended(entry.task), "ended")
    Deferred.doneUnsafe(entry.ended, Effect.void)
    if (!leavesSomething && entry.stopping === undefined) yield* end(entry)
  })

  /** While an event of it waits, further lines gather behind it: one that nobody hears stays one. */
  const tellLines = (entry: Entry) => {
    if (entry.task.status === "running" && desk.hasEvent(entry.task.id)) return
    const taken = entry.lines?.take()
    if (taken !== undefined) desk.put(TaskNotice.happened(entry.task, taken.lines, taken.more), "event")
  }

  const start = Effect.fnUntraced(function* (options: StartOptions) {
    const { type, command, toolUseId, cwd } = options
    const running = [...entries.values()].filter(({ task }) => task.status === "running").length
    if (running >= maxRunning) {
      const detail = `${running} background tasks run already; stop one with TaskStop`
      return yield* new ProcessError({ command: "bash", cwd, reason: "NoResources", detail })
    }
    const id = yield* Ids.short(type === "monitor" ? "monitor" : "bash")
    const outputFile = path.join(workspace.spillDir, `${id}.output`)
    const lines = type === "monitor" ? new MonitorLines() : undefined
    const owned = yield* Scope.make()
    const spec: Command = {
      command: "bash",
      args: ["-c", command],
      cwd,
      env: { ...options.env, PWD: cwd, [variable]: mark },
    }
    const handle = yield* Effect.gen(function* () {
      const started = options.within === undefined ? spec : yield* options.within(spec, owned)
      const output = { logTo: outputFile, maxLogBytes, ...(lines !== undefined && { onOutput: lines.hear }) }
      return yield* processes.spawn({ ...started, ...output })
    }).pipe(
      Effect.onError((cause) => Scope.close(owned, Exit.failCause(cause))),
      Scope.provide(owned),
    )
    const description = options.description ?? command
    const entry: Entry = {
      task: { id, type, command, description, toolUseId, outputFile, status: "running", notes: [] },
      ended: Deferred.makeUnsafe<void>(),
      lookedTo: 0,
      work: { handle, scope: owned },
      ...(lines !== undefined && { lines }),
    }
    entries.set(id, entry)
    yield* Effect.forkIn(follow(entry, handle), scope)
    if (options.timeout !== undefined) {
      const late = Effect.andThen(Effect.sleep(options.timeout), stop(id, "it had reached its time limit"))
      yield* Effect.forkIn(Effect.raceFirst(late, Deferred.await(entry.ended)), scope)
    }
    if (lines !== undefined) {
      const tell = Effect.andThen(
        Effect.sleep(MonitorLines.pause),
        Effect.sync(() => tellLines(entry)),
      )
      yield* Effect.forkIn(Effect.raceFirst(Effect.forever(tell), Deferred.await(entry.ended)), scope)
    }
    return entry.task
    // Between the start and our knowing of it nothing may be lost.
  }, Effect.uninterruptible)

  const stop = Effect.fnUntraced(function* (id: string, why = "") {
    const entry = entries.get(id)
    if (entry === undefined) return
    if (entry.task.status === "running") entry.stopping ??= why
    yield* end(entry)
    yield* Deferred.await(entry.ended)
  })

  const isGrowing = (entry: Entry) => entry.work !== undefined && entry.task.status === "running"
  const readable = <A>(effect: Effect.Effect<A, unknown, FileSystem.FileSystem>, otherwise: A) =>
    effect.pipe(
      Effect.provideService(FileSystem.FileSystem, fs),
      Effect.orElseSucceed(() => otherwise),
    )

  return Tasks.of({
    start,
    stop,
    find: (id) => entries.get(id)?.task,
    list: () => [...entries.values()].map(({ task }) => task),
    ended: (id) =>
      Effect.suspend(() => {
        const entry = entries.get(id)
        return entry === undefined ? Effect.void : Deferred.await(entry.ended)
      }),
    read: Effect.fnUntraced(function* (id, atMost) {
      const entry = entries.get(id)
      if (entry === undefined) return { text: "", skipped: 0 }
      const since = entry.lookedTo
      const nothing: TaskLog.Piece = { text: "", from: since, to: since, more: false }
      const { outputFile } = entry.task
      const piece = yield* readable(TaskLog.newest(outputFile, since, { atMost, growing: isGrowing(entry) }), nothing)
      entry.lookedTo = Math.max(entry.lookedTo, piece.to)
      const problem = entry.work?.handle.log().problem
      return { text: piece.text, skipped: piece.from - since, ...(problem !== undefined && { problem }) }
    }),
    lines: (id, atMost, from) =>
      Effect.suspend(() => {
        const entry = entries.get(id)
        const at = from ?? entry?.lookedTo ?? 0
        const nothing: TaskLog.Piece = { text: "", from: at, to: at, more: false }
        if (entry === undefined) return Effect.succeed(nothing)
        const options = { atMost, growing: isGrowing(entry), wholeLines: true }
        return readable(TaskLog.next(entry.task.outputFile, at, options), nothing)
      }),
    seen: (id, to) => {
      const entry = entries.get(id)
      if (entry !== undefined) entry.lookedTo = Math.max(entry.lookedTo, to)
    },
    told: (id) => desk.withdraw(id),
    mark: () => {
      marked = true
      return { [variable]: mark }
    },
    notices: Stream.fromEffectRepeat(desk.next),
    recover: Effect.fnUntraced(function* ({ lost, mayRunHere }) {
      const gone: Array<TaskNotice.Notice> = []
      for (const { outputFile, ...known } of lost) {
        const entry: Entry = {
          task: {
            ...known,
            outputFile: outputFile === "" ? path.join(workspace.spillDir, `${known.id}.output`) : outputFile,
            status: "killed",
            notes: ["the session ended while it ran, and it does not run any more"],
          },
          ended: Deferred.makeUnsafe<void>(),
          lookedTo: 0,
        }
        Deferred.doneUnsafe(entry.ended, Effect.void)
        entries.set(known.id, entry)
        gone.push(TaskNotice.ended(entry.task))
      }
      if (mayRunHere && !isWithin) yield* processes.endStrays(variable, mark)
      return gone
    }),
  })
})

/** The notices nobody has taken yet, in order. */
class NoticeDesk {
  private readonly waiting: Array<{ readonly notice: TaskNotice.Notice; readonly about: "ended" | "event" }> = []
  private bell = Deferred.makeUnsafe<void>()

  put(notice: TaskNotice.Notice, about: "ended" | "event"): void {
    this.waiting.push({ notice, about })
    const { bell } = this
    this.bell = Deferred.makeUnsafe<void>()
    Deferred.doneUnsafe(bell, Effect.void)
  }

  hasEvent(taskId: string): boolean {
    return this.waiting.some(({ notice, about }) => notice.taskId === taskId && about === "event")
  }

  /** Events that were not told yet stay: how it ended does not say what happened before. */
  withdraw(taskId: string): void {
    const at = this.waiting.findIndex(({ notice, about }) => notice.taskId === taskId && about === "ended")
    if (at !== -1) this.waiting.splice(at, 1)
  }

  readonly next: Effect.Effect<TaskNotice.Notice> = Effect.suspend(() => {
    const first = this.waiting.shift()
    if (first !== undefined) return Effect.succeed(first.notice)
    return Effect.andThen(Deferred.await(this.bell), this.next)
  })
}
