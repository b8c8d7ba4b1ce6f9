/**
 * Owns a history as lines of JSON and back: what it is beside its messages in the first, then a line for each message with what is known
 * of it. It goes by the fields a history has, whatever they are, so that none is forgotten when one is added; lines written by a version
 * with other fields are refused.
 */
import * as Schema from "effect/Schema"
import type { ContentBlock } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import * as History from "./History.ts"

type Fields = Record<string, unknown>

/** What is kept with the messages, or can be made again. */
const aside = new Set(["frozen", "said", "built", "authors", "promptOf", "rebased"])

const Head = Schema.Struct({
  fields: Schema.Array(Schema.String),
  values: Schema.Record(Schema.String, Schema.Unknown),
  /** Which values, or parts of one, are no plain JSON: `told`, `reply.calls`. */
  kinds: Schema.Record(Schema.String, Schema.Literals(["map", "set"])),
})

interface Line {
  readonly message: Message
  readonly author?: string
  readonly rebased?: true
  /** The prompts that blocks belong to, by their places. */
  readonly prompts?: Readonly<Record<string, string>>
  /** Not sent yet: blocks that people have said. */
  readonly waiting?: true
}
const isHead = Schema.is(Head)

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

const fieldsOf = (history: History.History): Fields => Object.fromEntries<unknown>(Object.entries(history))

export function* save(history: History.History): Generator<unknown> {
  const fields = fieldsOf(history)
  const kinds: Record<string, "map" | "set"> = {}
  const plain = (value: unknown, name: string): unknown => {
    if (!(value instanceof Map) && !(value instanceof Set)) return value
    kinds[name] = value instanceof Map ? "map" : "set"
    return [...value]
  }
  const values: Fields = {}
  for (const [name, value] of Object.entries(fields)) {
    if (aside.has(name)) continue
    values[name] = isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part, `${name}.${key}`)]))
      : plain(value, name)
  }
  yield { fields: Object.keys(fields), values, kinds } satisfies typeof Head.Type
  for (const message of messagesIn(fields["frozen"])) yield lineOf(history, message)
  const said = blocksIn(fields["said"])
  if (said.length > 0) yield { ...lineOf(history, { role: "user", content: said }), waiting: true }
}

const lineOf = (history: History.History, message: Message): Line => {
  const author = history.authorOf(message)
  const prompts: Record<string, string> = {}
  if (typeof message.content !== "string") {
    for (const [at, block] of message.content.entries()) {
      const promptId = history.promptOfBlock(block)
      if (promptId !== undefined) prompts[at] = promptId
    }
  }
  return {
    message,
    ...(author !== undefined && { author }),
    ...(history.isRebased(message) && { rebased: true }),
    ...(Object.keys(prompts).length > 0 && { prompts }),
  }
}

/** The history that was saved, unless the lines are of another version. They come from a file that has been found to be whole. */
export const restore = (lines: ReadonlyArray<unknown>): History.History | undefined => {
  const [head, ...rest] = lines
  const history = History.make()
  const fields = fieldsOf(history)
  if (!isHead(head) || head.fields.join() !== Object.keys(fields).join()) return undefined
  const revived = (value: unknown, name: string): unknown => {
    const kind = head.kinds[name]
    if (kind === undefined || !Array.isArray(value)) return value
    return kind === "set" ? new Set(value) : new Map(value.filter(isPair))
  }
  const frozen: Array<Message> = []
  let said: ReadonlyArray<ContentBlock> = []
  for (const line of rest) {
    if (!isLine(line)) return undefined
    const { message } = line
    note(fields["authors"], message, line.author)
    if (line.rebased === true && fields["rebased"] instanceof WeakSet) fields["rebased"].add(message)
    for (const at in line.prompts) {
      const block: unknown = message.content[Number(at)]
      if (typeof block === "object" && block !== null) note(fields["promptOf"], block, line.prompts[at])
    }
    if (line.waiting === true) said = typeof message.content === "string" ? [] : message.content
    else frozen.push(message)
  }
  const values: Fields = {}
  for (const [name, value] of Object.entries(head.values)) {
    values[name] = isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, revived(part, `${name}.${key}`)]))
      : revived(value, name)
  }
  Object.assign(history, values, { frozen, said: [...said] })
  return history
}

const note = (map: unknown, key: object, value: string | undefined): void => {
  if (map instanceof WeakMap && value !== undefined) map.set(key, value)
}

const isPair = (value: unknown): value is readonly [unknown, unknown] => Array.isArray(value) && value.length === 2

const roles = new Set<unknown>(["user", "assistant", "system"])

const isLine = (value: unknown): value is Line =>
  isObject(value) &&
  isMessage(value["message"]) &&
  (value["author"] === undefined || typeof value["author"] === "string") &&
  (value["prompts"] === undefined || isObject(value["prompts"]))

/** Not what is in the blocks: the file vouches for that, and there may be a great many. */
const isMessage = (value: unknown): value is Message =>
  isObject(value) &&
  roles.has(value["role"]) &&
  (typeof value["content"] === "string" || (Array.isArray(value["content"]) && value["content"].every(isBlock)))

const isBlock = (value: unknown): value is ContentBlock => isObject(value) && typeof value["type"] === "string"

const messagesIn = (value: unknown): ReadonlyArray<Message> => (Array.isArray(value) ? value.filter(isMessage) : [])
const blocksIn = (value: unknown): ReadonlyArray<ContentBlock> => (Array.isArray(value) ? value.filter(isBlock) : [])
