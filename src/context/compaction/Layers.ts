/**
 * Owns the ways of making room that need no model, in the order of what they cost: large results to a file, what was of use only once,
 * other results by how long nobody came back to them, stretches of work told in a few lines. Pure: what is to be written and recorded
 * comes out as a plan. Lines that must survive as they are stay, or are named with the file that has them.
 */
import type { CompactionLayer } from "../../protocol/Compaction.ts"
import { type ContentBlock, plainText, text, toBlocks, type ToolResultBlock } from "../../protocol/Content.ts"
import type { EventOf } from "../../protocol/Event.ts"
import type { Message } from "../../protocol/Message.ts"
import * as HistoryEdits from "../../session/HistoryEdits.ts"
import * as Items from "./Items.ts"
import * as Triage from "./Triage.ts"

export interface Situation {
  readonly messages: ReadonlyArray<Message>
  /** What the next request takes, as far as anybody can tell. */
  readonly tokens: number
  /** How much it may take when room has been made. */
  readonly target: number
  /** From this place on nothing is touched, but for results that are too large by themselves. */
  readonly untouchedFrom: number
  /** Nothing that one call answered may take more. */
  readonly largestResult: number
  /** Pictures and documents go first: the service did not take them. */
  readonly withoutMedia?: boolean
  /** Where a text is kept that leaves the conversation. */
  readonly fileOf: (text: string) => string
}

/** A text that is written to a file before the conversation refers to it. */
export interface Archived {
  readonly path: string
  readonly text: string
}

export interface Step {
  readonly layer: CompactionLayer
  readonly results: EventOf<"Compacted">["results"]
  readonly spans: EventOf<"Compacted">["spans"]
  readonly archived: ReadonlyArray<Archived>
  /** What a request takes before and after it. */
  readonly before: number
  readonly after: number
  readonly messages: ReadonlyArray<Message>
}

type Layer = (situation: Situation) => Pick<Step, "layer" | "results" | "spans" | "archived">

/** The steps until there is room enough, or all of them. A layer that frees nothing is left out. */
export const plan = (situation: Situation): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  let { messages, tokens, untouchedFrom } = situation
  const layers = [largeResults, snip, microcompact, collapse]
  for (const layer of situation.withoutMedia === true ? [media, ...layers] : layers) {
    if (tokens <= situation.target) break
    const { archived, results, spans, ...step } = layer({ ...situation, messages, tokens, untouchedFrom })
    const edited = HistoryEdits.apply(messages, { results, spans }).messages
    const after = tokens - sizeOf(messages) + sizeOf(edited)
    if (after >= tokens) continue
    steps.push({ ...step, archived, results, spans, before: tokens, after, messages: edited })
    untouchedFrom -= messages.length - edited.length
    messages = edited
    tokens = after
  }
  return steps
}

export const sizeOf = (messages: ReadonlyArray<Message>): number =>
  messages.reduce((sum, message) => sum + Items.tokensOfMessage(message), 0)

const mark = "[Put shorter to make room"

/** A result that has been put shorter already. */
export const isShort = (said: string): boolean => said.startsWith(mark)

interface Answer {
  readonly block: ToolResultBlock
  readonly item: Items.ContextItem
}

/** What calls have answered, with what is known about each. */
const answersOf = (messages: ReadonlyArray<Message>): ReadonlyArray<Answer> => {
  const blocks = new Map<string, ToolResultBlock>()
  for (const { content } of messages) {
    for (const block of toBlocks(content)) if (block.type === "tool_result") blocks.set(block.tool_use_id, block)
  }
  return Items.of(messages).flatMap((item) => {
    const block = item.source === "tool_result" ? blocks.get(item.id) : undefined
    return block === undefined ? [] : [{ block, item }]
  })
}

/** A result above the limit goes to a file; its beginning, its end and what must survive stay. */
const largeResults: Layer = ({ fileOf, largestResult, messages }) => {
  const large = answersOf(messages).filter(({ item }) => item.tokenCount > largestResult && !isShort(item.content))
  return { layer: "results", spans: [], ...shortened(large, fileOf, { ends: 20 }) }
}

const isMedia = ({ type }: { readonly type: string }): boolean => type === "image" || type === "document"
const mediaNote = "[A picture or a document stood here. The service did not accept it.]"

/** Pictures and documents, whoever sent them. */
const media: Layer = ({ messages }) => {
  const results: Record<string, string> = {}
  const spans: Array<Step["spans"][number]> = []
  for (const [at, { content, role }] of messages.entries()) {
    const blocks = toBlocks(content)
    for (const block of blocks) {
      if (block.type !== "tool_result" || !Array.isArray(block.content) || !block.content.some(isMedia)) continue
      results[block.tool_use_id] = [plainText(block.content), mediaNote].filter((part) => part !== "").join("\n")
    }
    if (role === "user" && blocks.some(isMedia) && HistoryEdits.isWhole([{ role, content }])) {
      spans.push({ from: at, to: at + 1, content: [...blocks.filter((block) => !isMedia(block)), text(mediaNote)] })
    }
  }
  return { layer: "results", results, spans, archived: [] }
}

/** What was of use only once. */
const snip: Layer = ({ messages, untouchedFrom }) => {
  const results: Record<string, string> = {}
  for (const { item } of answersOf(messages)) {
    if (item.category !== "EPHEMERAL" || item.message >= untouchedFrom || item.tokenCount < 60) continue
    results[item.id] =
      `[Left out: what ${item.tool ?? "the tool"} answered here was of use only then. Call it again if it is needed.]`
  }
  return { layer: "snip", results, spans: [], archived: [] }
}

/** Results, those first that nobody has come back to for the longest time, until there is room enough. */
const microcompact: Layer = ({ fileOf, messages, target, tokens, untouchedFrom }) => {
  const answers = answersOf(messages)
  const now = messages.filter(({ role }) => role === "assistant").length
  const candidates = answers
    .filter(({ item }) => item.message < untouchedFrom && item.tokenCount > 200 && !isShort(item.content))
    .toSorted((a, b) => Items.staleness(b.item, now) - Items.staleness(a.item, now))
  let over = tokens - target
  const chosen: Array<Answer> = []
  for (const answer of candidates) {
    if (over <= 0) break
    chosen.push(answer)
    over -= answer.item.tokenCount * 0.8
  }
  return { layer: "microcompact", spans: [], ...shortened(chosen, fileOf, { ends: 0 }) }
}

const shortened = (
  answers: ReadonlyArray<Answer>,
  fileOf: Situation["fileOf"],
  { ends }: { readonly ends: number },
) => {
  const results: Record<string, string> = {}
  const archived: Array<Archived> = []
  for (const { item } of answers) {
    const path = fileOf(item.content)
    const short = shorter(item, path, ends)
    if (short.length >= item.content.length && item.content !== "") continue
    results[item.id] = short
    if (item.content !== "") archived.push({ path, text: item.content })
  }
  return { results, archived }
}

const shorter = (item: Items.ContextItem, path: string, ends: number): string => {
  const { content } = item
  if (content === "") return `${mark}: a picture or a document stood here.]`
  const lines = content.split("\n")
  const kept = Triage.units(item.said).map(({ text }) => text)
  const around = ends === 0 ? [] : [lines.slice(0, ends).join("\n"), "[…]", lines.slice(-ends).join("\n")]
  return [`${mark}. All ${lines.length} lines: ${path}]`, ...around, keptPart(kept)]
    .filter((part) => part !== "")
    .join("\n")
}

/** Stretches of work without a word of a person, told in a few lines. */
const collapse: Layer = ({ messages, untouchedFrom }) => {
  const spans = stretches(messages.slice(0, untouchedFrom)).map(({ from, to }) => ({
    from,
    to,
    content: told(messages.slice(from, to)),
  }))
  return { layer: "collapse", results: {}, spans, archived: [] }
}

/** How many replies in a row are worth it. */
const fewest = 2

const stretches = (messages: ReadonlyArray<Message>): ReadonlyArray<{ readonly from: number; readonly to: number }> => {
  const found: Array<{ readonly from: number; to: number }> = []
  for (let at = 0; at + 1 < messages.length; at++) {
    if (!isStep(messages[at], messages[at + 1])) continue
    const last = found.at(-1)
    if (last?.to === at) last.to = at + 2
    else found.push({ from: at, to: at + 2 })
    at++
  }
  return found.filter(({ from, to }) => to - from >= 2 * fewest)
}

/** A reply with calls, and what they answered: nobody has said anything in between. */
const isStep = (reply: Message | undefined, answers: Message | undefined): boolean =>
  reply?.role === "assistant" &&
  answers?.role === "user" &&
  toBlocks(reply.content).some(({ type }) => type === "tool_use") &&
  toBlocks(answers.content).every(({ type }) => type === "tool_result")

const stretchMark = "[Put shorter: these steps of the work were taken here.]"
/** How what stands for a whole conversation begins. */
export const summaryMark = "[Put shorter: what follows stands for the conversation until here.]"
/** It stands for something that was said. */
export const isStandIn = (said: string): boolean => said.startsWith(stretchMark) || said.startsWith(summaryMark)

const longestSaid = 400

const told = (messages: ReadonlyArray<Message>): string => {
  const calls = Items.callsOf(messages)
  const lines: Array<string> = [stretchMark]
  const kept = new Set<string>()
  for (const message of messages) {
    if (message.role === "assistant") {
      const said = plainText(message.content).trim()
      if (said !== "") lines.push(`Said: ${said.slice(0, longestSaid)}${said.length > longestSaid ? "…" : ""}`)
    }
    for (const block of toBlocks(message.content)) {
      const call = block.type === "tool_result" ? calls.get(block.tool_use_id) : undefined
      if (block.type === "tool_result") lines.push(`${inBrief(call)}${block.is_error === true ? " (failed)" : ""}`)
      for (const unit of unitsIn(message, block, call)) kept.add(unit)
    }
  }
  return [...lines, keptPart([...kept])].filter((part) => part !== "").join("\n")
}

const inBrief = (call: Extract<ContentBlock, { type: "tool_use" }> | undefined): string => {
  if (call === undefined) return "A call"
  const input = JSON.stringify(call.input)
  return `Called ${call.name} ${input.length > 300 ? `${input.slice(0, 300)}…` : input}`
}

/** What must survive of a block; of what stands for something else, everything that survived there. */
export const unitsIn = (
  message: Message,
  block: ContentBlock,
  call: Extract<ContentBlock, { type: "tool_use" }> | undefined,
): ReadonlyArray<string> => {
  const said = Items.textOf(block)
  if (block.type === "thinking" || said === "") return []
  if (isShort(said) || isStandIn(said)) return keptIn(said)
  return Triage.units({ ...Items.aboutBlock(message, block, call), content: said }).map(({ text }) => text)
}

const keptTitle = "## Kept word for word"

/** The last part of whatever stands for something else: lines as they were, a blank one between those that were apart. */
export const keptPart = (units: ReadonlyArray<string>): string =>
  units.length === 0 ? "" : `${keptTitle}\n${units.join("\n\n")}`

const keptIn = (said: string): ReadonlyArray<string> => {
  const at = said.lastIndexOf(`\n${keptTitle}\n`)
  return at === -1 ? [] : said.slice(at + keptTitle.length + 2).split("\n\n")
}
