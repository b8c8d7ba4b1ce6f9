/** Owns what the prompt says and does about the session itself: its title and tags, a copy of it as a document, what was said before. */
import * as Effect from "effect/Effect"
import type { Agent } from "../agents/Agent.ts"
import { plainText, toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { isReminder } from "../protocol/Reminder.ts"
import { oneLine, plain } from "./Plain.ts"
import { visible } from "./Reveal.ts"
import { count, describe, type Tone, truncate, type ViewLine } from "./ToolView.ts"

export type Name = "/rename" | "/tag" | "/export"

/** Writes the session to a file, named by itself unless told; answers its path. */
export type Save = (
  sessionId: string,
  output: string | undefined,
) => Effect.Effect<string, { readonly message: string }>

const line = (tone: Tone, text: string): ViewLine => ({ tone, text: visible(text) })

export const command = Effect.fnUntraced(function* (
  name: Name,
  argument: string,
  agent: Agent,
  save: Save | undefined,
) {
  const said = (tone: Tone, text: string): ReadonlyArray<ViewLine> => [line(tone, text)]
  switch (name) {
    case "/rename": {
      if (argument !== "") yield* agent.rename(argument)
      const { title } = agent.about()
      return said("quiet", title === undefined ? "It has no title: /rename <title>" : `title: ${title}`)
    }
    case "/tag": {
      if (argument !== "") yield* agent.tag(argument.split(/[\s,]+/))
      const { tags } = agent.about()
      return said("quiet", tags.length === 0 ? "It has no tags: /tag <tag>" : tags.map((tag) => `#${tag}`).join(" "))
    }
    case "/export": {
      if (save === undefined) return said("bad", "It cannot be exported from here.")
      const saved = yield* Effect.result(save(agent.sessionId, argument === "" ? undefined : argument))
      return saved._tag === "Success"
        ? said("quiet", `written to ${saved.success}`)
        : said("bad", saved.failure.message)
    }
  }
})

const most = { exchanges: 3, lines: 8, prompt: 4 }

/** The last exchanges of a session that goes on, as they looked; nothing of one that begins. */
export const earlier = (messages: ReadonlyArray<Message>, cwd: string): ReadonlyArray<ViewLine> => {
  const prompts = messages.flatMap((message, at) => (saidBy(message) === "" ? [] : [at]))
  const [from] = prompts.slice(-most.exchanges)
  if (from === undefined) return []
  const before = prompts.length - Math.min(prompts.length, most.exchanges)
  const head = before === 0 ? "Earlier:" : `Earlier (${count(before, "prompt")} more before):`
  return [line("quiet", head), ...messages.slice(from).flatMap((message) => linesOf(message, cwd)), line("quiet", "")]
}

/** What a person said in it. */
const saidBy = ({ content, role }: Message): string =>
  role === "user"
    ? plainText(toBlocks(content).filter((block) => block.type !== "text" || !isReminder(block.text))).trim()
    : ""

const linesOf = (message: Message, cwd: string): ReadonlyArray<ViewLine> => {
  const said = saidBy(message)
  if (said !== "") return cut(said, most.prompt).map((text, at) => line("normal", `${at === 0 ? "› " : "  "}${text}`))
  if (message.role === "user") return []
  return toBlocks(message.content).flatMap((block): ReadonlyArray<ViewLine> => {
    if (block.type === "text") return cut(block.text, most.lines).map((text) => line("quiet", text))
    if (block.type === "tool_use") return [line("quiet", `● ${truncate(describe(block.name, block.input, cwd), 120)}`)]
    return []
  })
}

const cut = (text: string, lines: number): ReadonlyArray<string> => {
  const all = plain(text).trim().split("\n")
  return all.length <= lines ? all : [...all.slice(0, lines), `… ${count(all.length - lines, "more line")}`]
}

/** A title for the line that says how to go on. */
export const named = (agent: Agent): string => {
  const { title } = agent.about()
  return title === undefined ? "" : ` (${oneLine(visible(title, true))})`
}
