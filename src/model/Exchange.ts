/**
 * Owns one attempt on the wire: its events as they come, the watchdog beside it, and the settlement at its end. What was put
 * aside stays so until then, so nobody can spend the same money twice.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Prices from "../cost/Prices.ts"
import type { ModelSpec } from "../cost/ModelSpec.ts"
import * as ApiErrors from "./ApiErrors.ts"
import type { ModelEvent } from "./ModelEvent.ts"
import type { Patience } from "./Patience.ts"
import type { Provider, ProviderError, ProviderRequest } from "./Provider.ts"
import type { Piece, ReplyBuilder } from "./ReplyBuilder.ts"

/** What to send, what to make of the answer, and what to do when it is over, however it ends. */
export interface Order {
  readonly request: ProviderRequest
  readonly spec: ModelSpec
  readonly reply: ReplyBuilder
  readonly streaming: boolean
  readonly patience: Patience
  readonly settle: Effect.Effect<void>
}

/** How long a connection may stay open after a complete reply, to be used again. */
const lingerMs = 1_000

/** The queue is unbounded: a reply is not, and a slow reader must not look like a silent service. */
export const run = (provider: Provider["Service"], order: Order): Stream.Stream<ModelEvent, ProviderError> =>
  Stream.callback<ModelEvent, ProviderError>((queue) =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const startedAt = clock.currentTimeMillisUnsafe()
      const emit = (event: ModelEvent) => Queue.offerUnsafe(queue, event)
      const finish = Effect.sync(() => emit(replyOf(order, startedAt, clock.currentTimeMillisUnsafe())))
      yield* order.streaming ? streamed(provider, order, clock, emit, finish) : whole(provider, order, emit, finish)
      Queue.endUnsafe(queue)
    }).pipe(Effect.onError(() => order.settle)),
  ).pipe(
    // A reply that used more than was put aside closes its budget, and with it whoever listens: they hear of the reply first.
    Stream.concat(Stream.drain(Stream.fromEffect(order.settle))),
    Stream.ensuring(order.settle),
  )

type Emit = (event: ModelEvent) => void

const whole = (
  provider: Provider["Service"],
  { request, reply, patience }: Order,
  emit: Emit,
  finish: Effect.Effect<void>,
) =>
  provider.whole(request).pipe(
    Effect.timeoutOrElse({
      duration: patience.wholeAfterMs,
      orElse: () =>
        Effect.fail(
          ApiErrors.make("stalled", `No reply within ${patience.wholeAfterMs / 1000} s, and it was given up.`),
        ),
    }),
    Effect.flatMap((answer) => {
      const pieces = reply.acceptWhole(answer)
      if ("_tag" in pieces) return Effect.fail(pieces)
      emitPieces(request, reply, pieces, emit)
      return finish
    }),
  )

const streamed = (
  provider: Provider["Service"],
  { request, reply, patience }: Order,
  clock: Clock.Clock,
  emit: Emit,
  finish: Effect.Effect<void>,
) => {
  const { requestId } = request
  let lastByteAt = clock.currentTimeMillisUnsafe()
  let lastEventAt = lastByteAt
  let warned = false

  const complete = Latch.makeUnsafe()
  const over = Effect.andThen(finish, Latch.open(complete))

  const read = Stream.runForEach(provider.stream(request), (event) =>
    Effect.suspend(() => {
      lastByteAt = clock.currentTimeMillisUnsafe()
      warned = false
      if (reply.complete) return Effect.void
      if (event.type !== "ping") lastEventAt = lastByteAt
      const pieces = reply.accept(event)
      if ("_tag" in pieces) return Effect.fail(pieces)
      emit({ _tag: "Chunk", requestId, event })
      emitPieces(request, reply, pieces, emit)
      return reply.complete ? over : Effect.void
    }),
  ).pipe(
    Effect.flatMap(() => {
      if (reply.complete) return Effect.void
      reply.end()
      return reply.complete
        ? over
        : Effect.fail(ApiErrors.make("connection_lost", "The stream ended in the middle of the reply."))
    }),
    // Whatever happens to the connection behind a complete reply, the reply stands.
    Effect.catchIf(
      () => reply.complete,
      () => Effect.void,
    ),
  )

  const watch = Effect.gen(function* () {
    while (true) {
      const now = clock.currentTimeMillisUnsafe()
      const quiet = now - lastByteAt
      const idle = now - lastEventAt
      if (quiet >= patience.abortAfterMs) return yield* stalled(`Nothing came for ${Math.round(quiet / 1000)} s`)
      if (idle >= patience.idleAfterMs) return yield* stalled(`Only pings came for ${Math.round(idle / 1000)} s`)
      if (quiet >= patience.warnAfterMs && !warned) {
        warned = true
        emit({ _tag: "Stalling", requestId, quietMs: quiet, abortAfterMs: patience.abortAfterMs })
      }
      const quietLimit = warned ? patience.abortAfterMs : patience.warnAfterMs
      yield* Effect.sleep(Math.min(lastByteAt + quietLimit, lastEventAt + patience.idleAfterMs) - now)
    }
  })
  // The connection is read to its end, which lets it be used again; but nobody waits long for that.
  const linger = Effect.andThen(Latch.await(complete), Effect.sleep(lingerMs))
  return Effect.raceAllFirst([read, watch, linger])
}

const stalled = (what: string) => ApiErrors.make("stalled", `${what}, so the attempt was given up.`)

const emitPieces = (request: ProviderRequest, reply: ReplyBuilder, pieces: ReadonlyArray<Piece>, emit: Emit) => {
  for (const piece of pieces) {
    emit({ _tag: "Block", requestId: request.requestId, messageId: reply.id, model: request.model, ...piece })
  }
}

const replyOf = ({ request, spec, reply }: Order, startedAt: number, now: number): ModelEvent => ({
  _tag: "Reply",
  requestId: request.requestId,
  messageId: reply.id,
  model: request.model,
  stopReason: reply.stopReason,
  ...(reply.stopDetail !== undefined && { stopDetail: reply.stopDetail }),
  usage: reply.usedSoFar,
  costUsd: Prices.costOf(spec, reply.usedSoFar, now),
  durationMs: now - startedAt,
})
