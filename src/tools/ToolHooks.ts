/** Owns what hooks say around a tool call, in the words of the gate: before it is decided, and after it has run. */
import * as Effect from "effect/Effect"
import { HookEngine } from "../hooks/HookEngine.ts"
import type { Call as PolicyCall } from "../policy/Call.ts"
import * as Rule from "../policy/Rule.ts"
import { plainText, type ToolResultContent } from "../protocol/Content.ts"
import { reminder } from "../protocol/Reminder.ts"
import type { Ready } from "./Examine.ts"
import type { RawOutput } from "./Tool.ts"
import { Workspace } from "./Workspace.ts"

/** What hooks say before a call. */
export interface Before {
  /** The call's arguments from now on. */
  readonly updatedInput?: Readonly<Record<string, unknown>>
  /** For the decision. */
  readonly hook?: NonNullable<PolicyCall["hook"]>
  /** It stands for the person whom the tool wants to be asked. */
  readonly answers: boolean
  /** For the model, beside the result. */
  readonly context: ReadonlyArray<string>
}

export interface After {
  readonly updatedOutput?: ToolResultContent
  readonly context: ReadonlyArray<string>
}

/** Tools whose question a hook can answer by filling in the answer. */
const answerable: ReadonlySet<string> = new Set(["AskUserQuestion", "ExitPlanMode"])

const silence: Before = { answers: false, context: [] }

export const make = Effect.gen(function* () {
  const workspace = yield* Workspace

  /** Hooks see files by their whole path: no spelling gets around them. */
  const shown = (tool: string, input: unknown): unknown => {
    if (!Rule.fileTools.has(tool) || typeof input !== "object" || input === null) return input
    const places = Object.entries(input).filter(
      (entry): entry is [string, string] => pathFields.has(entry[0]) && typeof entry[1] === "string",
    )
    return { ...input, ...Object.fromEntries(places.map(([name, path]) => [name, workspace.resolve(path)])) }
  }

  const before = Effect.fnUntraced(function* ({ ask }: Ready) {
    const engine = yield* HookEngine
    if (!engine.concerns("PreToolUse", ask.tool)) return silence
    const { call, input, tool, toolUseId } = ask
    const fields = { tool_name: tool, tool_input: shown(tool, input), tool_use_id: toolUseId }
    const { context, permission, updatedInput } = yield* engine.fire("PreToolUse", fields, { call, toolUseId })
    const said: Before = {
      context: context.map(reminder),
      answers: permission?.behavior === "allow" && updatedInput !== undefined && answerable.has(tool),
      ...(updatedInput !== undefined && { updatedInput }),
      ...(permission !== undefined && { hook: spokenAs(permission) }),
    }
    return said
  })

  const after = Effect.fnUntraced(function* (
    { ask, invocation }: Ready,
    outcome: "completed" | "failed",
    { content, structured }: Pick<RawOutput, "content" | "structured">,
    durationMs: number,
  ) {
    const engine = yield* HookEngine
    const event = outcome === "completed" ? "PostToolUse" : "PostToolUseFailure"
    const nothing: After = { context: [] }
    if (!engine.concerns(event, ask.tool)) return nothing
    const { call, input, tool, toolUseId } = ask
    const about = { call: invocation.readOnly ? { ...call, readOnly: true } : call, toolUseId }
    const common = { tool_name: tool, tool_input: shown(tool, input), tool_use_id: toolUseId, duration_ms: durationMs }
    const response = structured ?? content
    const verdict = yield* outcome === "completed"
      ? engine.fire("PostToolUse", { ...common, tool_response: response }, about)
      : engine.fire("PostToolUseFailure", { ...common, error: textOf(content), is_interrupt: false }, about)
    const replacement = verdict.updatedToolOutput ?? (tool.startsWith("mcp__") ? verdict.updatedMcpOutput : undefined)
    const fits = replacement !== undefined && (tool.startsWith("mcp__") || hasShapeOf(response, replacement))
    const { block } = verdict
    const said: After = {
      context: [...(block === undefined ? [] : [`${block.by} hook says: ${block.reason}`]), ...verdict.context].map(
        reminder,
      ),
      ...(fits && { updatedOutput: asContent(replacement) }),
    }
    if (replacement !== undefined && !fits) {
      yield* Effect.logWarning(
        `The updatedToolOutput of a hook does not have the shape of ${tool}'s result; it is ignored.`,
      )
    }
    return said
  })

  return { before, after }
})

const pathFields = new Set(["file_path", "notebook_path"])

const spokenAs = ({
  behavior,
  reason,
  source,
}: {
  readonly behavior: NonNullable<PolicyCall["hook"]>["behavior"]
  readonly reason?: string
  readonly source: string
}): NonNullable<PolicyCall["hook"]> => {
  // Whoever is asked should know who wants them to be.
  const why = behavior === "ask" ? `[${source}] ${reason ?? "a hook wants it to be asked"}` : reason
  return { behavior, ...(why !== undefined && { reason: why }) }
}

const textOf = (content: ToolResultContent): string => (typeof content === "string" ? content : plainText(content))

const kindOf = (value: unknown): string => (Array.isArray(value) ? "list" : value === null ? "null" : typeof value)

/** Of the same kind, and of two objects: what both have is of the same kind, and something is. */
const hasShapeOf = (original: unknown, other: unknown): boolean => {
  if (kindOf(original) !== kindOf(other)) return false
  if (typeof original !== "object" || original === null || typeof other !== "object" || other === null) return true
  if (Array.isArray(original)) return true
  const shared = Object.keys(original).filter((key) => Object.hasOwn(other, key))
  return (
    shared.length > 0 && shared.every((key) => kindOf(Reflect.get(original, key)) === kindOf(Reflect.get(other, key)))
  )
}

/** What the model is told: the text itself, a command's output, or the value as JSON. */
const asContent = (value: unknown): ToolResultContent => {
  if (typeof value === "string") return value
  if (typeof value === "object" && value !== null && "stdout" in value && typeof value.stdout === "string") {
    const errors = "stderr" in value && typeof value.stderr === "string" ? value.stderr : ""
    return [value.stdout, errors].filter((part) => part !== "").join("\n")
  }
  return JSON.stringify(value, undefined, 2) ?? ""
}
