/**
 * Owns the one door to a model: a request in, a stream of typed events out. Metering, retries, watchdog and fallbacks are
 * inside, so nobody can forget them.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { CostGovernor } from "../cost/CostGovernor.ts"
import { ModelTable, type Resolved } from "../cost/ModelTable.ts"
import * as Prices from "../cost/Prices.ts"
import type { BudgetExceeded } from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { TextBlock } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { Usage } from "../protocol/Usage.ts"
import * as CachePlan from "./CachePlan.ts"
import * as Exchange from "./Exchange.ts"
import type { Order } from "./Exchange.ts"
import * as Ladder from "./Ladder.ts"
import * as Ledger from "./Ledger.ts"
import * as Meter from "./Meter.ts"
import * as Patience from "./Patience.ts"
import * as Project from "./Project.ts"
import { Provider, ProviderError, type ProviderRequest, type ServerTool, type ToolSchema } from "./Provider.ts"
import type { Attempt, ModelEvent } from "./ModelEvent.ts"
import { ReplyBuilder } from "./ReplyBuilder.ts"
import * as ServerContext from "./ServerContext.ts"

/** What somebody wants from a model. */
export interface ModelRequest {
  /** On whose account it is booked. */
  readonly agent: string
  /** A name or an alias; the model table says what it means. */
  readonly model: string
  readonly fallbackModel?: string | undefined
  /** The most that is wanted; a budget may shrink it, not under 1,024. */
  readonly maxTokens: number
  readonly system: ReadonlyArray<TextBlock>
  readonly tools: ReadonlyArray<ToolSchema>
  /** Run by the service, where it has them. */
  readonly serverTools?: ReadonlyArray<ServerTool> | undefined
  readonly messages: ReadonlyArray<Message>
  /** Which model wrote a message, where that is known; by default the one asked for. Thinking of another is left out. */
  readonly authorOf?: ((message: Message) => string | undefined) | undefined
  /** What stood before a message when it was written has been changed since: its thinking is void. */
  readonly isRebased?: ((message: Message) => boolean) | undefined
  readonly toolChoice?: "auto" | "none" | undefined
  readonly outputConfig?: Readonly<Record<string, unknown>> | undefined
  /** What the model's own default is, unless told. */
  readonly thinking?: Readonly<Record<string, unknown>> | undefined
  /** A person thinks between its requests, maybe for longer than the service usually keeps what it has read. */
  readonly rests?: boolean | undefined
  /** False once something outside has been done because of this reply: from then on it must not be asked for again. */
  readonly restartable: () => boolean
}

/** No reply could be had, and trying again by itself will not help. */
export class ModelError extends Schema.TaggedError<ModelError>("troupe/model/Model/ModelError")("ModelError", {
  /** `broken_off`: the stream died when it could not be restarted any more; the complete blocks stand. */
  reason: Schema.Union([ProviderError.fields.reason, Schema.Literal("broken_off")]),
  message: Schema.String,
  model: Schema.String,
  attempts: Schema.Finite,
  requestId: Schema.optionalKey(Schema.String),
  status: Schema.optionalKey(Schema.Finite),
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** For `broken_off`: the message that broke off, and what it has used as far as that is known. It is booked. */
  messageId: Schema.optionalKey(Schema.String),
  usage: Schema.optionalKey(Usage),
  costUsd: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
}) {}

export class Model extends Context.Service<
  Model,
  {
    /** Interrupting the consumer closes the connection; what was used until then is booked. */
    readonly stream: (request: ModelRequest) => Stream.Stream<ModelEvent, ModelError | BudgetExceeded>
    /** Who runs the models: `anthropic`, `bedrock`, `scripted`, … */
    readonly provider?: string
  }
>()("troupe/model/Model") {
  static readonly layer: Layer.Layer<Model, never, Provider | ModelTable | CostGovernor | Files | Host> = Layer.effect(
    Model,
    Effect.gen(function* () {
      const provider = yield* Provider
      const table = yield* ModelTable
      const governor = yield* CostGovernor
      const files = yield* Files
      const host = yield* Host
      const patience = Patience.fromEnv(host.env)
      const serverContext = ServerContext.asked(yield* ServerContext.ServerContext)
      const ledger = Ledger.make(files.hash)
      const meter = Meter.make(governor)
      /** Until when nobody asks a model that said it has had enough: one limit counts for all who share the credential. */
      const closedUntil = new Map<string, number>()
      /** Whose thinking a service would not have back. Left out from then on, so that what is sent does not change to and fro. */
      const refused = new WeakMap<Message, ReadonlySet<string>>()
      const isDirect = provider.name === "anthropic" && host.env("ANTHROPIC_BASE_URL") === undefined

      const attempt = (request: ModelRequest, asked: Resolved, rung: Ladder.Rung): Events =>
        Stream.unwrap(
          Effect.gen(function* () {
            const requestId = yield* Ids.uuid
            const wait = (closedUntil.get(asked.id) ?? 0) - (yield* Clock.currentTimeMillis)
            if (wait > 0) {
              const waiting = {
                _tag: "Waiting" as const,
                requestId,
                attempt: rung.attempt,
                maxAttempts: patience.maxAttempts,
                delayMs: wait,
                reason: "rate_limited",
                detail: `The service asked earlier requests for ${asked.id} to wait.`,
              }
              return Stream.concat(
                Stream.succeed<ModelEvent>(waiting),
                after(wait, () => attempt(request, asked, rung)),
              )
            }
            return yield* send(requestId, request, asked, rung)
          }),
        )

      /** By the ids of the table, whatever the service calls them. */
      const authors = ({ model, authorOf }: ModelRequest) => {
        const ids = new Map([[model, table.resolve(model).spec.id]])
        return (message: Message) => {
          const author = authorOf?.(message) ?? model
          const id = ids.get(author) ?? table.resolve(author).spec.id
          ids.set(author, id)
          return id
        }
      }

      const send = Effect.fnUntraced(function* (
        requestId: string,
        request: ModelRequest,
        asked: Resolved,
        rung: Ladder.Rung,
      ) {
        const { spec } = asked
        const messages = Project.messages(request.messages, {
          spec,
          authorOf: authors(request),
          isVoid: (message) => request.isRebased?.(message) === true || refused.get(message)?.has(spec.id) === true,
          withoutThinking: rung.withoutThinking,
        })
        const caching =
          Project.caching(spec, host.env) &&
          CachePlan.terms(spec, host.env, { rests: request.rests === true, hour: isDirect })
        const prompt = { tools: Project.tools(spec, request.tools), system: request.system, messages }
        const hourCache = caching !== false && caching.head === "1h"
        const booking = yield* meter
          .reserve(request.agent, asked, { ...prompt, hourCache }, request.maxTokens)
          .pipe(Effect.catchTag("ProviderError", (error) => gaveUp(error, undefined, { asked, rung, requestId })))
        const thinking = Project.thinking(spec, request.thinking, booking.maxTokens, messages)
        const outputConfig = Project.outputConfig(spec, request.outputConfig)
        const reply = new ReplyBuilder()
        const sent: ProviderRequest = {
          requestId,
          model: asked.id,
          maxTokens: booking.maxTokens,
          ...prompt,
          ...serverContext,
          ...(request.serverTools !== undefined && { serverTools: request.serverTools }),
          ...(request.toolChoice !== undefined && { toolChoice: request.toolChoice }),
          ...(thinking !== undefined && { thinking }),
          caching,
          ...(outputConfig !== undefined && { outputConfig }),
        }
        const order: Order = {
          request: sent,
          spec,
          reply,
          streaming: rung.streaming,
          patience,
          settle: Effect.suspend(() => booking.settle(reply.started ? reply.usedSoFar : undefined)),
        }
        const { lines, segments } = ledger(sent)
        const announced: Attempt = {
          _tag: "Attempt",
          requestId,
          attempt: rung.attempt,
          model: asked.id,
          maxTokens: booking.maxTokens,
          streaming: rung.streaming,
          messages: messages.length,
          ledger: lines,
          segments,
          ...(caching !== false && { cacheTtl: { head: caching.head, messages: caching.messages } }),
        }
        const answer: Events = Stream.catch(Exchange.run(provider, order), (error) =>
          recover(request, asked, rung, order, error),
        )
        return Stream.concat(Stream.succeed<ModelEvent>(announced), answer)
      })

      const recover = (
        request: ModelRequest,
        asked: Resolved,
        rung: Ladder.Rung,
        order: Order,
        error: ProviderError,
      ): Events =>
        Stream.unwrap(
          Effect.gen(function* () {
            const { reply } = order
            const { requestId } = order.request
            const now = yield* Clock.currentTimeMillis
            const used = reply.started
              ? { usage: reply.usedSoFar, costUsd: Prices.costOf(asked.spec, reply.usedSoFar, now) }
              : undefined
            if (reply.started && !request.restartable()) {
              return yield* brokenOff(error, { asked, rung, requestId, messageId: reply.id, used })
            }
            const fallback = request.fallbackModel === undefined ? undefined : table.resolve(request.fallbackModel)
            const other = fallback?.id === asked.id ? undefined : fallback
            const step = Ladder.next(rung, error, {
              maxAttempts: patience.maxAttempts,
              hasFallback: other !== undefined && table.resolve(request.model).id === asked.id,
              chance: yield* Random.next,
            })
            if (step._tag === "GiveUp") return yield* gaveUp(error, step.why, { asked, rung, requestId })
            if (step.rung.withoutThinking) {
              for (const message of request.messages) {
                refused.set(message, new Set([...(refused.get(message) ?? []), asked.spec.id]))
              }
            }
            if (step.transition === "rate_limit_wait") {
              closedUntil.set(asked.id, Math.max(closedUntil.get(asked.id) ?? 0, now + step.delayMs))
            }
            const events: Array<ModelEvent> = [
              { _tag: "Abandoned", requestId, reason: error.message, transition: step.transition, ...used },
            ]
            if (step.delayMs > 0) {
              events.push({
                _tag: "Waiting",
                requestId,
                attempt: rung.attempt,
                maxAttempts: patience.maxAttempts,
                delayMs: step.delayMs,
                reason: error.reason,
                detail: error.message,
                ...(error.status !== undefined && { status: error.status }),
              })
            }
            const model = step.transition === "model_fallback" && other !== undefined ? other : asked
            return Stream.concat(
              Stream.fromIterable(events),
              after(step.delayMs, () => attempt(request, model, step.rung)),
            )
          }),
        )

      return {
        stream: (request) => Stream.suspend(() => attempt(request, table.resolve(request.model), Ladder.first)),
        provider: provider.name,
      }
    }),
  )
}

type Events = Stream.Stream<ModelEvent, ModelError | BudgetExceeded>

const after = (delayMs: number, events: () => Events): Events =>
  delayMs > 0 ? Stream.unwrap(Effect.as(Effect.sleep(delayMs), Stream.suspend(events))) : Stream.suspend(events)

interface Circumstances {
  readonly asked: Resolved
  readonly rung: Ladder.Rung
  readonly requestId: string
}

const brokenOff = (
  error: ProviderError,
  {
    asked,
    rung,
    requestId,
    messageId,
    used,
  }: Circumstances & {
    readonly messageId: string
    readonly used: { readonly usage: Usage; readonly costUsd: number | null } | undefined
  },
) =>
  new ModelError({
    reason: "broken_off",
    message: `The reply broke off after one of its tools had started, so it cannot be asked for again. ${error.message}`,
    model: asked.id,
    attempts: rung.attempt,
    requestId,
    messageId,
    ...used,
    ...(error.status !== undefined && { status: error.status }),
  })

const gaveUp = (error: ProviderError, why: string | undefined, { asked, rung, requestId }: Circumstances) => {
  const meant = asked.suggestion === undefined ? "" : ` Did you mean "${asked.suggestion}"?`
  const hint =
    error.reason === "model_not_found"
      ? `The service has no model "${asked.id}".${meant} Choose another with --model.`
      : why
  return new ModelError({
    reason: error.reason,
    message: hint === undefined ? error.message : `${error.message} ${hint}`,
    model: asked.id,
    attempts: rung.attempt,
    requestId,
    ...(error.status !== undefined && { status: error.status }),
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  })
}
