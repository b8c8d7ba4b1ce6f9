/**
 * Owns what the use of a skill opens, and for how long: its permission rules, model and effort until a person says something new, its
 * hooks until the session ends.
 */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { HookEngineShape } from "../hooks/HookEngine.ts"
import type { RuleBook } from "../permissions/RuleBook.ts"
import type { ControlsShape, ControlsState } from "../session/Controls.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import type { Invocation } from "../skills/Skills.ts"

export interface SkillLoans {
  /** A skill is being used. */
  readonly bring: (invocation: Invocation) => Effect.Effect<void>
  /** A new prompt: what was lent for the last one is taken back. */
  readonly end: Effect.Effect<void>
}

export const make = Effect.fnUntraced(function* (session: {
  readonly book: RuleBook
  readonly controls: ControlsShape
  readonly recorder: RecorderShape
  readonly engine: HookEngineShape
}) {
  const { book, controls, engine, recorder } = session
  const scope = yield* Effect.scope
  const lent: Array<() => void> = []
  /** As it was before the first skill of this prompt changed it. */
  let before: Partial<ControlsState> | undefined

  const warn = (message: string) =>
    recorder
      .emit({ _tag: "Diagnosed", level: "warning", message })
      .pipe(Effect.catch((error) => Effect.logError(error.message)))

  const bring = Effect.fnUntraced(function* (invocation: Invocation) {
    const { allowedTools, disallowedTools, effort, hooks, model, skill, withheld } = invocation
    const source = { kind: "skill", file: skill.source.file } as const
    const rules = [
      ...allowedTools.map((text) => ({ behavior: "allow", text, source }) as const),
      ...disallowedTools.map((text) => ({ behavior: "deny", text, source }) as const),
    ]
    if (rules.length > 0) lent.push(book.lend(rules))
    // An agent of its own has its own.
    if (invocation.fork === undefined && (model !== undefined || effort !== undefined)) {
      const now = yield* controls.current
      before ??= { model: now.model, ...(now.effort !== undefined && { effort: now.effort }) }
      const inherits = model === undefined || model === "inherit"
      yield* controls.change(`skill ${skill.name}`, { ...(!inherits && { model }), ...(effort && { effort }) })
    }
    if (hooks !== undefined) {
      const origin = {
        scope: "skill",
        name: skill.name,
        file: skill.source.file,
        root: skill.source.directory,
      } as const
      for (const problem of yield* Scope.provide(engine.register(hooks, origin), scope)) yield* warn(problem)
    }
    if (withheld !== undefined) {
      yield* warn(
        `${withheld.source.name}: ${withheld.keys.join(", ")} not in force until you agree to it: look at it with \`troupe config trust\``,
      )
    }
  })

  const end = Effect.gen(function* () {
    for (const takeBack of lent.splice(0)) takeBack()
    if (before === undefined) return
    yield* controls.change("end of a skill", before)
    before = undefined
  })

  const loans: SkillLoans = { bring, end }
  return loans
})
