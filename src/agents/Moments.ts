/**
 * Owns the moments of a turn at which others have a say: before the model is asked, after its calls have their results, and before the
 * turn ends. Nobody does unless the session says so.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { BudgetExceeded } from "../kernel/Budget.ts"
import type { Model } from "../model/Model.ts"
import type { JournalError } from "../session/JournalError.ts"
import type { Terminal, TerminalReason } from "../protocol/Terminal.ts"
import type { Round } from "../tools/Round.ts"

/** Somebody ends the turn, and says why. */
export interface Stop {
  readonly _tag: "Stop"
  readonly reason: string
  /** How the turn ends, where it is not a hook that ended it. */
  readonly ends?: TerminalReason
}

/** The turn goes on: the model is told this. */
export interface GoOn {
  readonly _tag: "GoOn"
  readonly words: ReadonlyArray<string>
}

export interface Ending {
  /** What the model said last. */
  readonly text: string
  /** The turn goes on already because somebody did not let it end. */
  readonly held: boolean
  /** Replies so far. */
  readonly turns: number
}

export interface MomentsShape {
  /** Prompts that have not been looked at yet: what they stand for, who objects, and what else the model is to know. */
  readonly beforeAsking: Effect.Effect<Stop | undefined, JournalError | BudgetExceeded, Model>
  readonly afterRound: (round: Round) => Effect.Effect<Stop | undefined, JournalError>
  /** The model has nothing more to do. */
  readonly beforeEnd: (ending: Ending) => Effect.Effect<Stop | GoOn | undefined, JournalError>
  /** The turn ended otherwise than it should. */
  readonly failed: (terminal: Terminal, text: string) => Effect.Effect<void>
}

export const Moments = Context.Reference<MomentsShape>("troupe/agents/Moments", {
  defaultValue: () => ({
    beforeAsking: Effect.undefined,
    afterRound: () => Effect.undefined,
    beforeEnd: () => Effect.undefined,
    failed: () => Effect.void,
  }),
})
