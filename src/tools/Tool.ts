/**
 * Owns what a tool is: a Schema-typed value that says what a call would touch and how to run it.
 *
 * Everything a tool does not say fails closed: not read-only, not safe beside others, never to be repeated.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ToolResultContent } from "../protocol/Content.ts"
import type { Idempotency } from "../protocol/Event.ts"
import type { ControlsState } from "../session/Controls.ts"

/** A failure the model is told about, in words it can act on. */
export class ToolFailure extends Schema.TaggedError<ToolFailure>()("ToolFailure", {
  message: Schema.String,
  /** The tool's own typed output where a failure has one: a command's exit code, for instance. */
  structured: Schema.optionalKey(Schema.Unknown),
}) {}

/** What a call would do to the world, found from its input before it runs. Paths are absolute. */
export interface Effects {
  readonly reads?: ReadonlyArray<string>
  /** All it may change; left out, nobody knows, unless it only reads. */
  readonly writes?: ReadonlyArray<string>
  /** The command line it would execute. */
  readonly executes?: string
  /** The hosts it would talk to. */
  readonly connects?: ReadonlyArray<string>
  /** It would run in the sandbox, and the settings let that stand for an approval. */
  readonly sandboxed?: boolean
  /** The skill it would use, with its arguments behind the name. */
  readonly skill?: string
}

/** What the tool itself thinks of a call; rules that forbid or ask come first. `passthrough`: nothing. */
export interface Opinion {
  readonly behavior: "allow" | "ask" | "deny" | "passthrough"
  readonly reason: string
  /** With "ask": a person must answer; no mode does it for them. */
  readonly always?: boolean
}

export interface ToolOutput<Output = unknown> {
  readonly content: ToolResultContent
  /** The typed output that goes beside the text into the transcript (`toolUseResult`). Plain JSON unless the tool has a schema for it. */
  readonly structured?: Output
  /** Said to the model after the results of the round, as messages of the harness. */
  readonly messages?: ReadonlyArray<string>
  /** What changes for the session. Only of a tool that runs alone: beside others nobody could say in which order. */
  readonly controls?: Partial<ControlsState>
}

/** What a running call knows about itself. */
export interface ToolCall<Progress = string> {
  readonly toolUseId: string
  /** Shows partial output to people; the model never sees it. */
  readonly progress: (progress: Progress) => Effect.Effect<void>
}

/** A running call without its types: progress as people see it, and as data. */
export interface AnyToolCall {
  readonly toolUseId: string
  readonly progress: (text: string, data?: unknown) => Effect.Effect<void>
}

/** How a tool shows itself on a terminal: plain text, a line or several. What is left out is shown as any tool is. */
export interface Show<Input, Output, Progress> {
  readonly progress?: (progress: Progress) => string
  readonly result?: (output: Output, input: Input) => string
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
  readonly opinion: Effect.Effect<Opinion, never, R>
  /** Checks that need the world but change nothing: the file exists, the edit is unambiguous. */
  readonly validate: Effect.Effect<void, ToolFailure, R>
  /** What can be known beforehand that may tell after a crash whether the call happened. */
  readonly evidence: Effect.Effect<Readonly<Record<string, string>>, never, R>
  /** After a crash cut the call off: what the world says about it, given the evidence from before. */
  readonly judge: (evidence: Readonly<Record<string, string>>) => Effect.Effect<string | undefined, never, R>
  readonly run: (call: AnyToolCall) => Effect.Effect<RawOutput, ToolFailure, R>
}

/** A result without its type: `structured` is encoded, and `display` is how the tool shows it to people. */
export interface RawOutput extends ToolOutput {
  readonly display?: string
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
  /** Its schema is told to the model only when it asks for it (ToolSearch), once there are many tools. */
  readonly deferred: boolean
  /** False: the model is not told of it, but a call by its name is understood: transcripts and habits have old names. */
  readonly listed: boolean
  /** Where one of its calls fails, the calls beside it are cancelled: they were meant to work together. */
  readonly cascades: boolean
  /** Whether this session can use it at all; found out once. The model never sees a tool that it cannot use. */
  readonly enabled: Effect.Effect<boolean, never, R>
  /** Fails with what is wrong with the arguments, in words the model can act on. */
  readonly decode: (input: unknown) => Effect.Effect<Invocation<R>, ToolFailure>
}

export interface Options<Input, R, Output = unknown, Progress = string> {
  readonly name: string
  readonly description: string
  /** What the model must send. Its JSON Schema is derived from it. */
  readonly input: Schema.Codec<Input, unknown>
  /** What `structured` of the result is; it is kept encoded. */
  readonly output?: Schema.Codec<Output, unknown>
  /** What `progress` reports; text unless told. */
  readonly progress?: Schema.Codec<Progress, unknown>
  readonly run: (input: Input, call: ToolCall<Progress>) => Effect.Effect<ToolOutput<Output>, ToolFailure, R>
  readonly show?: Show<Input, Output, Progress>
  readonly aliases?: ReadonlyArray<string>
  readonly readOnly?: boolean | ((input: Input) => boolean)
  readonly concurrencySafe?: boolean | ((input: Input) => boolean)
  readonly idempotency?: Idempotency | ((input: Input) => Idempotency)
  readonly interruptBehavior?: "cancel" | "block"
  readonly maxResultChars?: number
  readonly deferred?: boolean
  readonly listed?: boolean
  readonly cascades?: boolean
  readonly enabled?: Effect.Effect<boolean, never, R>
  /** Its own opinion about a call, from what only the tool knows. */
  readonly opinion?: (input: Input) => Effect.Effect<Opinion, never, R>
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
export const make = <Input, R = never, Output = unknown, Progress = string>(
  options: Options<Input, R, Output, Progress>,
): Tool<R> => {
  const readOnly = always(options.readOnly, false)
  const concurrencySafe = always(options.concurrencySafe, false)
  const idempotency =
    options.idempotency === undefined ? undefined : always<Input, Idempotency>(options.idempotency, "once")
  const decode = Schema.decodeUnknownEffect(options.input)
  const run = runOf(options)
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
    deferred: options.deferred ?? false,
    listed: options.listed ?? true,
    cascades: options.cascades ?? false,
    enabled: options.enabled ?? Effect.succeed(true),
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
          opinion: options.opinion?.(input) ?? noOpinion,
          validate: options.validate?.(input) ?? Effect.void,
          evidence: options.evidence?.(input) ?? Effect.succeed({}),
          judge: options.judge ?? (() => Effect.undefined),
          run: (call) => run(input, call),
        })),
      ),
  }
}

const noOpinion: Effect.Effect<Opinion> = Effect.succeed({ behavior: "passthrough", reason: "" })

/** Puts the types of output and progress away: what leaves a tool is plain JSON, and text for people. */
const runOf = <Input, R, Output, Progress>({
  output,
  progress,
  run,
  show = {},
}: Options<Input, R, Output, Progress>) => {
  const encodeOutput = output === undefined ? undefined : Schema.encodeSync(output)
  const encodeProgress = progress === undefined ? undefined : Schema.encodeSync(progress)
  const text = (value: Progress): string =>
    show.progress?.(value) ?? (typeof value === "string" ? value : JSON.stringify(encodeProgress?.(value) ?? value))
  return (input: Input, call: AnyToolCall): Effect.Effect<RawOutput, ToolFailure, R> =>
    run(input, {
      toolUseId: call.toolUseId,
      progress: (value) => Effect.suspend(() => call.progress(text(value), encodeProgress?.(value))),
    }).pipe(
      Effect.map(({ structured, ...answer }): RawOutput => {
        if (structured === undefined) return answer
        const display = show.result?.(structured, input)
        return {
          ...answer,
          structured: encodeOutput === undefined ? structured : encodeOutput(structured),
          ...(display !== undefined && { display }),
        }
      }),
    )
}

/** The JSON Schema of a tool's arguments, in the one form that every provider takes. */
const jsonSchema = (input: Schema.Constraint): Readonly<Record<string, unknown>> => {
  const document = Schema.toJsonSchemaDocument(input)
  const definitions = Object.keys(document.definitions).length > 0 ? { $defs: document.definitions } : {}
  return { ...document.schema, ...definitions }
}
