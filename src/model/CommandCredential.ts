/**
 * Owns credentials that a command of the settings makes: `apiKeyHelper` and its relatives. What a command said is kept for a
 * while, asked for once however many wait, and never logged. The settings withhold commands of folders nobody trusts.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { HostShape } from "../platform/Host.ts"
import type { ProcessShape } from "../platform/Process.ts"
import * as ApiErrors from "./ApiErrors.ts"
import type { ProviderError } from "./Provider.ts"

/** Where commands run. */
export interface Shell {
  readonly process: ProcessShape
  readonly host: HostShape
}

export interface Kept {
  readonly current: Effect.Effect<string, ProviderError>
  /** Asks again the next time. */
  readonly forget: Effect.Effect<void>
}

/** Runs a setting's command to its end and gives what it printed. */
export const run = (
  { process, host }: Shell,
  setting: string,
  command: string,
  timeoutMs: number,
): Effect.Effect<string, ProviderError> =>
  process
    .run({
      command: "sh",
      args: ["-c", command],
      cwd: host.cwd,
      env: host.allEnv,
      timeout: timeoutMs,
      maxOutputBytes: 256 * 1024,
    })
    .pipe(
      Effect.mapError((error) => failed(setting, error.message)),
      Effect.flatMap(({ exitCode, stdout, stderr, timedOut }) =>
        timedOut
          ? Effect.fail(failed(setting, `it did not end within ${timeoutMs / 1000} s.`))
          : exitCode === 0
            ? Effect.succeed(stdout.trim())
            : Effect.fail(failed(setting, `it ended with code ${exitCode}${firstLine(stderr)}`)),
      ),
    )

/** A value that a command prints, kept for `ttlMs` by the Clock. */
export const keep = (make: Effect.Effect<string, ProviderError>, setting: string, ttlMs: number): Kept => {
  const turn = Semaphore.makeUnsafe(1)
  let kept: { readonly value: string; readonly until: number } | undefined
  const current = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (kept !== undefined && now < kept.until) return kept.value
    const value = yield* make
    if (value === "") return yield* failed(setting, "it printed nothing to its standard output.")
    if (/[^\x21-\x7e]/.test(value)) {
      return yield* failed(setting, "it printed more than one word; print the key alone, and anything else to stderr.")
    }
    kept = { value, until: now + ttlMs }
    return value
  })
  return { current: turn.withPermit(current), forget: Effect.sync(() => (kept = undefined)) }
}

/** What it printed to its output may be a secret, so only its complaint is quoted. */
const firstLine = (stderr: string): string => {
  const [line = ""] = stderr.trim().split(/\r?\n/)
  return line === "" ? "." : `: ${line.slice(0, 200)}`
}

const failed = (setting: string, why: string): ProviderError =>
  ApiErrors.make("unauthenticated", `The command of ${setting} gave no credential: ${why} Check it in your settings.`)
