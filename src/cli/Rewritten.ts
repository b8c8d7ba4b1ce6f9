/**
 * Owns the model's text on its way to the screen where hooks may change it: whole lines are held until they have answered. Events before it
 * and after it are the same; only the text differs.
 */
import * as Effect from "effect/Effect"
import type { Front } from "../agents/Front.ts"
import * as Ids from "../kernel/Ids.ts"
import type { Event, EventOf } from "../protocol/Event.ts"

/** A text that is being said. */
interface Saying {
  readonly messageId: string
  index: number
  /** The line that is not complete yet. */
  rest: string
}

/** What to show for an event, one after another. */
export const make = (rewriter: Front["rewriter"]) => {
  const saying = new Map<string, Saying>()

  const begin = Effect.fnUntraced(function* (key: string) {
    const known = saying.get(key)
    if (known !== undefined) return known
    const made: Saying = { messageId: yield* Ids.uuid, index: 0, rest: "" }
    saying.set(key, made)
    return made
  })

  const streamed = Effect.fnUntraced(function* (
    { event, ...chunk }: EventOf<"StreamChunk">,
    rewrite: NonNullable<ReturnType<Front["rewriter"]>>,
  ) {
    if (event.type !== "content_block_delta" || event.delta.type !== "text_delta") return [{ ...chunk, event }]
    const text = yield* begin(`${chunk.requestId}/${event.index}`)
    const said = text.rest + event.delta.text
    const end = said.lastIndexOf("\n") + 1
    text.rest = said.slice(end)
    if (end === 0) return []
    const { messageId } = text
    const shown = yield* rewrite({ messageId, index: text.index++, final: false, delta: said.slice(0, end) })
    return [{ ...chunk, event: { ...event, delta: { ...event.delta, text: shown } } }]
  })

  const ended = Effect.fnUntraced(function* (
    event: EventOf<"BlockReceived">,
    rewrite: NonNullable<ReturnType<Front["rewriter"]>>,
  ): Effect.fn.Return<ReadonlyArray<Event>> {
    const { block, index, requestId } = event
    if (block.type !== "text") return [event]
    const key = `${requestId}/${index}`
    const known = saying.get(key)
    saying.delete(key)
    if (known === undefined) {
      const whole = { messageId: yield* Ids.uuid, index: 0, final: true, delta: block.text }
      return [{ ...event, block: { ...block, text: yield* rewrite(whole) } }]
    }
    const { messageId, rest } = known
    const text = yield* rewrite({ messageId, index: known.index, final: true, delta: rest })
    // Also where it is empty: the screen then knows that the text has been shown.
    const last = { type: "content_block_delta", index, delta: { type: "text_delta", text } } as const
    return [{ _tag: "StreamChunk", requestId, event: last }, event]
  })

  return (event: Event): Effect.Effect<ReadonlyArray<Event>> => {
    const rewrite = rewriter()
    if (rewrite === undefined) return Effect.succeed([event])
    switch (event._tag) {
      case "StreamChunk":
        return streamed(event, rewrite)
      case "BlockReceived":
        return ended(event, rewrite)
      case "ReplyAbandoned":
      case "TurnEnded":
        saying.clear()
        return Effect.succeed([event])
      default:
        return Effect.succeed([event])
    }
  }
}

/** The same where nobody watches it being said: each text at once, when it is complete, and the turn's result as it was shown. */
export const whole = () => {
  const changed: Array<readonly [said: string, shown: string]> = []
  return Effect.fnUntraced(function* (event: Event, rewrite: NonNullable<ReturnType<Front["rewriter"]>>) {
    if (event._tag === "BlockReceived" && event.block.type === "text") {
      const { text } = event.block
      const shown = yield* rewrite({ messageId: yield* Ids.uuid, index: 0, final: true, delta: text })
      if (shown !== text) changed.push([text, shown])
      return { ...event, block: { ...event.block, text: shown } }
    }
    if (event._tag !== "TurnEnded") return event
    const result = changed.splice(0).reduce((all, [said, shown]) => all.replace(said, () => shown), event.result)
    return { ...event, result }
  })
}
