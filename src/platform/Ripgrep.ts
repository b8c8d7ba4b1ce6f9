/** Owns the contract of file search: one run of ripgrep, its lines, and what went wrong in words. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Host } from "./Host.ts"
import { type Output, Process, type ProcessError } from "./Process.ts"

export class RipgrepError extends Schema.TaggedError<RipgrepError>()("RipgrepError", {
  reason: Schema.Literals(["BadPattern", "BadGlob", "BadType", "TimedOut", "NotStarted", "Failed"]),
  detail: Schema.String,
}) {
  override get message(): string {
    return this.detail === "" ? advice[this.reason] : `${advice[this.reason]}: ${this.detail}`
  }
}

const advice: Record<RipgrepError["reason"], string> = {
  BadPattern: "the pattern is not a valid regular expression",
  BadGlob: "the glob is not valid",
  BadType: "the file type is not known",
  TimedOut: "the search took too long; narrow the path or the pattern",
  NotStarted: "ripgrep could not be started",
  Failed: "the search failed",
}

export interface Found {
  readonly lines: ReadonlyArray<string>
  /** There were more lines than fit in memory, and the last of them are missing. */
  readonly truncated: boolean
  /** Places that could not be searched: no permission, gone meanwhile. */
  readonly problems: ReadonlyArray<string>
}

export class Ripgrep extends Context.Service<
  Ripgrep,
  {
    /** Finding nothing is a result, not an error. */
    readonly run: (
      args: ReadonlyArray<string>,
      cwd: string,
      options?: {
        readonly stdin?: string
        /** Called synchronously with whole lines as they arrive; it must be cheap and must not throw. */
        readonly onLines?: (lines: ReadonlyArray<string>) => void
      },
    ) => Effect.Effect<Found, RipgrepError>
  }
>()("troupe/platform/Ripgrep") {
  /** The program at a path, or by name on PATH; a function is asked at each search. */
  static readonly layerAt = (program: string | (() => string)): Layer.Layer<Ripgrep, never, Process | Host> =>
    Layer.effect(
      Ripgrep,
      Effect.gen(function* () {
        const processes = yield* Process
        const host = yield* Host
        return make(typeof program === "string" ? () => program : program, processes, host.allEnv)
      }),
    )
}

const maxOutputBytes = 16 * 1024 * 1024
const timeout = "20 seconds"

const make = (
  program: () => string,
  processes: Process["Service"],
  env: Readonly<Record<string, string>>,
): Ripgrep["Service"] => ({
  run: Effect.fnUntraced(function* (args, cwd, { stdin, onLines } = {}) {
    const result = yield* processes
      .run({
        command: program(),
        // The user's own ripgreprc would change what the model is told the tool does.
        args: ["--no-config", "--color=never", ...args],
        cwd,
        env,
        maxOutputBytes,
        timeout,
        ...(stdin !== undefined && { stdin }),
        ...(onLines !== undefined && { onOutput: inLines(onLines) }),
      })
      .pipe(Effect.mapError((error: ProcessError) => fail("NotStarted", error.message)))
    if (result.timedOut) return yield* fail("TimedOut", "")
    const complaints = result.stderr.split("\n").filter((line) => line !== "")
    // 1 is "nothing found"; 2 with output means that only some places could not be searched.
    if (result.exitCode > 1 && result.stdout === "" && !complaints.every(isPlace)) {
      return yield* understand(result.stderr.trim() || `exit code ${result.exitCode}`)
    }
    return { lines: linesOf(result.stdout, result.truncated), truncated: result.truncated, problems: complaints }
  }),
})

/** Output in pieces as they come, told on in whole lines. */
const inLines = (tell: (lines: ReadonlyArray<string>) => void) => {
  let begun = ""
  return ({ from, text }: Output): void => {
    if (from !== "stdout") return
    const lines = (begun + text).split("\n")
    begun = lines.pop() ?? ""
    if (lines.length > 0) tell(lines)
  }
}

const fail = (reason: RipgrepError["reason"], detail: string) => new RipgrepError({ reason, detail })

const isPlace = (complaint: string): boolean => /^(?:rg: )?.+: .+\(os error \d+\)$/.test(complaint)

const understand = (stderr: string): RipgrepError => {
  const detail = stderr.replaceAll(/^rg: /gm, "")
  if (/regex parse error|regex could not be compiled|compiled regex exceeds|multiline mode/i.test(detail)) {
    return fail("BadPattern", detail)
  }
  if (/unrecognized file type/i.test(detail)) return fail("BadType", detail)
  if (/error parsing glob|invalid glob/i.test(detail)) return fail("BadGlob", detail)
  return fail("Failed", detail)
}

/** Of output that was cut in the middle only the beginning is in order; an eighth lies before the cut in any script. */
const linesOf = (stdout: string, truncated: boolean): ReadonlyArray<string> => {
  const kept = truncated ? stdout.slice(0, maxOutputBytes / 8) : stdout
  const lines = kept.split("\n")
  lines.pop()
  return lines
}
