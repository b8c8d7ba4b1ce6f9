/** What the tests at a real pseudo-terminal share: a command on it, keys to press, and what it shows. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { spawn, spawnSync } from "node:child_process"
import * as path from "node:path"
import process from "node:process"
import { root } from "./world.ts"

const bridge = path.join(import.meta.dirname, "fixtures/terminal.py")

/** Python brings pseudo-terminals; Node does not. */
export const noTerminal = spawnSync("python3", ["-c", "import os, pty; os.waitstatus_to_exitcode"]).status !== 0

export interface Terminal {
  readonly press: (keys: string) => Effect.Effect<void>
  /** Waits until this is shown, behind whatever was waited for before. */
  readonly shows: (text: string | RegExp) => Effect.Effect<string>
  readonly ended: Effect.Effect<{ readonly code: number | null; readonly all: string }>
}

interface Where {
  readonly work: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export const terminal = Effect.fnUntraced(function* (
  { work, env }: Where,
  argv: ReadonlyArray<string>,
  options: {
    readonly columns?: number
    readonly env?: Readonly<Record<string, string>>
    /** A command whose output is the stdin. */
    readonly piped?: string
  } = {},
) {
  const troupe = [process.execPath, path.join(root, "bin/troupe.js")]
  const through = options.piped === undefined ? [] : ["bash", "-c", `${options.piped} | "$@"`, "bash"]
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn("python3", [bridge, String(options.columns ?? 80), ...through, ...troupe, ...argv], {
        cwd: work,
        // What is learnt from a turn is a request of its own, which these tests do not count.
        env: { TERM: "xterm-256color", CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1", ...env, ...options.env },
        stdio: ["pipe", "pipe", "inherit"],
      }),
    ),
    (child) => Effect.sync(() => void child.kill("SIGKILL")),
  )
  const done = Deferred.makeUnsafe<{ readonly code: number | null; readonly all: string }>()
  const waiting = new Set<() => void>()
  let all = ""
  let seen = 0
  let over = false
  const look = () => waiting.forEach((one) => one())
  child.stdin.on("error", () => {})
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    all += text
    look()
  })
  child.once("close", (code) => {
    over = true
    Deferred.doneUnsafe(done, Effect.succeed({ code, all }))
    look()
  })
  const made: Terminal = {
    press: (keys) => Effect.sync(() => void child.stdin.write(keys)),
    shows: (text) =>
      Effect.callback<string>((resume) => {
        const check = () => {
          const rest = all.slice(seen)
          const at = typeof text === "string" ? rest.indexOf(text) : rest.search(text)
          if (at === -1 && !over) return
          waiting.delete(check)
          if (at === -1)
            return resume(Effect.die(new Error(`it ended and never showed ${text}:\n${JSON.stringify(rest)}`)))
          const length = typeof text === "string" ? text.length : (text.exec(rest)?.[0].length ?? 0)
          seen += at + length
          resume(Effect.succeed(rest.slice(0, at + length)))
        }
        waiting.add(check)
        check()
      }),
    ended: Deferred.await(done),
  }
  return made
})
