/** Owns the analysis of shell lines as the gate uses it: loaded when the first command comes, for a start need not wait for it. */
import * as Effect from "effect/Effect"
import type { Analysis, Place } from "../policy/Bash.ts"

type Analyse = (command: string, place: Place) => Analysis

let loaded: Analyse | undefined

/** At once, when it has been loaded before. */
export const analyser: Effect.Effect<Analyse> = Effect.suspend(() =>
  loaded === undefined
    ? Effect.map(
        Effect.promise(() => import("../policy/Bash.ts")),
        ({ analyse }) => (loaded = analyse),
      )
    : Effect.succeed(loaded),
)
