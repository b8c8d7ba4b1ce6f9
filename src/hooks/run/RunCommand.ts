/**
 * Owns hooks that are commands: a shell line or a program with arguments, in a process group and session of its own, the event as JSON on
 * its stdin. Of what it prints only so much is kept, and what it leaves running is not waited for.
 */
import * as Effect from "effect/Effect"
import { Host } from "../../platform/Host.ts"
import { Process } from "../../platform/Process.ts"
import type { WrittenOf } from "../Handler.ts"
import type { Ending } from "../Reply.ts"
import type { HookRun } from "./HookRun.ts"

/** Of each channel, the first and the last half of it. */
const maxOutputBytes = 1024 * 1024

export const run = Effect.fnUntraced(function* (
  action: WrittenOf<"command">,
  given: HookRun,
): Effect.fn.Return<Ending, never, Process | Host> {
  const processes = yield* Process
  const host = yield* Host
  const variables = { CLAUDE_PROJECT_DIR: given.projectDir, ...given.variables }
  // What a telemetry exporter of ours is told is no business of children.
  const own = Object.entries(host.allEnv).filter(([name]) => !name.startsWith("OTEL_"))
  const attempt = (cwd: string) =>
    processes.run({
      ...lineOf(action, variables, host.platform === "win32"),
      cwd,
      env: { ...Object.fromEntries(own), PWD: cwd, ...variables },
      stdin: `${given.json}\n`,
      timeout: given.seconds * 1000,
      maxOutputBytes,
      leftovers: "keep",
    })
  const ran = attempt(given.cwd).pipe(
    // The shell's directory may be gone; the project's is where hooks are at home.
    Effect.catchIf(
      (error) => error.reason === "BadDirectory" && given.cwd !== given.projectDir,
      () => attempt(given.projectDir),
    ),
  )
  return yield* Effect.match(ran, {
    onFailure: (error): Ending => ({ _tag: "Failed", why: `could not be started: ${error.message}` }),
    onSuccess: ({ exitCode, signal, stderr, stdout, timedOut }): Ending =>
      timedOut
        ? { _tag: "TimedOut", seconds: given.seconds }
        : { _tag: "Exited", exitCode, stdout, stderr, ...(signal !== undefined && { signal }) },
  })
})

const lineOf = (
  { args, command, shell }: WrittenOf<"command">,
  variables: Readonly<Record<string, string>>,
  isWindows: boolean,
): { readonly command: string; readonly args: ReadonlyArray<string> } => {
  if (args !== undefined) {
    const filled = (text: string) => text.replaceAll(placeholder, (whole, name: string) => variables[name] ?? whole)
    return { command: filled(command), args: args.map(filled) }
  }
  if (shell === "powershell") {
    const line = command.replaceAll(placeholder, (_, name: string) => `\${env:${name}}`)
    return { command: isWindows ? "powershell.exe" : "pwsh", args: ["-NoProfile", "-NonInteractive", "-Command", line] }
  }
  return { command: shell === "bash" || isWindows ? "bash" : "sh", args: ["-c", command] }
}

const placeholder = /\$\{(CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_ROOT|CLAUDE_PLUGIN_DATA)\}/g
