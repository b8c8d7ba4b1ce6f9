/** Owns answers that must fit a JSON Schema: what the model is asked for, and whether it kept to it. */
import * as Effect from "effect/Effect"
import * as JsonSchema from "effect/JsonSchema"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

export class BadOutputSchema extends Schema.TaggedError<BadOutputSchema>()("BadOutputSchema", {
  detail: Schema.String,
}) {
  override get message(): string {
    return `The output schema cannot be used: ${this.detail}. Give a JSON Schema of an object, such as {"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}.`
  }
}

export interface StructuredOutput {
  /** The request's `output_config`. */
  readonly config: Readonly<Record<string, unknown>>
  /** The value in a reply, or what is wrong with it, for the model. */
  readonly check: (text: string) => Effect.Effect<Result.Result<unknown, string>>
}

const isObject = Schema.is(Schema.Record(Schema.String, Schema.Unknown))

export const make = Effect.fnUntraced(function* (schema: unknown) {
  if (!isObject(schema)) return yield* new BadOutputSchema({ detail: "it is not a JSON object" })
  // Large, and most sessions have no such schema.
  const { fromJsonSchemaDocument } = yield* Effect.promise(() => import("effect/SchemaRepresentation"))
  const imported = yield* Effect.try({
    // Patterns of an unknown author can take for ever; the service applies them anyway.
    try: () => fromJsonSchemaDocument(JsonSchema.fromSchemaDraft2020_12(schema), { patterns: "ignore" }),
    catch: (cause) => new BadOutputSchema({ detail: cause instanceof Error ? cause.message : String(cause) }),
  })
  const decode = Schema.decodeUnknownResult(Schema.toType(imported))
  return {
    config: { format: { type: "json_schema", schema } },
    check: (text) =>
      Effect.sync(() => {
        const json = unfenced(text)
        let value: unknown
        try {
          value = JSON.parse(json)
        } catch (cause) {
          return Result.fail(`it is not JSON (${cause instanceof Error ? cause.message : String(cause)})`)
        }
        return Result.mapError(
          Result.map(decode(value), () => value),
          (error) => error.message,
        )
      }),
  } satisfies StructuredOutput
})

/** Models like to put JSON between fences. */
const unfenced = (text: string): string => /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text
