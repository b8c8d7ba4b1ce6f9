/** Owns answers that are values: a Schema as what the model is asked for, and its answer decoded. */
import * as AnthropicStructuredOutput from "effect/ai/AnthropicStructuredOutput"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Content } from "../protocol/Content.ts"
import type { Event, EventOf } from "../protocol/Event.ts"
import { endings, Terminal } from "../protocol/Terminal.ts"
import type { Agent, AgentError } from "./Agent.ts"

/** A turn ended without a value: it did not complete, or its answer does not fit the schema. */
export class NoOutput extends Schema.TaggedError<NoOutput>()("NoOutput", {
  terminal: Terminal,
  detail: Schema.String,
}) {
  override get message(): string {
    return `The turn gave no value: ${this.detail}`
  }
}

type Ended = Pick<EventOf<"TurnEnded">, "terminal" | "structuredOutput">

export interface Output<A> {
  /** The JSON Schema for `OpenOptions.jsonSchema`, in the subset that the service takes. */
  readonly jsonSchema: Readonly<Record<string, unknown>>
  /** The value of a turn that has ended. */
  readonly decode: (ended: Ended) => Effect.Effect<A, NoOutput>
  /** Runs a turn of an agent that was opened with this `jsonSchema`, and gives its value. */
  readonly ask: (agent: Pick<Agent, "prompt">, content: Content) => Effect.Effect<A, AgentError | NoOutput>
}

/** Whatever the service's subset cannot say is still checked when the answer is decoded. Recursive schemas throw. */
export const make = <A>(schema: Schema.Codec<A, unknown>): Output<A> => {
  const { codec, jsonSchema } = AnthropicStructuredOutput.toCodecAnthropic(schema)
  const read = Schema.decodeUnknownEffect(codec)
  const decode: Output<A>["decode"] = ({ terminal, structuredOutput }) =>
    structuredOutput === undefined
      ? Effect.fail(new NoOutput({ terminal, detail: terminal.detail ?? `${endings[terminal.reason].says}.` }))
      : Effect.mapError(read(structuredOutput), ({ message }) => new NoOutput({ terminal, detail: message }))
  return {
    jsonSchema,
    decode,
    ask: (agent, content) =>
      Effect.flatMap(
        Stream.runFold(agent.prompt(content), () => unended, keepEnd),
        decode,
      ),
  }
}

const unended: Ended = {
  terminal: { reason: "session_failed", detail: "The session ended before the turn did." },
}
const keepEnd = (kept: Ended, event: Event): Ended => (event._tag === "TurnEnded" ? event : kept)
