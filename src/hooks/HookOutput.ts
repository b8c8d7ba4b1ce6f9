/** Owns reading what a hook says: JSON that fits the event, plain text, or JSON that does not fit. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Specific } from "./HookEvent.ts"
import { type HookEventName, specOf } from "./HookEvents.ts"

const Universal = Schema.Struct({
  continue: Schema.optionalKey(Schema.Boolean),
  stopReason: Schema.optionalKey(Schema.String),
  systemMessage: Schema.optionalKey(Schema.String),
  terminalSequence: Schema.optionalKey(Schema.String),
  decision: Schema.optionalKey(Schema.Literals(["approve", "block"])),
  reason: Schema.optionalKey(Schema.String),
  suppressOriginalPrompt: Schema.optionalKey(Schema.Boolean),
})

/** What counts of what a hook said. Fields that mean nothing at this event are not in it. */
export interface HookOutput extends Readonly<typeof Universal.Type> {
  readonly specific: Specific
}

export const silent: HookOutput = { specific: {} }

/** What somebody in this process may return: the JSON that a command would print. */
export interface HookJson {
  readonly continue?: boolean
  readonly stopReason?: string
  readonly systemMessage?: string
  readonly terminalSequence?: string
  readonly suppressOutput?: boolean
  readonly decision?: "approve" | "block"
  readonly reason?: string
  readonly hookSpecificOutput?: Specific & { readonly hookEventName: HookEventName }
  /** Nobody waits for it any more. */
  readonly async?: boolean
  readonly asyncTimeout?: number
}

export type Reading =
  | { readonly _tag: "Json"; readonly output: HookOutput }
  /** `doubt`: it looks as if JSON was meant. */
  | { readonly _tag: "Text"; readonly text: string; readonly doubt?: string }
  | { readonly _tag: "Misfit"; readonly why: string }

/** What was printed. Only what begins with `{` is taken for JSON. */
export const readText = (event: HookEventName, stdout: string): Reading => {
  const text = stdout.trim()
  if (!text.startsWith("{")) return { _tag: "Text", text }
  const parsed = parse(text)
  if (Result.isSuccess(parsed)) return readValue(event, parsed.success)
  return { _tag: "Text", text, doubt: `its output begins with { but is not valid JSON: ${parsed.failure}` }
}

const parse = (text: string): Result.Result<unknown, string> =>
  Result.try({
    try: (): unknown => JSON.parse(text),
    catch: (cause) => (cause instanceof Error ? cause.message : String(cause)),
  })

const decodeUniversal = Schema.decodeUnknownResult(Universal)
const decodeSpecific = Schema.decodeUnknownResult(Specific)

export const readValue = (event: HookEventName, value: unknown): Reading => {
  const misfit = (why: string): Reading => ({ _tag: "Misfit", why: why.replaceAll(/\s+/g, " ") })
  if (value === undefined || value === null) return { _tag: "Json", output: silent }
  if (!isRecord(value)) return misfit("its output is no JSON object")
  const universal = decodeUniversal(withoutNulls(value))
  if (Result.isFailure(universal)) return misfit(`its JSON does not fit: ${universal.failure.message}`)
  const given = value["hookSpecificOutput"]
  if (given === undefined || given === null) {
    return { _tag: "Json", output: { ...universal.success, specific: {} } }
  }
  if (!isRecord(given)) return misfit("hookSpecificOutput is no object")
  const { hookEventName } = given
  if (hookEventName === undefined) {
    return misfit(`hookSpecificOutput has no hookEventName; add "hookEventName": "${event}"`)
  }
  if (hookEventName !== event) {
    return misfit(`hookSpecificOutput is about ${JSON.stringify(hookEventName)}, and the event is ${event}`)
  }
  const { outputs } = specOf(event)
  const honoured = Object.entries(withoutNulls(given)).filter(([name]) => Object.hasOwn(outputs, name))
  const specific = decodeSpecific(Object.fromEntries(honoured))
  if (Result.isFailure(specific)) return misfit(`hookSpecificOutput does not fit: ${specific.failure.message}`)
  return { _tag: "Json", output: { ...universal.success, specific: specific.success } }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Many languages write `null` for what is left out. */
const withoutNulls = (value: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null))

const bell = "\u0007"
const escape = "\u001b"
const allowed = new RegExp(`^(?:${bell}|${escape}\\](?:0|1|2|9|99|777);[^\\p{Cc}]*(?:${bell}|${escape}\\\\))+$`, "u")

/** Titles, notifications and the bell; anything else could take over the terminal. */
export const isTerminalSequence = (text: string): boolean => allowed.test(text)
