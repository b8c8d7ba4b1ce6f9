/**
 * Owns what a person sees of a session: text as it streams, tool calls with what came of them, the cost at the end.
 *
 * A renderer from events to bytes. It writes nothing itself and knows no clock: `tick` is called while somebody waits.
 * On a terminal the last line is a status that is wiped before anything else is written; elsewhere no control code is used.
 */
import pc from "picocolors"
import type { Event, EventOf } from "../protocol/Event.ts"
import * as Terminal from "../protocol/Terminal.ts"
import * as Usage from "../protocol/Usage.ts"
import { filter, oneLine, plain, type Filter } from "./Plain.ts"
import { describe, outcome, truncate, type Tone, type ViewLine } from "./ToolView.ts"

export interface Look {
  readonly color: boolean
  /** A terminal: the status line may be redrawn. */
  readonly live: boolean
  readonly columns: () => number
  readonly cwd: string
  /** Also what is normally not worth a line: requests, transitions. */
  readonly verbose?: boolean
  /** Not what the model says: it is printed elsewhere. */
  readonly mute?: boolean
}

export interface Screen {
  /** What to write for this event. */
  readonly show: (event: Event) => string
  /** The next picture of the status line; empty where there is none. */
  readonly tick: () => string
  /** What is being waited for besides the events; `undefined` when it is there. */
  readonly wait: (text: string | undefined) => void
  /** Some lines between the events: an answer, a diff, a notice. */
  readonly lines: (lines: ReadonlyArray<ViewLine>) => string
  /** Lines that are safe to print as they are, in the place of so many lines right above the cursor. */
  readonly footer: (lines: ReadonlyArray<string>, over: number) => string
  /** Leaves the cursor on an empty line without status; whoever asks the person something calls this first. */
  readonly settle: () => string
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
/** How long a line may be that goes to a file or a pipe. */
const fileColumns = 200
const wipe = "\r\u001b[2K"

interface Running {
  readonly label: string
  /** What an agent that it sent out is doing. */
  readonly step?: string
  readonly input: unknown
}

export const make = (look: Look): Screen => {
  const paint = painter(look.color)
  const highlight = pc.createColors(look.color).inverse
  const running = new Map<string, Running>()
  const inputs = new Map<string, unknown>()
  let frame = 0
  let statusShown = false
  let waiting: string | undefined
  let midLine = false
  /** The blocks whose text was already shown piece by piece. */
  let streamed = new Set<string>()
  let clean: Filter = filter()
  let unpriced = false
  /** Why the last attempt came to nothing. */
  let lost: string | undefined

  const settle = (): string => {
    const before = (statusShown ? wipe : "") + (midLine ? "\n" : "")
    statusShown = false
    midLine = false
    return before
  }

  /** What others wrote is cut to a line; what we have to say is said in full. */
  const put = (tone: Tone, text: string, indent = ""): string => {
    const width = look.live ? Math.max(20, look.columns()) : fileColumns
    return `${indent}${paint(tone, truncate(text, width - indent.length))}\n`
  }

  const marked = ({ tone, text, marks = [] }: ViewLine): string => {
    let at = 0
    const parts = marks.map(({ from, to }) => {
      const before = paint(tone, text.slice(at, from))
      at = to
      return before + highlight(text.slice(from, to))
    })
    return parts.join("") + paint(tone, marks.length === 0 ? plain(text) : text.slice(at))
  }

  const lines = (all: ReadonlyArray<ViewLine>): string => settle() + all.map((line) => `${marked(line)}\n`).join("")

  const notice = (tone: Tone, text: string): string => lines([{ tone, text: oneLine(text) }])

  const write = (text: string): string => {
    if (text === "") return ""
    const before = statusShown ? wipe : ""
    statusShown = false
    midLine = !text.endsWith("\n")
    return before + text
  }

  const chunk = ({ event, requestId }: EventOf<"StreamChunk">): string => {
    switch (event.type) {
      case "content_block_start":
        clean = filter()
        return ""
      case "content_block_delta":
        if (event.delta.type === "thinking_delta") waiting = "thinking"
        if (event.delta.type === "input_json_delta") waiting = "preparing a call"
        if (event.delta.type !== "text_delta" || look.mute) return ""
        streamed.add(`${requestId}/${event.index}`)
        return write(clean.push(event.delta.text))
      default:
        return ""
    }
  }

  const block = (event: EventOf<"BlockReceived">): string => {
    waiting = "thinking"
    if (event.block.type === "tool_use") inputs.set(event.block.id, event.block.input)
    if (event.block.type !== "text" || look.mute) return ""
    if (streamed.has(`${event.requestId}/${event.index}`)) return midLine ? settle() : ""
    const text = plain(event.block.text)
    return text === "" ? "" : write(text) + settle()
  }

  const toolEnded = (event: EventOf<"ToolEnded">): string => {
    const call = running.get(event.toolUseId)
    running.delete(event.toolUseId)
    const input = call?.input ?? inputs.get(event.toolUseId)
    const label = call?.label ?? describe(event.tool, input, look.cwd)
    const took = event.durationMs >= 1000 ? `  ${seconds(event.durationMs)}` : ""
    const good = event.outcome === "completed"
    const head = put(good ? "normal" : "bad", `${good ? "●" : "✗"} ${label}${took}`)
    return (
      settle() +
      head +
      outcome(event, input)
        .map((line) => put(line.tone, line.text, "  "))
        .join("")
    )
  }

  const turnEnded = (event: EventOf<"TurnEnded">): string => {
    waiting = undefined
    running.clear()
    inputs.clear()
    streamed = new Set()
    const cost = costLine(event, unpriced)
    unpriced = false
    if (!Terminal.isError(event.terminal)) return lines([{ tone: "quiet", text: cost }])
    const why = event.terminal.detail ?? Terminal.endings[event.terminal.reason].says
    const stopped = Terminal.exitCode(event.terminal) === 130
    return (
      lines([{ tone: stopped ? "warning" : "bad", text: `${stopped ? "■" : "✗"} ${oneLine(why)}` }]) +
      put("quiet", cost)
    )
  }

  const show = (event: Event): string => {
    switch (event._tag) {
      case "StreamChunk":
        return chunk(event)
      case "BlockReceived":
        return block(event)
      case "ToolStarted":
        running.set(event.toolUseId, { label: describe(event.tool, event.input, look.cwd), input: event.input })
        return ""
      case "ToolProgressed":
        return ""
      case "ToolEnded":
        return toolEnded(event)
      case "TurnEnded":
        return turnEnded(event)
      case "RequestSent":
        waiting = "thinking"
        return look.verbose ? notice("quiet", `→ ${event.model}, ${event.messages} messages`) : ""
      case "ReplyEnded":
        waiting = undefined
        if (event.costUsd === null) unpriced = true
        return ""
      case "RetryWaiting": {
        waiting = `waiting ${seconds(event.delayMs)} for the service`
        const attempt = `attempt ${event.attempt} of ${event.maxAttempts}`
        const why = (event.detail ?? lost ?? event.reason).replace(/\.$/, "")
        lost = undefined
        return notice("warning", `↻ ${why}. Trying again in ${seconds(event.delayMs)} (${attempt}).`)
      }
      case "ReplyAbandoned": {
        lost = event.reason
        const shown = [...streamed].some((block) => block.startsWith(`${event.requestId}/`))
        return shown ? notice("warning", `↻ The reply broke off and starts again: ${event.reason}`) : ""
      }
      case "TransitionTaken":
        return look.verbose ? notice("quiet", `→ ${event.transition} ${event.detail ?? ""}`) : ""
      case "Diagnosed":
        return notice(event.level === "error" ? "bad" : event.level === "warning" ? "warning" : "quiet", event.message)
      case "HookStarted":
        return look.verbose ? notice("quiet", event.statusMessage ?? `${event.name} hook: ${event.what}`) : ""
      case "HookRan": {
        // It has been checked: titles, notifications and the bell, nothing else.
        const sequence = look.live ? (event.terminalSequence ?? "") : ""
        const said = event.detail === undefined ? event.outcome : `${event.outcome}: ${event.detail}`
        return sequence + (look.verbose ? notice("quiet", `${event.name} hook: ${said}`) : "")
      }
      case "ConfigChanged":
        return look.verbose ? notice("quiet", `${event.file} changed: ${event.keys.join(", ")}`) : ""
      case "ControlsChanged":
        return look.verbose ? notice("quiet", `model ${event.model}, permissions ${event.permissionMode}`) : ""
      case "PromptRefused":
        return event.done === true ? "" : notice("warning", event.reason)
      case "Compacted": {
        waiting = undefined
        const tokens = `${inThousands(event.preTokens)} → ${inThousands(event.postTokens)} tokens`
        if (event.layer === "summary") return notice("quiet", `✂ The conversation was summed up: ${tokens}`)
        return look.verbose ? notice("quiet", `✂ ${event.layer}: ${tokens}`) : ""
      }
      case "Checkpointed":
        return ""
      case "CompactionStarted":
        waiting = "Summing up the conversation"
        return ""
      case "Rewound":
        return notice("quiet", "↶ The conversation goes on from an earlier point")
      case "SessionHandedOver":
        return notice("quiet", `⇢ The session goes on in ${event.to}`)
      case "RulesGranted":
        return ""
      case "SubagentShown": {
        const call = running.get(event.toolUseId)
        if (call === undefined || event.event._tag !== "ToolStarted") return ""
        const { tool, input } = event.event
        running.set(event.toolUseId, { ...call, step: describe(tool, input, look.cwd) })
        return ""
      }
      case "SessionStarted":
      case "SessionTitled":
      case "SessionTagged":
      case "PromptReceived":
      case "PromptExpanded":
      case "PromptLatched":
      case "SegmentKept":
      case "CacheMissed":
      case "ContextAdded":
      case "SubagentStarted":
      case "SubagentEnded":
      case "PermissionAsked":
      case "PermissionDecided":
      case "MessageImported":
      case "ContextMeasured":
        return ""
    }
  }

  const status = (): string | undefined => {
    if (running.size > 0) return [...running.values()].map(labelOf).join(" · ")
    return waiting
  }

  return {
    show,
    lines,
    settle,
    footer: (all, over) =>
      settle() + (over > 0 && look.live ? `\u001b[${over}A\u001b[J` : "") + all.map((line) => `${line}\n`).join(""),
    wait: (text) => {
      waiting = text
    },
    tick: () => {
      const text = status()
      if (!look.live || midLine || text === undefined) return ""
      frame = (frame + 1) % frames.length
      statusShown = true
      return `${wipe}${paint("quiet", truncate(`${frames[frame] ?? ""} ${text}`, look.columns() - 1))}`
    },
  }
}

const inThousands = (tokens: number): string => (tokens < 1_000 ? String(tokens) : `${(tokens / 1_000).toFixed(1)}k`)

const labelOf = ({ label, step }: Running): string => (step === undefined ? label : `${label} › ${step}`)

const painter = (color: boolean) => {
  const colors = pc.createColors(color)
  const tones: Readonly<Record<Tone, (text: string) => string>> = {
    normal: (text) => text,
    quiet: colors.dim,
    added: colors.green,
    removed: colors.red,
    bad: colors.red,
    warning: colors.yellow,
  }
  return (tone: Tone, text: string): string => tones[tone](text)
}

const seconds = (ms: number): string => (ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`)

const tokens = (n: number): string =>
  n < 1000 ? String(n) : n < 1e6 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(2)}M`

/** `2 turns · 3.1k tokens in (2.0k cached), 410 out · $0.0123 · 4.2 s` */
export const costLine = (
  event: Pick<EventOf<"TurnEnded">, "turns" | "usage" | "costUsd" | "durationMs">,
  unpriced: boolean,
): string => {
  const read = event.usage.cache_read_input_tokens
  const cached = read > 0 ? ` (${tokens(read)} cached)` : ""
  const known = `$${event.costUsd.toFixed(event.costUsd < 1 ? 4 : 2)}`
  const price = !unpriced ? known : event.costUsd > 0 ? `${known} + an unknown price` : "price unknown"
  return [
    `${event.turns} turn${event.turns === 1 ? "" : "s"}`,
    `${tokens(Usage.promptTokens(event.usage))} tokens in${cached}, ${tokens(event.usage.output_tokens)} out`,
    price,
    seconds(event.durationMs),
  ].join(" · ")
}
