/** Owns what all hooks of one event say together: who is heard where they disagree. Pure. */
import { rankOf } from "./Handler.ts"
import type { Specific } from "./HookEvent.ts"
import { type HookEventName, specOf } from "./HookEvents.ts"
import { isTerminalSequence } from "./HookOutput.ts"
import type { Reply } from "./Reply.ts"

/** What PreToolUse hooks say about a call, the strictest of them. */
export interface Permission {
  readonly behavior: "allow" | "ask" | "deny" | "defer"
  readonly reason?: string
  /** `User`, `Project`, …: whose hook it is. */
  readonly source: string
}

export interface Verdict {
  /** How many hooks answered. */
  readonly ran: number
  /** The action is not to happen (or, after the fact: the model is told why not). */
  readonly block?: { readonly reason: string; readonly by: string }
  /** `continue: false`, or a model that was not satisfied: the work ends, and the person is told why. */
  readonly stop?: { readonly reason: string; readonly by: string }
  readonly permission?: Permission
  readonly updatedInput?: Readonly<Record<string, unknown>>
  readonly updatedToolOutput?: unknown
  readonly updatedMcpOutput?: unknown
  /** For the model, each with the name of its hook. */
  readonly context: ReadonlyArray<string>
  /** For the person. */
  readonly messages: ReadonlyArray<string>
  readonly terminalSequence?: string
  /** The answer to PermissionRequest. */
  readonly request?: NonNullable<Specific["decision"]>
  readonly retry?: boolean
  /** What the judge of `auto` mode is told; `verified` when only functions of the embedder said so. */
  readonly classifierContext?: { readonly text: string; readonly verified: boolean }
  readonly action?: NonNullable<Specific["action"]>
  readonly content?: Readonly<Record<string, unknown>>
  readonly displayContent?: string
  readonly worktreePath?: string
  readonly initialUserMessage?: string
  readonly sessionTitle?: string
  readonly suppressOriginalPrompt?: boolean
  readonly watchPaths?: ReadonlyArray<string>
  readonly reloadSkills?: boolean
}

/** Nobody said anything. */
export const nothing: Verdict = { ran: 0, context: [], messages: [] }

const strictness = ["deny", "defer", "ask", "allow"] as const
const mostForClassifier = 2_000

export const aggregate = (event: HookEventName, replies: ReadonlyArray<Reply>): Verdict => {
  if (replies.length === 0) return nothing
  const spec = specOf(event)
  // Highest scope first; whoever finished first has no say in it.
  const ordered = replies.toSorted((a, b) => rankOf(a.handler) - rankOf(b.handler))
  const first = <A>(pick: (reply: Reply) => A | undefined): A | undefined => {
    for (const reply of ordered) {
      const found = pick(reply)
      if (found !== undefined) return found
    }
    return undefined
  }
  const specific = <K extends keyof Specific>(key: K) => first(({ output }) => output.specific[key])

  const permission = permissionOf(event, ordered)
  const blocking = ordered.find((reply) => blockOf(event, reply) !== undefined)
  const stopping = spec.continues ? ordered.find((reply) => stopOf(reply) !== undefined) : undefined
  const defers = permission?.behavior === "defer"
  const updatedInput = defers ? undefined : specific("updatedInput")
  const sequences = ordered.flatMap(({ output: { terminalSequence: text } }) =>
    text !== undefined && isTerminalSequence(text) ? [text] : [],
  )
  const request = requestOf(ordered)
  const watchPaths = ordered.flatMap(({ output }) =>
    output.specific.watchPaths === undefined ? [] : [output.specific.watchPaths],
  )
  const classifierContext = classifierOf(ordered)
  const plain = {
    updatedInput,
    updatedToolOutput: specific("updatedToolOutput"),
    updatedMcpOutput: specific("updatedMCPToolOutput"),
    terminalSequence: sequences.length === 0 ? undefined : sequences.join(""),
    retry: ordered.some(({ output }) => output.specific.retry === true) || undefined,
    action: specific("action"),
    content: specific("content"),
    displayContent: specific("displayContent"),
    worktreePath: specific("worktreePath") ?? (spec.stdout === "path" ? first(({ text }) => text) : undefined),
    initialUserMessage: specific("initialUserMessage"),
    sessionTitle: specific("sessionTitle"),
    suppressOriginalPrompt:
      ordered.some(
        ({ output }) => output.suppressOriginalPrompt === true || output.specific.suppressOriginalPrompt === true,
      ) || undefined,
    watchPaths: watchPaths.length === 0 ? undefined : [...new Set(watchPaths.flat())],
    reloadSkills: ordered.some(({ output }) => output.specific.reloadSkills === true) || undefined,
  }
  return {
    ran: replies.length,
    context: defers ? [] : ordered.flatMap((reply) => contextOf(event, reply)),
    messages: ordered.flatMap((reply) => messagesOf(event, reply)),
    ...given(plain),
    ...(permission !== undefined && { permission }),
    ...(request !== undefined && { request }),
    ...(classifierContext !== undefined && { classifierContext }),
    ...(blocking !== undefined && { block: { reason: blockOf(event, blocking) ?? "", by: blocking.name } }),
    ...(stopping !== undefined && { stop: { reason: stopOf(stopping) ?? "", by: stopping.name } }),
  }
}

/** Without what nobody said. */
const given = <A extends object>(values: A): { [K in keyof A]?: NonNullable<A[K]> } => {
  const said: { [K in keyof A]?: NonNullable<A[K]> } = {}
  for (const key in values) {
    const value = values[key]
    if (value !== undefined && value !== null) said[key] = value
  }
  return said
}

const blockOf = (event: HookEventName, reply: Reply): string | undefined => {
  if (reply.blocked !== undefined) return reply.blocked
  if (reply.told !== undefined) return reply.told
  if (event === "PreToolUse") return undefined
  const { block } = specOf(event)
  const { decision, reason, specific } = reply.output
  if (block !== undefined && decision === "block") return reason ?? `The hook ${reply.name} blocks it.`
  if (event === "PreModelSwitch" && (specific.permissionDecision === "deny" || specific.permissionDecision === "ask")) {
    return specific.permissionDecisionReason ?? `The hook ${reply.name} blocks it.`
  }
  return undefined
}

const stopOf = ({ name, output, stopped }: Reply): string | undefined => {
  if (output.continue === false) return output.stopReason ?? `The hook ${name} ends the work.`
  const { decision } = output.specific
  if (decision?.behavior === "deny" && decision.interrupt === true) {
    return decision.message ?? `The hook ${name} ends the work.`
  }
  return stopped
}

/** Exit code 2 counts as a denial, and so does the old spelling. */
const permissionOf = (event: HookEventName, replies: ReadonlyArray<Reply>): Permission | undefined => {
  if (event !== "PreToolUse") return undefined
  const said = replies.flatMap((reply): ReadonlyArray<Permission> => {
    const { decision, reason, specific } = reply.output
    const source = labels[reply.handler.origin.scope]
    if (reply.blocked !== undefined) return [{ behavior: "deny", reason: reply.blocked, source }]
    const behavior =
      specific.permissionDecision ?? (decision === undefined ? undefined : decision === "block" ? "deny" : "allow")
    if (behavior === undefined) return []
    const why = specific.permissionDecisionReason ?? reason
    return [{ behavior, source, ...(why !== undefined && { reason: why }) }]
  })
  for (const behavior of strictness) {
    const found = said.find((one) => one.behavior === behavior)
    if (found !== undefined) return found
  }
  return undefined
}

const labels: Readonly<Record<Reply["handler"]["origin"]["scope"], string>> = {
  managed: "Managed",
  embedder: "Session",
  flags: "Session",
  user: "User",
  project: "Project",
  local: "Local",
  plugin: "Plugin",
  agent: "Agent",
  skill: "Skill",
}

/** A denial of one outweighs what others allow. */
const requestOf = (replies: ReadonlyArray<Reply>): Verdict["request"] => {
  const said = replies.flatMap(({ output }) =>
    output.specific.decision === undefined ? [] : [output.specific.decision],
  )
  return said.find(({ behavior }) => behavior === "deny") ?? said[0]
}

const contextOf = (event: HookEventName, { name, output, text }: Reply): ReadonlyArray<string> => {
  const spec = specOf(event)
  const { additionalContext } = output.specific
  return [
    ...(spec.stdout === "context" && text !== undefined ? [`${name} hook success: ${text}`] : []),
    ...(additionalContext === undefined || additionalContext === ""
      ? []
      : [`${name} hook additional context: ${additionalContext}`]),
    ...(spec.systemMessage === "model" && output.systemMessage !== undefined
      ? [`${name} hook: ${output.systemMessage}`]
      : []),
  ]
}

const messagesOf = (event: HookEventName, { name, output, shown }: Reply): ReadonlyArray<string> => [
  ...(specOf(event).systemMessage === "person" && output.systemMessage !== undefined
    ? [`${name} says: ${output.systemMessage}`]
    : []),
  ...(shown === undefined ? [] : [`${name} hook error: ${shown}`]),
]

/** A note about an output that another hook replaces is about nothing. */
const classifierOf = (replies: ReadonlyArray<Reply>): Verdict["classifierContext"] => {
  const rewriter = replies.find(({ output }) => output.specific.updatedToolOutput !== undefined)
  const notes = replies.filter(
    ({ output: { specific } }, index) =>
      specific.classifierContext !== undefined &&
      (specific.updatedToolOutput === undefined || replies[index] === rewriter),
  )
  if (notes.length === 0) return undefined
  const text = notes
    .map(({ output }) => output.specific.classifierContext)
    .join("\n")
    .slice(0, mostForClassifier)
  return { text, verified: notes.every(({ handler }) => handler.action.type === "function") }
}
