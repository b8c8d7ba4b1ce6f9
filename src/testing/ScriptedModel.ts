/** Owns the scripted model in process: a `Provider` that plays a playbook, timed by Clock, without a socket. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as ApiErrors from "../model/ApiErrors.ts"
import { Provider } from "../model/Provider.ts"
import type { ProviderError, ProviderRequest } from "../model/Provider.ts"
import type { StreamEvent } from "../protocol/StreamEvent.ts"
import * as ApiRequest from "./ApiRequest.ts"
import * as Delivery from "./Delivery.ts"
import * as Fault from "./Fault.ts"
import * as Playbook from "./Playbook.ts"
import * as Player from "./Player.ts"
import * as Recorder from "./Recorder.ts"
import * as Timing from "./Timing.ts"

export interface ScriptedModelOptions {
  /** Refuse what a real API would refuse, such as a tool call without its result. Default true. */
  readonly strict?: boolean
  /** Decides drawn delays; without it the `Random` of whoever consumes the stream does. */
  readonly seed?: string | number
}

/** What the scripted model was asked. */
export class ScriptedModel extends Context.Service<ScriptedModel, Pick<Recorder.Recorder, "requests" | "atLeast">>()(
  "troupe/testing/ScriptedModel",
) {
  /** A `Provider` named `scripted`. Each build of the layer plays the book from its beginning. */
  static readonly layer = (
    book: Playbook.Playbook,
    options: ScriptedModelOptions = {},
  ): Layer.Layer<Provider | ScriptedModel, Playbook.PlaybookError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const checked = yield* Playbook.make(book)
        const recorder = Recorder.make(true)
        const random =
          options.seed === undefined
            ? undefined
            : yield* Effect.service(Random.Random).pipe(Random.withSeed(options.seed))
        const provider = make(checked, recorder, options, random)
        return Context.make(Provider, provider).pipe(Context.add(ScriptedModel, recorder))
      }),
    )

  /** Every request so far, oldest first. */
  static readonly requests: Effect.Effect<ReadonlyArray<Recorder.Recording>, never, ScriptedModel> = Effect.gen(
    function* () {
      const model = yield* ScriptedModel
      return yield* model.requests
    },
  )
}

const make = (
  book: Playbook.Playbook,
  recorder: Recorder.Recorder,
  options: ScriptedModelOptions,
  random: Random.Random | undefined,
): Provider["Service"] => {
  const player = Player.make(book, { cache: "always", strict: options.strict ?? true })
  const wait = (delay: Timing.Delay | undefined) =>
    random === undefined ? Timing.wait(delay) : Effect.provideService(Timing.wait(delay), Random.Random, random)

  const ask = (request: ProviderRequest, streamed: boolean) =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      const body = ApiRequest.fromProvider(request, streamed)
      const answer = player.play(body, at)
      const { recording, end } = recorder.add({ at, streamed, body, note: answer.note, requestId: request.requestId })
      return { answer, end, id: `req_scripted_${recording.number}` }
    })

  return {
    name: "scripted",
    stream: (request) =>
      Stream.unwrap(
        Effect.map(ask(request, true), ({ answer, end, id }) => {
          if (answer._tag === "Refused") {
            end("refused")
            return Stream.fail(Fault.providerError(answer.refusal, id))
          }
          const delivery = Delivery.make(answer.reply, answer.fault)
          let complete = false
          return Stream.fromIterable(delivery.events).pipe(
            Stream.mapEffect(({ event, delay }) => Effect.as(wait(delay), event)),
            Stream.tap((event) => Effect.sync(() => (complete ||= event.type === "message_stop"))),
            Stream.concat(ending(delivery, id, wait)),
            Stream.onExit((exit) =>
              Effect.sync(() =>
                end(
                  complete ? "delivered" : Exit.isFailure(exit) && !Exit.hasInterrupts(exit) ? "broken" : "abandoned",
                ),
              ),
            ),
          )
        }),
      ),
    whole: (request) =>
      Effect.flatMap(ask(request, false), ({ answer, end, id }) => {
        if (answer._tag === "Refused") {
          end("refused")
          return Effect.fail(Fault.providerError(answer.refusal, id))
        }
        const delivery = Delivery.make(answer.reply, answer.fault)
        return Effect.forEach(delivery.events, ({ delay }) => wait(delay), { discard: true }).pipe(
          Effect.flatMap(() => wholeEnding(delivery, id)),
          Effect.as(answer.reply.whole),
          Effect.onExit((exit) =>
            Effect.sync(() =>
              end(Exit.isSuccess(exit) ? "delivered" : Exit.hasInterrupts(exit) ? "abandoned" : "broken"),
            ),
          ),
        )
      }),
  }
}

const ending = (
  { events, end }: Delivery.Delivery,
  id: string,
  wait: (delay: Timing.Delay | undefined) => Effect.Effect<void>,
): Stream.Stream<StreamEvent, ProviderError> => {
  switch (end._tag) {
    case "Complete":
      return Stream.empty
    case "Stall":
      return Stream.never
    case "Pings":
      return Stream.fromEffectRepeat(Effect.as(wait(end.every), { type: "ping" } as const))
    case "Reset":
      return Stream.fail(lost(events.length, id))
    case "Garbled":
      return Stream.fail(broken("malformed_stream", "the stream holds an event whose data is not JSON", id))
    case "ErrorEvent":
      return Stream.fail(Fault.eventError(end.refusal, id))
    case "NotAStream":
      return Stream.fail(broken("not_an_event_stream", `200, but ${end.as} instead of an event stream`, id, 200))
  }
}

/** Without a stream there is nothing to garble and nowhere to ping: what would have been silence stays silence. */
const wholeEnding = ({ events, end }: Delivery.Delivery, id: string): Effect.Effect<void, ProviderError> => {
  switch (end._tag) {
    case "Stall":
    case "Pings":
      return Effect.never
    case "Reset":
      return Effect.fail(lost(events.length, id))
    case "ErrorEvent":
      return Effect.fail(Fault.providerError(end.refusal, id))
    case "Complete":
    case "Garbled":
    case "NotAStream":
      return Effect.void
  }
}

const broken = (reason: ProviderError["reason"], message: string, id: string, status?: number): ProviderError =>
  ApiErrors.make(reason, `Scripted fault: ${message}.`, { serviceRequestId: id, status })

const lost = (events: number, id: string): ProviderError =>
  broken("connection_lost", `the connection was reset after ${events} events`, id)
