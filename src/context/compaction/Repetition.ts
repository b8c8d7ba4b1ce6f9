/**
 * Owns noticing that the model does again what it has done already: reads again what has not changed, tries again what has failed. It
 * says so, once for each, and says when enough is enough.
 */
import { plainText, toBlocks, type ToolResultContent } from "../../protocol/Content.ts"
import type { Message } from "../../protocol/Message.ts"

/** A call and what came of it. */
export interface Done {
  readonly tool: string
  readonly input: unknown
  readonly content: ToolResultContent
  readonly isError: boolean
}

export interface Repetition {
  /** What a round came to. Answers what the model should hear about it, and whether it only goes round in circles. */
  readonly after: (round: ReadonlyArray<Done>) => { readonly hint: string | undefined; readonly circles: boolean }
}

interface Known {
  readonly answer: string
  times: number
  /** The conversation has been put shorter since. */
  before: boolean
  hinted: boolean
}

/** So many rounds in which everything failed as it had failed before. */
export const mostInARow = 8
const hintAfter = 3
const mostKnown = 5_000

export const make = (messages: ReadonlyArray<Message>, isShortened: () => number): Repetition => {
  const known = new Map<string, Known>()
  let shortenings = isShortened()
  let inARow = 0

  const note = ({ content, input, tool }: Omit<Done, "isError">): Known => {
    const key = `${tool} ${JSON.stringify(input)}`
    const answer = digest(content)
    const before = known.get(key)
    const now = before?.answer === answer ? before : { answer, times: 0, before: false, hinted: false }
    now.times++
    known.delete(key)
    known.set(key, now)
    if (known.size > mostKnown) known.delete(known.keys().next().value ?? key)
    return now
  }

  for (const done of past(messages)) note(done)

  return {
    after: (round) => {
      if (isShortened() !== shortenings) {
        shortenings = isShortened()
        for (const one of known.values()) one.before = true
      }
      const said: Array<string> = []
      let isNew = round.length === 0
      for (const done of round) {
        const one = note(done)
        // Looking at the same thing again may be waiting; only what fails again and again leads nowhere.
        if (one.times === 1 || !done.isError) isNew = true
        if (one.times < 2 || one.hinted) continue
        if (!one.before && (!done.isError || one.times < hintAfter)) continue
        one.hinted = true
        said.push(
          `${done.tool} ${brief(done.input)}: ${done.isError ? "it fails in the same way" : "the answer is the same as before"}`,
        )
      }
      inARow = isNew ? 0 : inARow + 1
      const hint =
        said.length === 0
          ? undefined
          : `You have done this before${[...known.values()].some(({ before }) => before) ? ", earlier in this conversation" : ""}:\n${said.map((one) => `- ${one}`).join("\n")}\nUse what you know already, or try something else.`
      return { hint, circles: inARow >= mostInARow }
    },
  }
}

const past = (messages: ReadonlyArray<Message>): ReadonlyArray<Omit<Done, "isError">> => {
  const calls = new Map<string, { readonly tool: string; readonly input: unknown }>()
  const found: Array<Omit<Done, "isError">> = []
  for (const { content } of messages) {
    for (const block of toBlocks(content)) {
      if (block.type === "tool_use") calls.set(block.id, { tool: block.name, input: block.input })
      const call = block.type === "tool_result" ? calls.get(block.tool_use_id) : undefined
      if (call !== undefined && block.type === "tool_result") found.push({ ...call, content: block.content ?? "" })
    }
  }
  return found
}

/** Times and durations differ from run to run, and say nothing. */
const digest = (content: ToolResultContent): string => {
  const text = (typeof content === "string" ? content : plainText(content)).replace(
    /\d+(?:\.\d+)?\s?m?s\b|\d\d:\d\d:\d\d/g,
    "",
  )
  return text.length <= 400 ? text : `${text.length} ${text.slice(0, 200)} ${text.slice(-200)}`
}

const brief = (input: unknown): string => {
  const text = JSON.stringify(input) ?? ""
  return text.length <= 160 ? text : `${text.slice(0, 160)}…`
}
