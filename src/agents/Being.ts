/** Owns who a session is: one of the agents there are, with its text and its tools, or none in particular. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Tool } from "../tools/Tool.ts"
import type * as Definitions from "./Definitions.ts"
import * as SessionTools from "./SessionTools.ts"

/** The session was to be an agent that cannot be had. */
export class AgentUnavailable extends Schema.TaggedError<AgentUnavailable>()("AgentUnavailable", {
  agent: Schema.String,
  why: Schema.String,
}) {
  override get message(): string {
    return `The session cannot be the agent "${this.agent}": ${this.why}`
  }
}

/** The agent that the session is to be, with its text and which tools it leaves. */
export const become = Effect.fnUntraced(function* (
  name: string | undefined,
  definitions: Definitions.DefinitionsShape,
) {
  if (name === undefined) return undefined
  const definition = yield* definitions.find(name)
  if (definition === undefined) {
    const { active } = yield* definitions.current
    return yield* new AgentUnavailable({
      agent: name,
      why: `there is none. There are ${active.map((one) => one.name).join(", ")}.`,
    })
  }
  const prompt = yield* Effect.mapError(
    definitions.prompt(definition),
    ({ message }) => new AgentUnavailable({ agent: name, why: message }),
  )
  return {
    definition,
    prompt: prompt === "" ? undefined : prompt,
    toolsOf: <R>(tools: ReadonlyArray<Tool<R>>) => SessionTools.ofAgent(definition, tools),
  }
})
