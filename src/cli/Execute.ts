/** Owns running a command to its exit code: what failed is explained on stderr, and the process ends with the right code. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import process from "node:process"
import type { Job } from "./Argv.ts"
import * as Commands from "./Commands.ts"
import { textFor } from "./Plain.ts"
import * as Problem from "./Problem.ts"
import * as Profile from "./Profile.ts"
import { live } from "./Stdio.ts"

/** Failures whose code is not 1. */
const codes: Readonly<Record<string, number>> = { BudgetExceeded: 3, UserInputError: 2 }

interface Ended {
  readonly code: number
  readonly says: ReadonlyArray<string>
}

/** How a command that did not answer an exit code ends. */
export const ended = (cause: Cause.Cause<{ readonly _tag: string }>, debug: boolean): Ended => {
  const failure = Cause.findErrorOption(cause)
  if (Option.isNone(failure)) {
    if (Cause.hasInterruptsOnly(cause)) return { code: 130, says: [] }
    return { code: 1, says: Problem.defect(Cause.squash(cause), { debug }) }
  }
  const error = failure.value
  // The reader of the output went away: nobody is there to be told.
  if (error._tag === "OutputError" && "reason" in error && error.reason === "closed") return { code: 141, says: [] }
  return { code: codes[error._tag] ?? 1, says: Problem.lines(error, { debug }) }
}

/** Runs it, and leaves the process. */
export const execute = async (job: Job): Promise<void> => {
  Profile.mark("the runtime is loaded")
  process.on("uncaughtException", (error) => leave({ code: 1, says: Problem.defect(error, job) }))
  const program = Effect.scoped(Effect.flatMap(live, (stdio) => Commands.run(job, stdio)))
  const exit = await Effect.runPromiseExit(program)
  leave(Exit.isSuccess(exit) ? { code: exit.value, says: [] } : ended(exit.cause, job.debug))
}

const leave = ({ code, says }: Ended): void => {
  process.exitCode = code
  if (says.length === 0) process.exit()
  process.stderr.on("error", () => process.exit())
  process.stderr.write(textFor(process.stderr, `${says.join("\n")}\n`), () => process.exit())
}
