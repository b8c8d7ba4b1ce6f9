/** Owns one real child: starting it in its own group, its end, draining its output, and the ladder that kills it. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import process from "node:process"
import { codeOf } from "./FileError.ts"
import * as Tree from "./NodeProcessTree.ts"
import { type Command, type ExitStatus, ProcessError } from "./Process.ts"

export interface Child {
  readonly pid: number
  readonly leader: ChildProcess
  readonly cookie: string
  /** The leader ended. */
  readonly exit: Deferred.Deferred<ExitStatus>
  /** No more output will be delivered. */
  readonly drained: Deferred.Deferred<void>
  /** While a consumer makes us wait, silence is not the end of output. */
  held: boolean
  /** Nothing was left of the group when somebody looked: from then on its number may belong to somebody else. */
  groupGone: boolean
  /** Nothing at all was left of it. */
  gone: boolean
  /** What the leader leaves behind may go on printing. */
  readonly keepsOutput: boolean
}

// Real processes live in real time: what waits for them runs by itself (`runCallback`), on the real clock, also when the
// program's clock is virtual.
const quiet = 100
const longest = 2000

const isDirectory = (path: string): boolean => {
  try {
    return fs.statSync(path).isDirectory()
  } catch {
    return false
  }
}

const refused = (command: Command, cause: unknown): ProcessError => {
  const code = codeOf(cause)
  const reason: ProcessError["reason"] = !isDirectory(command.cwd)
    ? "BadDirectory"
    : code === "ENOENT"
      ? "NotFound"
      : code === "EACCES" || code === "EPERM"
        ? "PermissionDenied"
        : code === "E2BIG"
          ? "TooBig"
          : code === "EAGAIN" || code === "ENOMEM" || code === "EMFILE" || code === "ENFILE"
            ? "NoResources"
            : "Unknown"
  return new ProcessError({
    command: command.command,
    cwd: command.cwd,
    reason,
    detail: cause instanceof Error ? cause.message : String(cause),
  })
}

const statusOf = (code: number | null, signal: NodeJS.Signals | null): ExitStatus =>
  signal === null ? { exitCode: code ?? 1 } : { exitCode: 128 + os.constants.signals[signal], signal }

/** After the leader's end: wait for the pipes, but not for a background child that keeps them open. */
const drain = (child: Child): Effect.Effect<void> => {
  const { leader } = child
  let seen = false
  const data = () => {
    seen = true
  }
  leader.stdout?.on("data", data)
  leader.stderr?.on("data", data)
  const closed = Effect.callback<void>((resume) => {
    leader.once("close", () => resume(Effect.void))
  })
  const silent = Effect.gen(function* () {
    for (let waited = 0; waited < longest;) {
      seen = false
      yield* Effect.sleep(quiet)
      if (child.held) continue
      if (!seen) return
      waited += quiet
    }
  })
  return Effect.andThen(
    Effect.raceFirst(closed, silent),
    Effect.sync(() => {
      if (!child.keepsOutput) closeOutput(child)
    }),
  )
}

export const closeOutput = ({ leader }: Child): void => {
  leader.stdout?.destroy()
  leader.stderr?.destroy()
}

/** Not interruptible: between the system's start and our knowing about it nothing may be lost. */
export const start = (
  command: Command,
  cookie: string,
  stdio: StdioOptions,
  options: { readonly keepsOutput?: boolean } = {},
): Effect.Effect<Child, ProcessError> =>
  Effect.callback<Child, ProcessError>((resume) => {
    const fail = (cause: unknown) => resume(Effect.fail(refused(command, cause)))
    let leader: ChildProcess
    try {
      leader = spawn(command.command, [...command.args], {
        cwd: command.cwd,
        // Our stdin pipes are sockets, which a bash of level 1 takes for a remote login and runs the user's start-up file.
        env: { SHLVL: "1", ...command.env, [Tree.cookieName]: cookie },
        stdio,
        detached: process.platform !== "win32",
        windowsHide: true,
      })
    } catch (cause) {
      return fail(cause)
    }
    leader.on("error", fail)
    leader.stdin?.on("error", () => {})
    leader.once("spawn", () => {
      const child: Child = {
        pid: leader.pid ?? -1,
        leader,
        cookie,
        exit: Deferred.makeUnsafe<ExitStatus>(),
        drained: Deferred.makeUnsafe<void>(),
        held: false,
        groupGone: false,
        gone: false,
        keepsOutput: options.keepsOutput ?? false,
      }
      leader.once("exit", (code, signal) => {
        child.groupGone = !Tree.groupAlive(child.pid)
        Effect.runCallback(drain(child), { onExit: () => Deferred.doneUnsafe(child.drained, Effect.void) })
        Deferred.doneUnsafe(child.exit, Effect.succeed(statusOf(code, signal)))
      })
      resume(Effect.succeed(child))
    })
  }).pipe(Effect.uninterruptible)

/** A kill under way. */
export interface Ladder {
  readonly done: Deferred.Deferred<void>
  /** Skips the grace; synchronous, so that it also works while the process exits. */
  readonly killNow: () => void
}

const untilGone = Effect.fnUntraced(function* (alive: () => boolean, forMillis: number) {
  for (let waited = 0, pause = 5; waited < forMillis && alive(); waited += pause, pause = Math.min(pause * 2, 100)) {
    yield* Effect.sleep(pause)
  }
})

/** Whom to kill: a group, and whatever else `find` finds. */
export interface Prey {
  readonly group?: number | undefined
  readonly find: () => ReadonlyArray<Tree.Target>
}

/** Everything that a child started. */
export const preyOf = (child: Child): Prey => {
  const group = child.groupGone ? undefined : child.pid
  return { group, find: () => Tree.members(group, child.cookie) }
}

/** TERM to all of it, KILL to what is left after the grace. Starts at once and runs by itself. */
export const ladder = ({ group, find }: Prey, graceMillis: number, ended: () => void): Ladder => {
  const done = Deferred.makeUnsafe<void>()
  const hurry = Deferred.makeUnsafe<void>()
  let targets = find()
  const alive = () => Tree.anyAlive(group, targets)
  const kill = () => {
    // Looked up again: what was started during the grace must go too.
    targets = [...targets, ...find()]
    Tree.signal(group, targets, "SIGKILL")
  }
  Tree.signal(group, targets, "SIGTERM")
  // A stopped process acts on TERM only when it is woken.
  Tree.signal(group, targets, "SIGCONT")
  Effect.runCallback(
    Effect.gen(function* () {
      yield* Effect.raceFirst(untilGone(alive, graceMillis), Deferred.await(hurry))
      if (!alive()) return
      kill()
      yield* untilGone(alive, 1000)
    }),
    {
      onExit: () => {
        ended()
        Deferred.doneUnsafe(done, Effect.void)
      },
    },
  )
  return {
    done,
    killNow: () => {
      kill()
      Deferred.doneUnsafe(hurry, Effect.void)
    },
  }
}
