/** Owns how a skill with `context: fork` is run: in an agent of the kind it names, which reports what it came to. */
import * as Effect from "effect/Effect"
import type { SkillFork } from "../skills/SkillTool.ts"
import { ToolFailure } from "../tools/Tool.ts"
import { errandOf } from "./AgentTool.ts"
import { Definitions } from "./Definitions.ts"
import { Subagents } from "./Subagents.ts"

export const make = Effect.gen(function* () {
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof errandOf>> | Definitions>()
  const { find } = yield* Definitions
  const { send } = yield* Subagents
  const fork: NonNullable<(typeof SkillFork)["Service"]> = Effect.fnUntraced(function* (invocation, toolUseId) {
    const { effort, fork: wanted, messages, model, skill } = invocation
    const kind = wanted?.agent ?? "general-purpose"
    const definition = yield* find(kind)
    if (definition === undefined) {
      return yield* new ToolFailure({
        message: `The skill ${skill.name} wants the agent "${kind}", and there is none.`,
      })
    }
    const task = { description: skill.name, prompt: messages.join("\n\n") }
    const errand = yield* Effect.provideContext(errandOf(definition, task, toolUseId), services)
    const own = model === undefined || model === "inherit" ? {} : { model }
    const { terminal, text } = yield* send({ ...errand, ...own, effort, forSkills: [skill.name] })
    if (text !== "") return text
    return yield* new ToolFailure({
      message: `The skill ${skill.name} came to nothing: ${terminal.detail ?? terminal.reason}`,
    })
  })
  return fork
})
