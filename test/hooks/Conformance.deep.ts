/** The whole matrix, one session for each cell: every event, by every kind of hook alone, at every depth, heard and objected to. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { eventNames, specOf } from "../../src/hooks/HookEvents.ts"
import { type Case, check, kindsOf, objectorsOf, staged } from "./conformance.ts"
import { scenarios } from "./scenarios.ts"

for (const event of eventNames) {
  const scenario = scenarios[event]
  if (scenario === undefined) continue
  describe.concurrent(event, () => {
    for (const depth of scenario.depths) {
      for (const kind of kindsOf(event)) {
        const one: Case = { event, depth, kinds: [kind], blocks: false, matcher: scenario.matcher }
        it.live(`${depth}: is heard by ${kind}`, () =>
          staged(one, (stage) =>
            Effect.gen(function* () {
              yield* scenario.play(stage)
              for (const input of (yield* stage.heard)[kind] ?? []) check(one, input)
            }),
          ),
        )
        if (!objectorsOf(event).includes(kind)) continue
        it.live(`${depth}: an objection of ${kind} counts`, () =>
          staged({ ...one, blocks: true }, (stage) =>
            Effect.gen(function* () {
              assert(scenario.held)
              const ends = kind === "prompt" && specOf(event).notOk === "stop"
              yield* scenario.held(stage, yield* scenario.play(stage), ends)
            }),
          ),
        )
      }
    }
  })
}
