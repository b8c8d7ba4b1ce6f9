/** Owns what the profile of a start hears from a session: when a request leaves, when its answer begins, when the model says something. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { HttpFetch } from "../platform/HttpFetch.ts"
import type { Event } from "../protocol/Event.ts"
import { isOn, mark } from "./Profile.ts"

export const platform = <A, E, R>(given: Layer.Layer<A | HttpFetch, E, R>): Layer.Layer<A | HttpFetch, E, R> => {
  if (!isOn) return given
  const noted = Layer.effect(
    HttpFetch,
    Effect.map(HttpFetch, (fetch) =>
      HttpFetch.of(async (input, init) => {
        mark("the request leaves")
        const answer = await fetch(input, init)
        mark("the answer begins")
        return answer
      }),
    ),
  )
  return Layer.provideMerge(noted, given)
}

export const events = <E, R>(stream: Stream.Stream<Event, E, R>): Stream.Stream<Event, E, R> =>
  isOn
    ? Stream.tap(stream, (event) =>
        Effect.sync(() => {
          if (event._tag === "StreamChunk" && event.event.type === "content_block_delta") mark("the first token")
          if (event._tag === "BlockReceived") mark("the first block")
        }),
      )
    : stream
