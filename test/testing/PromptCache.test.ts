import { assert, describe, it } from "@effect/vitest"
import type { Message } from "../../src/protocol/Message.ts"
import * as PromptCache from "../../src/testing/PromptCache.ts"
import { assistant, body, user } from "./conversation.ts"

const marked = (text: string, ttl?: "1h"): Message =>
  user([{ type: "text", text, cache_control: { type: "ephemeral", ...(ttl && { ttl }) } }])

describe("PromptCache", () => {
  it("reads what the request before it wrote, though the breakpoint has moved on", () => {
    const cache = PromptCache.make("marks")
    const first = cache.read(body([marked("one")]))
    assert.deepInclude(first, { cacheRead: 0, input: 0, cacheWrite: first.total })
    const second = cache.read(body([user("one"), assistant("two"), marked("three", "1h")]))
    assert.strictEqual(second.cacheRead, first.total)
    assert.strictEqual(second.cacheRead + second.cacheWrite, second.total)
    assert.strictEqual(second.ttl, "1h")
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
    const plain = body([user("one"), assistant("two"), user("three")])
    assert.deepInclude(cache.read(plain), { cacheRead: 0, cacheWrite: 0 })
    assert.deepInclude(cache.read(plain), { cacheRead: 0, cacheWrite: 0 })
    const half = cache.read(body([marked("one"), assistant("two"), user("three")]))
    assert.isTrue(half.cacheWrite > 0 && half.input > 0)
    assert.strictEqual(cache.read(body([marked("one"), assistant("other")])).cacheRead, half.cacheWrite)
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
