/**
 * Owns how one talks to an actor: refs, the letters they send, and what senders hear when nobody is left to answer.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Fiber } from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as Budget from "./Budget.ts"
import type * as Life from "./Life.ts"
import { Mailbox } from "./Mailbox.ts"
import * as Protocol from "./Protocol.ts"

/** Nobody will answer: the actor crashed on this letter, or it is gone for good. */
export class ActorDown extends Schema.TaggedError<ActorDown>("troupe/kernel/Ref/ActorDown")("ActorDown", {
  address: Schema.String,
  reason: Schema.Literals(["stopped", "crashed", "killed", "gave-up"]),
  detail: Schema.String,
}) {
  override get message(): string {
    return `Actor "${this.address}" is down (${this.reason}): ${this.detail}`
  }
}

const postKey = Symbol.for("troupe/kernel/Ref/Post")

/** Any actor's ref, whatever it understands. */
export interface Any {
  readonly [postKey]: unknown
  readonly address: string
}

type Arguments<M extends Protocol.Message> =
  void extends Protocol.Payload<M> ? [payload?: Protocol.Payload<M>] : [payload: Protocol.Payload<M>]

interface Talk<M extends Protocol.Messages> extends Any {
  /** Sends and waits for the reply. */
  readonly ask: {
    readonly [K in keyof M]: (
      ...args: Arguments<M[K]>
    ) => Effect.Effect<Protocol.Success<M[K]>, Protocol.Failure<M[K]> | ActorDown>
  }
  /** Sends and waits only for a place in the mailbox. */
  readonly tell: { readonly [K in keyof M]: (...args: Arguments<M[K]>) => Effect.Effect<void, ActorDown> }
}

/** How others talk to an actor: `ref.ask.Reserve(…)`, `ref.tell.Settle(…)`. */
export interface Ref<P extends Protocol.Any> extends Talk<P["public"]> {}

/** How an actor and the fibers it starts talk to it: with the private messages too. */
export interface Self<P extends Protocol.Any> extends Talk<P["messages"]> {}

/** What travels: the words, who waits for the reply, and on whose budget and trace the work is done. */
export interface Letter {
  readonly tag: string
  readonly payload: unknown
  readonly budget: Budget.Level | undefined
  readonly span: Tracer.AnySpan | undefined
  reply: ((exit: Exit.Exit<any, any>) => void) | undefined
}

/** The letter being handled, so that an actor is recognised when it writes to itself. */
const Handling = Context.Reference<Letter | undefined>("troupe/kernel/Ref/Handling", { defaultValue: () => undefined })

/** A life's context, on the budget and under the span of whoever sent the letter. */
export const onBehalf = (context: Context.Context<any>, letter: Letter): Context.Context<any> => {
  const own = Context.add(Context.add(context, Handling, letter), Budget.Current, letter.budget)
  return letter.span === undefined ? own : Context.add(own, Tracer.ParentSpan, letter.span)
}

/** An actor's end of the line. It outlives the actor's lives: the mailbox, and the letter being handled. */
export class Post {
  readonly life: Life.Life
  readonly mailbox: Mailbox<Letter>
  private readonly messages: Protocol.Messages
  current: Letter | undefined
  private end: { readonly reason: Life.End; readonly detail: string } | undefined
  private error: ActorDown | undefined
  private watchers: Set<(down: ActorDown) => void> | undefined

  constructor(life: Life.Life, messages: Protocol.Messages, capacity: number) {
    this.life = life
    this.messages = messages
    this.mailbox = new Mailbox(capacity)
  }

  ask(tag: string, payload: unknown): Effect.Effect<any, any> {
    return Effect.withFiber((fiber) => {
      if (this.life.fiber === fiber && this.isHandling(fiber)) {
        throw new Error(`Actor "${this.life.address}" asks itself ${tag} and would wait for ever. Use tell.`)
      }
      const letter = this.write(fiber, tag, payload)
      const reply = Effect.callback<any, any>((resume) => {
        letter.reply = resume
        if (!this.send(letter)) this.mailbox.park(letter, (admitted) => admitted || resume(Effect.fail(this.down())))
        // Nobody waits any more, so what has not begun need not begin.
        return Effect.sync(() => this.mailbox.withdraw(letter))
      })
      return fiber.getRef(Protocol.Encoded) ? this.decoded(tag, reply) : reply
    })
  }

  tell(tag: string, payload: unknown): Effect.Effect<void, ActorDown> {
    return Effect.withFiber((fiber) => {
      const letter = this.write(fiber, tag, payload)
      // Waiting for a place in one's own mailbox would be waiting for oneself.
      if (this.send(letter) || (this.isHandling(fiber) && this.mailbox.push(letter))) return Effect.void
      return Effect.callback((resume) => {
        this.mailbox.park(letter, (admitted) => resume(admitted ? Effect.void : Effect.fail(this.down())))
        return Effect.sync(() => this.mailbox.withdraw(letter))
      })
    })
  }

  answer(letter: Letter, exit: Exit.Exit<any, any>): void {
    if (this.current === letter) this.current = undefined
    const reply = letter.reply
    letter.reply = undefined
    reply?.(exit)
  }

  /** Tells whoever waits for the letter being handled that no reply will come. */
  dropCurrent(reason: Life.End, detail: string): void {
    if (this.current === undefined) return
    this.answer(this.current, Exit.fail(new ActorDown({ address: this.life.address, reason, detail })))
  }

  /** Tells everybody that the actor is gone; returns how many letters are lost that nobody waits for. */
  close(reason: Life.End, detail: string): number {
    this.end = { reason, detail }
    this.dropCurrent(reason, detail)
    let lost = 0
    for (const letter of this.mailbox.close()) {
      if (letter.reply === undefined) lost++
      else this.answer(letter, Exit.fail(this.down()))
    }
    this.watchers?.forEach((watcher) => watcher(this.down()))
    return lost
  }

  awaitDown(): Effect.Effect<ActorDown> {
    return Effect.callback((resume) => {
      if (this.end) return resume(Effect.succeed(this.down()))
      const watcher = (down: ActorDown) => resume(Effect.succeed(down))
      const watchers = (this.watchers ??= new Set()).add(watcher)
      return Effect.sync(() => watchers.delete(watcher))
    })
  }

  /** Whether the fiber works on the letter that this actor is handling. */
  isHandling(fiber: Fiber<any, any>): boolean {
    return this.current !== undefined && fiber.getRef(Handling) === this.current
  }

  /** Errors are dear: this one is built when first needed, and kept. */
  private down(): ActorDown {
    const address = this.life.address
    if (this.end) return (this.error ??= new ActorDown({ address, ...this.end }))
    return new ActorDown({ address, reason: "stopped", detail: "it was asked to stop" })
  }

  private send(letter: Letter): boolean {
    return this.messages[letter.tag]?.control ? this.mailbox.pushControl(letter) : this.mailbox.offer(letter)
  }

  private write(fiber: Fiber<any, any>, tag: string, payload: unknown): Letter {
    const encoded = fiber.getRef(Protocol.Encoded)
    return {
      tag,
      payload: encoded ? Protocol.roundTrip(this.messages[tag] ?? {}, tag, "payload", payload) : payload,
      budget: fiber.getRef(Budget.Current),
      span: Context.getOrUndefined(fiber.context, Tracer.ParentSpan),
      reply: undefined,
    }
  }

  private decoded(tag: string, reply: Effect.Effect<any, any>): Effect.Effect<any, any> {
    const message = this.messages[tag] ?? {}
    return Effect.mapBoth(reply, {
      onSuccess: (value) => Protocol.roundTrip(message, tag, "success", value),
      onFailure: (error) => (error instanceof ActorDown ? error : Protocol.roundTrip(message, tag, "error", error)),
    })
  }
}

/** The other end of a ref. */
export const postOf = (ref: Any): Post => ref[postKey] as Post

abstract class Talker implements Any {
  readonly [postKey]: Post
  abstract readonly ask: any
  abstract readonly tell: any

  constructor(post: Post) {
    this[postKey] = post
  }

  get address(): string {
    return this[postKey].life.address
  }
}

const known = new WeakMap<Protocol.Messages, new (post: Post) => Talker>()

/** Makes a ref that can say these messages. Its methods exist once per protocol, not once per actor. */
export const make = (messages: Protocol.Messages, post: Post): Talker => {
  let Known = known.get(messages)
  if (Known === undefined) {
    const Ask = voice(messages, "ask")
    const Tell = voice(messages, "tell")
    Known = class extends Talker {
      get ask() {
        return new Ask(this[postKey])
      }
      get tell() {
        return new Tell(this[postKey])
      }
    }
    known.set(messages, Known)
  }
  return new Known(post)
}

/** A getter per tag, so that `ref.ask.Reserve` can be passed around without its ref. */
const voice = (messages: Protocol.Messages, speak: "ask" | "tell") => {
  class Voice {
    readonly [postKey]: Post
    constructor(post: Post) {
      this[postKey] = post
    }
  }
  for (const tag of Object.keys(messages)) {
    Object.defineProperty(Voice.prototype, tag, {
      enumerable: true,
      get(this: Voice) {
        return (payload?: unknown) => this[postKey][speak](tag, payload)
      },
    })
  }
  return Voice
}
