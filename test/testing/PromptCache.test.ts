import { assert, describe, it } from "@effect/vitest"
import type { Message } from "../../src/protocol/Message.ts"
import * as PromptCache from "../../src/testing/PromptCache.ts"
import { assistant, body, user } from "./conversation.ts"

const marked = (text: string, ttl?: "1h"): Message =>
  user([{ type: "text", text, cache_control: { type: "ephemeral", ...(ttl && { ttl }) } }])

/** Enough for every model. */
const long = (word: string) => `${word} `.repeat(6_000)
const minutes = 60_000

describe("PromptCache", () => {
  it("reads what the request before it wrote, though the breakpoint has moved on", () => {
    const cache = PromptCache.make("marks")
    const first = cache.read(body([marked(long("one"))]))
    assert.deepInclude(first, { cacheRead: 0, input: 0, cacheWrite: first.total })
    const second = cache.read(body([user(long("one")), assistant("two"), marked("three", "1h")]))
    assert.strictEqual(second.cacheRead, first.total)
    assert.strictEqual(second.cacheRead + second.cacheWrite, second.total)
    assert.strictEqual(second.cacheWriteHour, second.cacheWrite)
  })

  it("looks back twenty blocks from a breakpoint, and no further", () => {
    const after = (blocks: number) => {
      const cache = PromptCache.make("marks")
      const { total } = cache.read(body([marked(long("one"))]))
      const results = Array.from({ length: blocks - 1 }, (_, i) => ({ type: "text", text: `${i}` }) as const)
      return cache.read(body([user(long("one")), user(results), marked("end")])).cacheRead === total
    }
    assert.deepStrictEqual([after(19), after(20)], [true, false])
  })

  it("keeps for five minutes or an hour what nobody reads, and anew what somebody does", () => {
    const cache = PromptCache.make("marks")
    cache.read(body([marked(long("one"))]), 0)
    assert.isAbove(cache.read(body([marked(long("one"))]), 4 * minutes).cacheRead, 0)
    assert.isAbove(cache.read(body([marked(long("one"))]), 8 * minutes).cacheRead, 0)
    assert.strictEqual(cache.read(body([marked(long("one"))]), 14 * minutes).cacheRead, 0)
    cache.read(body([marked(long("two"), "1h")]), 0)
    assert.isAbove(cache.read(body([marked(long("two"), "1h")]), 59 * minutes).cacheRead, 0)
  })

  it("leaves nothing of a prompt that is too short for the model", () => {
    const cache = PromptCache.make("marks")
    assert.deepInclude(cache.read(body([marked("short")])), { cacheRead: 0, cacheWrite: 0 })
    assert.strictEqual(cache.read(body([marked("short")])).cacheRead, 0)
  })

  it("does not find messages by another way of thinking or of choosing tools, but what stands before them", () => {
    const cache = PromptCache.make("marks")
    const system = [{ type: "text", text: long("be kind"), cache_control: { type: "ephemeral" } }] as const
    const first = cache.read(body([marked(long("one"))], { system }))
    const other = cache.read(body([marked(long("one"))], { system, tool_choice: { type: "none" } }))
    assert.isAbove(other.cacheRead, 0)
    assert.isBelow(other.cacheRead, first.total / 2 + 10_000)
    assert.isAbove(other.cacheWrite, 0)
  })

  it("takes a message for the same, marked or not, as text or as a block", () => {
    const plain = user([{ type: "text", text: "one" }])
    for (const [before, after] of [
      [user("one"), marked("one")],
      [marked("one"), user("one")],
      [plain, marked("one")],
      [marked("one"), plain],
    ] as const) {
      const cache = PromptCache.make("always")
      const { total } = cache.read(body([before]))
      assert.strictEqual(cache.read(body([after])).cacheRead, total)
    }
  })

  it("caches nothing without a breakpoint, and only up to it", () => {
    const cache = PromptCache.make("marks")
    const plain = body([user(long("one")), assistant("two"), user("three")])
    assert.deepInclude(cache.read(plain), { cacheRead: 0, cacheWrite: 0 })
    assert.deepInclude(cache.read(plain), { cacheRead: 0, cacheWrite: 0 })
    const half = cache.read(body([marked(long("one")), assistant("two"), user("three")]))
    assert.isTrue(half.cacheWrite > 0 && half.input > 0)
    assert.strictEqual(cache.read(body([marked(long("one")), assistant("other")])).cacheRead, half.cacheWrite)
  })

  it("reads nothing after a change in what comes first", () => {
    const cache = PromptCache.make("always")
    cache.read(body([user("one")], { system: "a" }))
    assert.strictEqual(cache.read(body([user("one")], { system: "b" })).cacheRead, 0)
    assert.strictEqual(cache.read(body([user("one")], { system: "a", model: "another" })).cacheRead, 0)
    assert.isTrue(cache.read(body([user("one"), assistant("two")], { system: "a" })).cacheRead > 0)
  })

  it("counts without using the cache", () => {
    const cache = PromptCache.make("always")
    const count = cache.count(body([user("one")]))
    assert.deepInclude(cache.read(body([user("one")])), { cacheRead: 0, cacheWrite: count })
  })

  it("does not take the bytes of an image for words", () => {
    const image = { type: "image", source: { type: "base64", data: "A".repeat(400_000) } } as const
    assert.isBelow(PromptCache.make("always").count(body([user([image])])), 2000)
  })
})
