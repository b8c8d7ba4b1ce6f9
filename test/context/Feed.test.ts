import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Feed from "../../src/context/Feed.ts"

const prompt: Feed.Moment = { kind: "prompt", text: "hi" }

describe("the feed", () => {
  it.effect("tells each origin once, and again when it says something else", () =>
    Effect.gen(function* () {
      const emitted: Array<string> = []
      let weather = "sun"
      const feed = Feed.make({ emit: ({ content }) => Effect.sync(() => void emitted.push(content)) })
      yield* feed.register(() => Effect.succeed([{ origin: "weather", content: weather }]))
      yield* feed.gather(prompt)
      yield* feed.gather(prompt)
      weather = "rain"
      yield* feed.gather(prompt)
      assert.deepStrictEqual(emitted, ["sun", "rain"])
    }).pipe(Effect.scoped),
  )

  it.effect("keeps the order of registration, and forgets a source with its scope", () =>
    Effect.gen(function* () {
      const feed = Feed.make({ emit: () => Effect.void })
      const say = (content: string) => () => Effect.succeed([{ origin: content, content }])
      const both = Effect.gen(function* () {
        yield* feed.register(() => Effect.delay(say("first")(), 0))
        yield* feed.register(say("second"))
        return yield* feed.gather(prompt)
      })
      const said = yield* Effect.scoped(both)
      assert.deepStrictEqual(
        said.map(({ content }) => content),
        ["first", "second"],
      )
      assert.deepStrictEqual(yield* feed.gather(prompt), [])
    }),
  )

  it.effect("does not repeat what the session was told in an earlier life", () =>
    Effect.gen(function* () {
      const told = [{ origin: "a", content: "same" }]
      const feed = Feed.make({ emit: () => Effect.void, told })
      yield* feed.register(() => Effect.succeed([...told, { origin: "empty", content: "" }]))
      assert.deepStrictEqual(yield* feed.gather({ kind: "round", touched: [] }), [])
    }).pipe(Effect.scoped),
  )

  it.effect("tells again what went with the conversation when that went back, and nothing else", () =>
    Effect.gen(function* () {
      const emitted: Array<string> = []
      const feed = Feed.make({ emit: ({ content }) => Effect.sync(() => void emitted.push(content)) })
      const news = [{ origin: "stays", content: "known" }]
      yield* feed.register(() => Effect.sync(() => news.splice(0)))
      yield* feed.gather(prompt)
      news.push({ origin: "goes", content: "forgotten" })
      yield* feed.gather(prompt)
      feed.wentBack([{ origin: "stays", content: "known" }])
      yield* feed.gather(prompt)
      yield* feed.gather(prompt)
      assert.deepStrictEqual(emitted, ["known", "forgotten", "forgotten"])
    }).pipe(Effect.scoped),
  )

  it.effect("takes as told only what could be emitted", () =>
    Effect.gen(function* () {
      let broken = true
      const feed = Feed.make({ emit: () => Effect.suspend(() => (broken ? Effect.fail("full") : Effect.void)) })
      yield* feed.register(() => Effect.succeed([{ origin: "a", content: "x" }]))
      assert.strictEqual(yield* Effect.flip(feed.gather(prompt)), "full")
      broken = false
      assert.lengthOf(yield* feed.gather(prompt), 1)
    }).pipe(Effect.scoped),
  )
})
