/** Owns the first place at which something is not what it was, in words. Pure. */
import { toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"

const around = 24
const shown = 72

/** Goes on behind "the layer": `differs from character 12: it was «…», it is «…».` */
export const between = (before: string, after: string): string => {
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  if (before === "") return `is new: ${excerpt(after, 0)}.`
  if (after === "") return `is gone: ${excerpt(before, 0)}.`
  return `differs from character ${at}: it was ${excerpt(before, at)}, it is ${excerpt(after, at)}.`
}

/** `undefined` where every message that both have is the same, and none is missing. */
export const ofMessages = (before: ReadonlyArray<Message>, after: ReadonlyArray<Message>): string | undefined => {
  const index = before.findIndex((message, i) => message !== after[i] && textOf(message) !== textOf(after[i]))
  const was = before[index]
  return was === undefined ? undefined : `Message ${index + 1} ${between(textOf(was), textOf(after[index]))}`
}

const textOf = (message: Message | undefined): string =>
  message === undefined ? "" : JSON.stringify({ role: message.role, content: toBlocks(message.content) })

const excerpt = (text: string, at: number): string =>
  at >= text.length ? "the end" : `«${text.slice(Math.max(0, at - around), at + shown).replace(/\s+/g, " ")}»`
