/** Owns the hooks around a change of the session's model: they may keep it, and hear of it. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ControlsChange, ControlsShape } from "../session/Controls.ts"
import type { HookEngineShape } from "./HookEngine.ts"

export interface ModelFacts {
  /** The model that a name or an alias stands for. */
  readonly resolve: (name: string) => string
  /** Says something to the person. */
  readonly say: (message: string) => Effect.Effect<void>
  /** Tells the model something with its next prompt. */
  readonly tell: (text: string) => Effect.Effect<void>
}

/** Until the scope closes. */
export const follow = Effect.fnUntraced(function* (
  engine: HookEngineShape,
  controls: ControlsShape,
  facts: ModelFacts,
) {
  const fieldsOf = ({ after, before, by }: ControlsChange) => ({
    from_model: facts.resolve(before.model),
    to_model: facts.resolve(after.model),
    requested_model: after.model,
    source: by === "embedder" || by === "sdk" ? "sdk" : by === "fallback" ? "auto" : "command",
  })
  yield* controls.guard(
    Effect.fnUntraced(function* (change) {
      const fields = fieldsOf(change)
      if (!engine.concerns("PreModelSwitch", fields.to_model)) return undefined
      const { block } = yield* engine.fire("PreModelSwitch", fields)
      if (block === undefined) return undefined
      yield* facts.say(`The model stays ${fields.from_model}: ${block.reason}`)
      return block.reason
    }),
  )
  yield* controls.changes.pipe(
    Stream.filter(({ after, before }) => after.model !== before.model),
    Stream.runForEach((change) =>
      Effect.flatMap(engine.fire("PostModelSwitch", fieldsOf(change)), ({ context }) =>
        Effect.forEach(context, facts.tell, { discard: true }),
      ),
    ),
    Effect.forkScoped({ startImmediately: true }),
  )
})
