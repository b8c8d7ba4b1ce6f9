/** Owns tools made of plain async functions. */
import * as Effect from "effect/Effect"
import * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as SchemaRepresentation from "effect/SchemaRepresentation"
import type { ToolResultContent } from "../protocol/Content.ts"
import * as Coding from "../tools/builtin/Coding.ts"
import type { Services } from "../tools/builtin/Source.ts"
import * as Tools from "../tools/Tool.ts"
import { TroupeError } from "./TroupeError.ts"

/** A tool an agent can be opened with: `codingTools` and what `tool` makes. */
export type Tool = Tools.Tool<Services>

/** A JSON Schema, as plain data. */
export type JsonSchemaObject = Readonly<Record<string, unknown>>

/** What a running call knows about itself. */
export interface ToolContext {
  /** Aborted when the turn is, or the agent is closed. */
  readonly signal: AbortSignal
  readonly toolUseId: string
  /** Shows partial output to people; the model never sees it. */
  readonly progress: (text: string) => void
}

/** What a tool answers the model with: text, or blocks and a typed output beside them for the transcript. */
export type ToolAnswer = string | { readonly content: ToolResultContent; readonly structured?: unknown }

/** What makes a tool. Whatever is left out fails closed: not read-only, not safe beside other calls, never repeated. */
export interface ToolOptions<Input> {
  readonly name: string
  readonly description: string
  /** An error that is thrown here is told to the model in its own words. */
  readonly run: (input: Input, context: ToolContext) => ToolAnswer | Promise<ToolAnswer>
  /** It changes nothing, so it needs no permission and may be repeated after a crash. */
  readonly readOnly?: boolean
  /** It may run at the same time as other calls that say so too. */
  readonly concurrencySafe?: boolean
  /** One line about a call, for people. */
  readonly summary?: (input: Input) => string
}

/**
 * Makes a tool of an async function. `input` is an Effect Schema, which types the argument, or a JSON Schema of an object;
 * either way the function is called only with arguments that fit.
 *
 * @example
 * import { tool } from "troupe/promise"
 *
 * export const weather = tool({
 *   name: "Weather",
 *   description: "How warm it is in a city.",
 *   input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
 *   readOnly: true,
 *   run: async ({ city }, { signal }) => {
 *     const answer = await fetch(`https://weather.example/${city}`, { signal })
 *     return answer.text()
 *   },
 * })
 */
export function tool<Input>(options: ToolOptions<Input> & { readonly input: Schema.Codec<Input, unknown> }): Tool
export function tool(
  options: ToolOptions<Readonly<Record<string, unknown>>> & { readonly input: JsonSchemaObject },
): Tool
export function tool<Input>(
  options:
    | (ToolOptions<Input> & { readonly input: Schema.Codec<Input, unknown> })
    | (ToolOptions<Readonly<Record<string, unknown>>> & { readonly input: JsonSchemaObject }),
): Tool {
  return isTyped(options) ? make(options, options.input) : described(options)
}

/** The tools of a coding agent: Read, Write, Edit, Bash, Glob, Grep. */
export const codingTools: ReadonlyArray<Tool> = Coding.coding

const isTyped = <Input>(
  options: ToolOptions<Input> | ToolOptions<Readonly<Record<string, unknown>>>,
): options is ToolOptions<Input> & { readonly input: Schema.Codec<Input, unknown> } =>
  "input" in options && Schema.isSchema(options.input)

/** The model is shown the JSON Schema as it was given; arguments are checked by the Schema made of it. */
const described = (
  options: ToolOptions<Readonly<Record<string, unknown>>> & { readonly input: JsonSchemaObject },
): Tool => {
  const isFitting = Schema.is(Schema.toType(imported(options.name, options.input)))
  const input = Schema.Record(Schema.String, Schema.Unknown).check(
    Schema.makeFilter((value) => isFitting(value) || "they do not fit the tool's JSON Schema"),
  )
  const { decode, ...rest } = make(options, input)
  return { ...rest, decode, inputSchema: options.input }
}

const imported = (name: string, schema: JsonSchemaObject): Schema.Top => {
  try {
    if (schema["type"] !== "object") throw new Error('its type is not "object"')
    // Patterns of an unknown author can take for ever.
    return SchemaRepresentation.fromJsonSchemaDocument(JsonSchema.fromSchemaDraft2020_12(schema), {
      patterns: "ignore",
    })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TroupeError("bad_tool", `The input of the tool ${name} is no usable JSON Schema: ${why}`, cause)
  }
}

const make = <Input>(options: ToolOptions<Input>, input: Schema.Codec<Input, unknown>): Tool =>
  Tools.make({
    name: options.name,
    description: options.description,
    input,
    readOnly: options.readOnly ?? false,
    concurrencySafe: options.concurrencySafe ?? false,
    ...(options.summary !== undefined && { summary: options.summary }),
    run: (value, call) =>
      Effect.flatMap(Effect.context(), (context) => {
        const fork = Effect.runForkWith(context)
        const progress = (text: string) => void fork(call.progress(text))
        return Effect.tryPromise({
          try: async (signal) => options.run(value, { signal, toolUseId: call.toolUseId, progress }),
          catch: (cause) => new Tools.ToolFailure({ message: cause instanceof Error ? cause.message : String(cause) }),
        }).pipe(Effect.map((answer) => (typeof answer === "string" ? { content: answer } : answer)))
      }),
  })
