/** What the tests with the real client share: a query in a world of its own, and views of what it said. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type World, world } from "../e2e/world.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { command, load, type Message, type Options, type Query } from "./client.ts"

const sdk = await load()

/** A query of a client in a world of its own. */
export const start = (made: World, prompt: string | AsyncIterable<object>, options: Options = {}): Query =>
  sdk.query({
    prompt,
    options: { pathToClaudeCodeExecutable: command, cwd: made.work, env: made.env, settingSources: [], ...options },
  })

export const gather = async (query: AsyncIterable<Message>, see: (message: Message) => unknown = () => {}) => {
  const all: Array<Message> = []
  for await (const message of query) {
    all.push(message)
    await see(message)
  }
  return all
}

export const resultOf = (messages: ReadonlyArray<Message>): Message => {
  const found = messages.findLast(({ type }) => type === "result")
  assert(found !== undefined, JSON.stringify(messages))
  return found
}

export const hello: Playbook = { rules: [{ reply: "Hello there." }] }
export const bypass = { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true }

/** A test in a world with this model. */
export const scene = (name: string, book: Playbook, play: (made: World) => Promise<void>) =>
  it.live(name, () =>
    Effect.gen(function* () {
      const made = yield* world(book)
      yield* Effect.promise(() => play(made))
    }),
  )
