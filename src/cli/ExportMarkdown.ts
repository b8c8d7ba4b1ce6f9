/** Owns a session as a Markdown document: prompts as quotations, replies as they are, calls folded away. */
import * as DateTime from "effect/DateTime"
import type * as Conversation from "../session/Conversation.ts"
import { describe } from "./ToolView.ts"

export interface Exported {
  readonly sessionId: string
  readonly title: string
  readonly tags: ReadonlyArray<string>
  readonly cwd: string | undefined
  readonly model: string | undefined
  readonly began: number | undefined
  readonly items: ReadonlyArray<Conversation.Item>
}

/** Control characters that no document may hold; line ends and tabs stay. */
export const printable = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, "")

export const stamp = (time: number | undefined): string =>
  time === undefined ? "" : DateTime.formatIso(DateTime.makeUnsafe(time)).slice(0, 16).replace("T", " ")

/** A fence that the text cannot close. */
const fenced = (text: string, language = ""): string => {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`
}

const quoted = (text: string): string =>
  text
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n")

/** What was said by others stands in the document's own markup: HTML in it would act. */
const inert = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")

export const inputText = (input: unknown): string => JSON.stringify(input, undefined, 2) ?? ""

export const attachmentsOf = (attachments: number): string =>
  attachments === 0 ? "" : `[${attachments} attachment${attachments === 1 ? "" : "s"}]`

const section = (item: Conversation.Item, cwd: string): string => {
  switch (item.kind) {
    case "prompt": {
      const text = [item.text, attachmentsOf(item.attachments)].filter((part) => part !== "").join("\n\n")
      return `## ${stamp(item.time) === "" ? "Prompt" : `Prompt · ${stamp(item.time)}`}\n\n${quoted(printable(text))}`
    }
    case "reply":
      return printable(item.text)
    case "thinking":
      return `<details><summary>Thinking</summary>\n\n${fenced(printable(item.text))}\n\n</details>`
    case "call": {
      const failed = item.outcome !== undefined && item.outcome !== "completed" ? ` (${item.outcome})` : ""
      const result = item.result === undefined ? "no result was recorded" : fenced(printable(item.result))
      const summary = `<summary><code>${inert(printable(describe(item.tool, item.input, cwd)))}</code>${failed}</summary>`
      return `<details>${summary}\n\n${fenced(printable(inputText(item.input)), "json")}\n\n${result}\n\n</details>`
    }
    case "note":
      return `*${printable(item.text).replace(/\*/g, "\\*")}*`
  }
}

export const markdown = (session: Exported): string => {
  const { began, cwd = "", items, model, sessionId, tags, title } = session
  const facts = [
    began === undefined ? undefined : `- Begun: ${stamp(began)} UTC`,
    cwd === "" ? undefined : `- Directory: \`${printable(cwd).replaceAll("`", "'")}\``,
    model === undefined ? undefined : `- Model: ${model}`,
    tags.length === 0 ? undefined : `- Tags: ${tags.join(", ")}`,
    `- Session: \`${sessionId}\``,
  ]
  const heading = `# ${printable(title)
    .replace(/\s+/g, " ")
    .replace(/([\\`*_[\]<>#])/g, "\\$1")}`
  const parts = items.map((item) => section(item, cwd))
  return `${[heading, facts.filter((fact) => fact !== undefined).join("\n"), ...parts].join("\n\n")}\n`
}
