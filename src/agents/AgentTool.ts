/**
 * Owns the Agent tool: how the model sends out an agent of a kind that people or we have defined. Which kinds there are stands behind
 * its description, latched with the session.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SessionText from "../context/SessionText.ts"
import { ModelTable, type Table } from "../cost/ModelTable.ts"
import { Host } from "../platform/Host.ts"
import * as PathForm from "../policy/PathForm.ts"
import { text } from "../protocol/Content.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import { Controls } from "../session/Controls.ts"
import * as Tool from "../tools/Tool.ts"
import { ToolCatalog } from "../tools/ToolCatalog.ts"
import { Workspace } from "../tools/Workspace.ts"
import * as AgentTools from "./AgentTools.ts"
import { Briefing } from "./Briefing.ts"
import type { AgentDefinition } from "./Definition.ts"
import { Definitions } from "./Definitions.ts"
import { type Errand, type Report, Subagents } from "./Subagents.ts"

const Input = Schema.Struct({
  description: Schema.String.annotate({ description: "The task in three to five words" }),
  prompt: Schema.String.check(Schema.isNonEmpty()).annotate({
    description: "Everything the agent needs to know: it sees nothing of this conversation",
  }),
  subagent_type: Schema.optionalKey(
    Schema.String.annotate({ description: "The kind of agent; general-purpose unless told" }),
  ),
  model: Schema.optionalKey(Schema.Literals(["sonnet", "opus", "haiku", "fable"])),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  status: Schema.Literal("completed"),
  agentId: Schema.String,
  agentType: Schema.String,
  prompt: Schema.String,
  content: Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })),
  exitReason: Schema.Literals(["complete", "maxTurns", "budget", "error", "stopped"]),
  totalDurationMs: Schema.Finite,
  totalTokens: Schema.Finite,
  totalToolUseCount: Schema.Finite,
  usage: Schema.Unknown,
})
type Output = typeof Output.Type

const description = `Sends out an agent that works on a task by itself and reports back.
- It starts with nothing but your prompt and its own instructions: say what to do, where, what you know already, and what to report.
- Its report is all that comes back, and only you see it: pass on to the user what matters.
- Several calls in one reply run at the same time. Send out several where parts of the work do not depend on each other.
- Do not send one out for what one or two calls of your own would find.
The kinds of agents:`

export const AgentTool = Tool.make({
  name: "Agent",
  aliases: ["Task"],
  description,
  input: Input,
  output: Output,
  concurrencySafe: true,
  maxResultChars: 30_000,
  enabled: Effect.map(Subagents, ({ allowed }) => allowed),
  // What it does is judged call by call, as ours is; so is what it changes.
  effects: () => Effect.succeed({ writes: [] }),
  opinion: () => Effect.succeed({ behavior: "allow", reason: "each call of the agent is judged for itself" }),
  summary: ({ description, subagent_type = usual }) => `${subagent_type}: ${description}`,
  show: {
    result: ({ totalDurationMs, totalTokens, totalToolUseCount }) =>
      `${totalToolUseCount} tool uses, ${totalTokens} tokens, ${(totalDurationMs / 1000).toFixed(1)} s`,
  },
  run: Effect.fnUntraced(function* (input, { toolUseId }) {
    const { find } = yield* Definitions
    const type = input.subagent_type ?? usual
    const definition = yield* find(type)
    if (definition === undefined) return yield* unknown(type)
    const { only, send } = yield* Subagents
    if (only !== undefined && !only.includes(definition.name)) return yield* notAllowed(definition.name, only)
    const report = yield* send(yield* errandOf(definition, input, toolUseId))
    return yield* reported(report, definition.name, input)
  }),
})

const usual = "general-purpose"

const unknown = Effect.fnUntraced(function* (type: string) {
  const { active } = yield* (yield* Definitions).current
  return yield* new Tool.ToolFailure({
    message: `There is no agent "${type}". There are ${active.map(({ name }) => name).join(", ")}.`,
  })
})

const notAllowed = (type: string, only: ReadonlyArray<string>) =>
  new Tool.ToolFailure({ message: `You may not send out "${type}", only ${only.join(", ")}.` })

/** What a definition means here and now, for a task. */
export const errandOf = Effect.fnUntraced(function* (
  definition: AgentDefinition,
  task: Pick<Input, "description" | "prompt" | "model">,
  toolUseId: string,
) {
  const { prompt: promptOf } = yield* Definitions
  const { allowed } = yield* Subagents
  const { root } = yield* Workspace
  const catalog = yield* ToolCatalog
  const { effort, model, permissionMode } = yield* (yield* Controls).current
  const { env } = yield* Host
  const table = yield* ModelTable
  const { facts, instructions } = yield* Briefing

  if (definition.isolation === "worktree") {
    return yield* new Tool.ToolFailure({
      message: `The agent "${definition.name}" wants a worktree of its own (isolation: worktree), which this version cannot make. It was not started.`,
    })
  }
  const plans = definition.permissionMode === "plan"
  const offered = AgentTools.forSubagent(catalog.names(), { background: false, mayStart: allowed, plans })
  const resolved = AgentTools.resolve(definition, offered)
  if (Result.isFailure(resolved)) return yield* new Tool.ToolFailure({ message: resolved.failure.message })
  const { agents, deny, only, tools } = resolved.success
  const body = yield* Effect.mapError(
    promptOf(definition),
    ({ message }) => new Tool.ToolFailure({ message: `The agent "${definition.name}" cannot be read: ${message}` }),
  )
  const memory =
    definition.memory === undefined
      ? undefined
      : yield* SessionText.agentMemory(definition.name, definition.memory, root)
  const remembered = memory !== undefined && Result.isSuccess(memory) ? memory.success : undefined
  const system = [body, facts, ...(definition.traits.bare === true ? [] : [instructions]), remembered?.text ?? ""]
  const wanted = env("CLAUDE_CODE_SUBAGENT_MODEL") ?? task.model ?? definition.model
  const errand: Errand = {
    agentType: definition.name,
    description: task.description,
    prompt: definition.traits.reminder === undefined ? task.prompt : `${task.prompt}\n\n${definition.traits.reminder}`,
    toolUseId,
    system: system.filter((part) => part !== "").map(text),
    model: capped(wanted === undefined || wanted === "inherit" ? model : wanted, definition.traits.modelCap, table),
    permissionMode: modeOf(permissionMode, definition.permissionMode),
    effort: definition.effort ?? effort,
    tools,
    within: fenceOf(tools, only),
    rules: {
      deny,
      allow: remembered === undefined ? [] : [`Edit(/${PathForm.escape(remembered.memory.directory.path)}/**)`],
    },
    skills: definition.skills,
    agents,
    maxTurns: definition.maxTurns,
    hooks: definition.hooks,
    hooksFrom: {
      scope: "agent",
      name: definition.name,
      ...(definition.origin.file !== undefined && { file: definition.origin.file }),
    },
  }
  return errand
})

/** Whoever asks less than the agent would is heard, and whoever allows less too: an agent only has a say where its sender has none. */
export const modeOf = (sender: PermissionMode, own: PermissionMode | undefined): PermissionMode =>
  own === undefined || sender !== "default" ? sender : own

/** Where patterns stand behind some tools, every call must fit one of them or be of a tool without any. */
const fenceOf = (
  tools: ReadonlyArray<string>,
  only: AgentTools.AgentTools["only"],
): ReadonlyArray<string> | undefined =>
  Object.keys(only).length === 0 ? undefined : tools.flatMap((tool) => only[tool] ?? [tool])

const priceOf = (model: string, table: Table): number => table.resolve(model).spec.prices.at(-1)?.input ?? 0

const capped = (model: string, cap: string | undefined, table: Table): string =>
  cap !== undefined && priceOf(model, table) > priceOf(cap, table) ? cap : model

const exits: Readonly<Record<string, Output["exitReason"]>> = {
  completed: "complete",
  hook_stopped: "complete",
  stop_hook_prevented: "complete",
  max_turns: "maxTurns",
  budget_exhausted: "budget",
  deadline: "budget",
  aborted_tools: "stopped",
  aborted_streaming: "stopped",
}

const reported = Effect.fnUntraced(function* (report: Report, agentType: string, { prompt }: Input) {
  const { agentId, terminal, toolUses, usage } = report
  const exitReason = exits[terminal.reason] ?? "error"
  const why = terminal.detail ?? terminal.reason
  if (exitReason === "error" || exitReason === "stopped") {
    const partial = report.text === "" ? "" : `\nWhat it said last:\n${report.text}`
    return yield* new Tool.ToolFailure({ message: `The agent did not finish: ${why}${partial}` })
  }
  const said = report.text === "" ? "(The agent finished without a report.)" : report.text
  const content = exitReason === "complete" ? said : `${said}\n\n(It ended before it was done: ${why})`
  const structured: Output = {
    status: "completed",
    agentId,
    agentType,
    prompt,
    content: [{ type: "text", text: content }],
    exitReason,
    totalDurationMs: report.durationMs,
    totalTokens:
      usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens + usage.output_tokens,
    totalToolUseCount: toolUses,
    usage,
  }
  return { content, structured }
})
