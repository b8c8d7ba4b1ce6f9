/**
 * Owns what a tool is: a Schema-typed value that says what a call would touch and how to run it.
 *
 * Everything a tool does not say fails closed: not read-only, not safe beside others, never to be repeated.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ToolResultContent } from "../protocol/Content.ts"
import type { Idempotency } from "../protocol/Event.ts"

/** A failure the model is told about, in words it can act on. */
export class ToolFailure extends Schema.TaggedError<ToolFailure>()("ToolFailure", {
  message: Schema.String,
  /** The tool's own typed output where a failure has one: a command's exit code, for instance. */
  structured: Schema.optionalKey(Schema.Unknown),
}) {}

/** What a call would do to the world, found from its input before it runs. Paths are absolute. */
export interface Effects {
  readonly reads?: ReadonlyArray<string>
  readonly writes?: ReadonlyArray<string>
  /** The command line it would execute. */
  readonly executes?: string
}

export interface ToolOutput {
  readonly content: ToolResultContent
  /** The typed output that goes beside the text into the transcript (`toolUseResult`). Plain JSON. */
  readonly structured?: unknown
}

/** What a running call knows about itself. */
export interface ToolCall {
  readonly toolUseId: string
  /** Shows partial output to people; the model never sees it. */
  readonly progress: (text: string) => Effect.Effect<void>
}

/** One call with arguments that fit the tool's schema: what it would do, and how to do it. */
export interface Invocation<R> {
  /** The arguments as decoded, for permission rules and people. */
  readonly input: unknown
  readonly readOnly: boolean
  /** May run at the same time as other calls that say so too. */
  readonly concurrencySafe: boolean
  readonly idempotency: Idempotency
  /** One line for people: `Read src/index.ts`. */
  readonly summary: string
  readonly effects: Effect.Effect<Effects, never, R>
  /** Checks that need the world but change nothing: the file exists, the edit is unambiguous. */
  readonly validate: Effect.Effect<void, ToolFailure, R>
  /** What can be known beforehand that may tell after a crash whether the call happened. */
  readonly evidence: Effect.Effect<Readonly<Record<string, string>>, never, R>
  /** After a crash cut the call off: what the world says about it, given the evidence from before. */
  readonly judge: (evidence: Readonly<Record<string, string>>) => Effect.Effect<string | undefined, never, R>
  readonly run: (call: ToolCall) => Effect.Effect<ToolOutput, ToolFailure, R>
}

/** A tool, whatever its arguments are: those are known only once a call has been decoded. */
export interface Tool<out R> {
  readonly name: string
  readonly aliases: ReadonlyArray<string>
  readonly description: string
  /** The JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** On an interrupt: `cancel` stops the call, `block` lets it finish first. */
  readonly interruptBehavior: "cancel" | "block"
  /** Longer results go to disk, with a preview for the model. */
  readonly maxResultChars: number
  /** Fails with what is wrong with the arguments, in words the model can act on. */
  readonly decode: (input: unknown) => Effect.Effect<Invocation<R>, ToolFailure>
}

export interface Options<Input, R> {
  readonly name: string
  readonly description: string
  /** What the model must send. Its JSON Schema is derived from it. */
  readonly input: Schema.Codec<Input, unknown>
  readonly run: (input: Input, call: ToolCall) => Effect.Effect<ToolOutput, ToolFailure, R>
  readonly aliases?: ReadonlyArray<string>
  readonly readOnly?: boolean | ((input: Input) => boolean)
  readonly concurrencySafe?: boolean | ((input: Input) => boolean)
  readonly idempotency?: Idempotency | ((input: Input) => Idempotency)
  readonly interruptBehavior?: "cancel" | "block"
  readonly maxResultChars?: number
  readonly effects?: (input: Input) => Effect.Effect<Effects, never, R>
  readonly validate?: (input: Input) => Effect.Effect<void, ToolFailure, R>
  readonly evidence?: (input: Input) => Effect.Effect<Readonly<Record<string, string>>, never, R>
  readonly judge?: (evidence: Readonly<Record<string, string>>) => Effect.Effect<string | undefined, never, R>
  readonly summary?: (input: Input) => string
}

const always = <Input, A extends boolean | string>(
  given: A | ((input: Input) => A) | undefined,
  otherwise: A,
): ((input: Input) => A) => (typeof given === "function" ? given : () => given ?? otherwise)

/**
 * Makes a tool. What is left out fails closed.
 *
 * @example
 * const Dice = Tool.make({
 *   name: "Dice",
 *   description: "Rolls a die.",
 *   input: Schema.Struct({ sides: Schema.Int }),
 *   readOnly: true,
 *   run: ({ sides }) => Effect.map(Random.nextIntBetween(1, sides), (n) => ({ content: String(n) })),
 * })
 */
export const make = <Input, R = never>(options: Options<Input, R>): Tool<R> => {
  const readOnly = always(options.readOnly, false)
  const concurrencySafe = always(options.concurrencySafe, false)
  const idempotency =
    options.idempotency === undefined ? undefined : always<Input, Idempotency>(options.idempotency, "once")
  const decode = Schema.decodeUnknownEffect(options.input)
  let inputSchema: Readonly<Record<string, unknown>> | undefined
  return {
    name: options.name,
    aliases: options.aliases ?? [],
    description: options.description,
    get inputSchema() {
      return (inputSchema ??= jsonSchema(options.input))
    },
    interruptBehavior: options.interruptBehavior ?? "cancel",
    maxResultChars: options.maxResultChars ?? 30_000,
    decode: (raw) =>
      decode(raw).pipe(
        Effect.mapError(
          (error) => new ToolFailure({ message: `The arguments do not fit ${options.name}: ${error.message}` }),
        ),
        Effect.map((input): Invocation<R> => ({
          input,
          readOnly: readOnly(input),
          concurrencySafe: concurrencySafe(input),
          idempotency: idempotency ? idempotency(input) : readOnly(input) ? "read_only" : "once",
          summary: options.summary?.(input) ?? options.name,
          effects: options.effects?.(input) ?? Effect.succeed({}),
          validate: options.validate?.(input) ?? Effect.void,
          evidence: options.evidence?.(input) ?? Effect.succeed({}),
          judge: options.judge ?? (() => Effect.undefined),
          run: (call) => options.run(input, call),
        })),
      ),
  }
}

/** The JSON Schema of a tool's arguments, in the one form that every provider takes. */
const jsonSchema = (input: Schema.Constraint): Readonly<Record<string, unknown>> => {
  const document = Schema.toJsonSchemaDocument(input)
  const definitions = Object.keys(document.definitions).length > 0 ? { $defs: document.definitions } : {}
  return { ...document.schema, ...definitions }
}
