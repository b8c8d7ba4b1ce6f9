/**
 * Owns the summary of a conversation: what the model is asked, what is read out of its answer, and the message that stands for the
 * conversation afterwards. Facts, and lines that must survive, are put there by us: they do not depend on what a model finds worth telling.
 */
import type { NotedFacts } from "../../protocol/Compaction.ts"
import { plainText, toBlocks } from "../../protocol/Content.ts"
import type { Message } from "../../protocol/Message.ts"
import { unwrapped } from "../../protocol/Reminder.ts"
import * as Facts from "../../session/Facts.ts"
import * as Tokens from "../../platform/Tokens.ts"
import * as Items from "./Items.ts"
import * as Layers from "./Layers.ts"
import { minedFacts } from "./MinedFacts.ts"

/** The last message of the request for it; what comes before is the conversation as it is cached. */
export const request = (wishes: string | undefined): string =>
  `The conversation has become too long and goes on from a summary that you write now. Do not call any tool, and do not go on with the work.
Write for yourself: whoever reads it knows nothing else of what was said. Lines of output, errors, paths and the user's last request are kept beside it word for word, so do not copy them at length.${wishes === undefined ? "" : `\nThe user wants this of the summary: ${wishes}`}

Answer in exactly this form:
<summary>
What the user wants and why. What was done, file by file, and what was found out. What is under way at this moment, and the next step.
</summary>
<acceptance_criteria>
- one a line: what must be true for the work to be done
</acceptance_criteria>
<decisions>
- one a line: what was decided, and why
</decisions>
<failed_approaches>
- one a line: what was tried, and why it did not work
</failed_approaches>
<identifiers>
- one a line: a name, path, id or number that must not be forgotten, and what it is
</identifiers>`

export interface Written {
  readonly summary: string
  readonly noted: NotedFacts
}

/** What a model wrote; without the form that it was asked for, all of it is the summary. */
export const read = (text: string): Written | undefined => {
  const summary = (section(text, "summary") ?? text.replace(/<(\w+)>[^]*?<\/\1>/g, "")).trim()
  if (summary === "") return undefined
  return {
    summary,
    noted: {
      acceptanceCriteria: list(text, "acceptance_criteria"),
      decisions: list(text, "decisions"),
      failedApproaches: list(text, "failed_approaches"),
      identifiers: list(text, "identifiers"),
    },
  }
}

const section = (text: string, name: string): string | undefined => {
  const from = text.indexOf(`<${name}>`)
  if (from === -1) return undefined
  const to = text.indexOf(`</${name}>`, from)
  return text.slice(from + name.length + 2, to === -1 ? undefined : to)
}

const list = (text: string, name: string): ReadonlyArray<string> =>
  (section(text, name) ?? "")
    .split("\n")
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s*/, "").trim())
    .filter((line) => line !== "" && !/^\(?(?:none|nothing|n\/a)\)?\.?$/i.test(line))

/** What goes on beside the conversation. */
export interface Beside {
  /** Work in the background, a line each. */
  readonly tasks: ReadonlyArray<string>
  /** Skills in use, as far as they outlive a summary. */
  readonly skills: ReadonlyArray<{ readonly name: string; readonly content: string }>
}

export interface Material {
  /** What is replaced. */
  readonly messages: ReadonlyArray<Message>
  /** What people said in it, and nobody else. */
  readonly wordsOf: (message: Message) => ReadonlyArray<string>
  readonly written: Written
  readonly facts: Facts.Facts
  /** What the harness has told and still holds, by its origin. */
  readonly told: ReadonlyMap<string, string>
  readonly beside: Beside
  /** How many tokens of lines that must survive may stand in the message. */
  readonly room: number
  readonly fileOf: (text: string) => string
}

export interface StandIn {
  readonly content: string
  readonly archived: ReadonlyArray<Layers.Archived>
  /** The facts as they are from now on: what was noted, and what was found in people's own words. */
  readonly noted: NotedFacts
  /** Tokens of lines that must survive, and how many of them are only named. */
  readonly verbatim: { readonly tokens: number; readonly named: number }
}

/** What stands for the conversation from now on. */
export const compose = (material: Material): StandIn => {
  const { beside, fileOf, messages, told, written } = material
  const said = messages.flatMap(material.wordsOf)
  const mined = minedFacts(said)
  const noted = Facts.merged(Facts.merged(material.facts.noted, mined), written.noted)
  const kept = keep(messages, material.room, fileOf)
  const facts = { ...material.facts, noted }
  const parts = [
    Layers.summaryMark,
    part("Summary", [written.summary]),
    part("What was asked for before, the oldest first", earlierRequests(said, facts)),
    ...factParts(facts, beside),
    part(
      "Still in force",
      [...told].filter(([origin]) => holds(origin)).map(([, text]) => unwrapped(text)),
    ),
    named(messages, kept.named),
    Layers.keptPart(kept.inline),
  ]
  return {
    content: parts.filter((one) => one !== "").join("\n\n"),
    archived: kept.named,
    noted,
    verbatim: kept.verbatim,
  }
}

/** The facts as they stand in the message; each must be found there afterwards. */
export const factParts = (facts: Facts.Facts, beside: Beside): ReadonlyArray<string> => [
  part("What was asked for last, in the user's words", facts.lastRequest === null ? [] : [facts.lastRequest.text]),
  part("What must be true in the end", facts.noted.acceptanceCriteria.map(bullet)),
  part("Decided", facts.noted.decisions.map(bullet)),
  part("Tried in vain: do not try it again in the same way", [
    ...facts.noted.failedApproaches.map(bullet),
    ...facts.failures.map(({ call, why }) => `- ${call}: ${why}`),
  ]),
  part("Names to remember", facts.noted.identifiers.map(bullet)),
  part(
    "Skills in use",
    beside.skills.map(({ content, name }) => `### ${name}\n${content}`),
  ),
  part("At work in the background", [
    ...facts.running.map((one) => `- ${one.agentType} agent ${one.agentId}: ${one.description}`),
    ...beside.tasks,
  ]),
  part(
    "What agents came to",
    facts.finished.map((one) => `- ${one.agentType} agent ${one.agentId} (${one.description}):\n${one.result}`),
  ),
]

const moreLines = "More lines that were kept word for word: "

/** The files that have what is not said here, also those that an earlier message of this kind named. */
const named = (messages: ReadonlyArray<Message>, now: ReadonlyArray<Layers.Archived>): string => {
  const before = messages.flatMap(({ content }) => {
    const text = plainText(content)
    const line = Layers.isStandIn(text) ? text.split("\n").findLast((one) => one.startsWith(moreLines)) : undefined
    return line === undefined ? [] : line.slice(moreLines.length).split(", ")
  })
  const paths = [...new Set([...before, ...now.map(({ path }) => path)])]
  return paths.length === 0 ? "" : `${moreLines}${paths.join(", ")}`
}

const part = (title: string, lines: ReadonlyArray<string>): string =>
  lines.length === 0 ? "" : `## ${title}\n${lines.join("\n")}`

const bullet = (line: string): string => `- ${line}`

const mostRequests = 40
const longestRequest = 500

const earlierRequests = (said: ReadonlyArray<string>, facts: Facts.Facts): ReadonlyArray<string> =>
  said
    .filter((text) => text !== facts.lastRequest?.text)
    .slice(-mostRequests)
    .map((text) => `- ${text.slice(0, longestRequest)}${text.length > longestRequest ? "…" : ""}`)

/** What a hook said, and hints, were for their moment. */
const holds = (origin: string): boolean => !origin.startsWith("hook ") && origin !== "skill hint"

interface Kept {
  readonly inline: ReadonlyArray<string>
  readonly named: ReadonlyArray<Layers.Archived>
  readonly verbatim: StandIn["verbatim"]
}

/** What the newest messages say stays; where there is no room for all, the oldest is named. */
const keep = (messages: ReadonlyArray<Message>, room: number, fileOf: Material["fileOf"]): Kept => {
  const units = unitsOf(messages).map((text) => ({ text, tokens: Tokens.estimate(text) }))
  const total = units.reduce((sum, { tokens }) => sum + tokens, 0)
  let left = room
  let from = units.length
  while (from > 0 && left >= (units[from - 1]?.tokens ?? 0)) left -= units[--from]?.tokens ?? 0
  const archive = units
    .slice(0, from)
    .map(({ text }) => text)
    .join("\n\n")
  const named = from === 0 ? [] : [{ path: fileOf(archive), text: archive }]
  const inline = units.slice(from).map(({ text }) => text)
  return {
    inline,
    named,
    verbatim: { tokens: total, named: units.slice(0, from).reduce((sum, { tokens }) => sum + tokens, 0) },
  }
}

/** Every stretch of lines that must survive, each once. */
export const unitsOf = (messages: ReadonlyArray<Message>): ReadonlyArray<string> => {
  const calls = Items.callsOf(messages)
  const found = new Set<string>()
  for (const message of messages) {
    for (const block of toBlocks(message.content)) {
      const call = block.type === "tool_result" ? calls.get(block.tool_use_id) : undefined
      // The last time that it was said counts.
      for (const unit of Layers.unitsIn(message, block, call)) {
        found.delete(unit)
        found.add(unit)
      }
    }
  }
  return [...found]
}

/** What of the facts a conversation does not say. */
export const missing = (
  facts: Facts.Facts,
  beside: Beside,
  messages: ReadonlyArray<Message>,
): ReadonlyArray<string> => {
  const said = messages.map(({ content }) => plainText(content)).join("\n")
  return factParts(facts, beside).filter((one) => one !== "" && !one.split("\n").every((line) => said.includes(line)))
}
