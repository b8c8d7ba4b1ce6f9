/**
 * Owns the description of what may be said to an actor: one value, on Schema, from which refs, cluster entities and sockets derive.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"

type Codec = Schema.ConstraintCodec<any, any>

/** One message. What is left out means: no payload, no reply, no failure. */
export interface Message {
  readonly payload?: Codec
  readonly success?: Codec
  readonly error?: Codec
  /** A control message overtakes all queued work and is never held back by a full mailbox. */
  readonly control?: boolean
}

/** Messages by their tag. Tags are verbs: `Reserve`, `Settle`. */
export interface Messages {
  readonly [tag: string]: Message
}

/** All messages an actor understands, and those that outsiders may send. */
export interface Protocol<out All extends Messages, out Public extends Messages = All> {
  readonly messages: All
  readonly public: Public
}

export type Any = Protocol<Messages, Messages>

export type Payload<M extends Message> = M extends { readonly payload: infer S extends Codec } ? S["Type"] : void
export type Success<M extends Message> = M extends { readonly success: infer S extends Codec } ? S["Type"] : void
export type Failure<M extends Message> = M extends { readonly error: infer S extends Codec } ? S["Type"] : never

/** Describes a protocol; everything in it is public. */
export const make = <const M extends Messages>(messages: M): Protocol<M> => ({ messages, public: messages })

/** Adds private messages: the actor and its own fibers can send them, holders of its ref cannot. */
export const extend = <All extends Messages, Public extends Messages, const M extends Messages>(
  base: Protocol<All, Public>,
  messages: M,
): Protocol<All & M, Public> => ({ messages: { ...base.messages, ...messages }, public: base.public })

/** Encodes and decodes every message when true, so that nothing local sneaks into one. For tests: it costs. */
export const Encoded = Context.Reference<boolean>("troupe/kernel/Protocol/Encoded", { defaultValue: () => false })

type Part = "payload" | "success" | "error"
const passes = new WeakMap<Codec, (value: unknown) => unknown>()

const pass = (codec: Codec) => {
  let through = passes.get(codec)
  if (through === undefined) {
    const json = Schema.toCodecJson(codec)
    const encode = Schema.encodeUnknownSync(json)
    const decode = Schema.decodeUnknownSync(json)
    through = (value) => decode(JSON.parse(JSON.stringify(encode(value))))
    passes.set(codec, through)
  }
  return through
}

/**
 * Sends one part of a message through its JSON form and back. What does not survive is a bug in whoever said it, so it
 * throws: inside an effect that is a defect.
 */
export const roundTrip = (message: Message, tag: string, part: Part, value: unknown): unknown => {
  const codec = message[part]
  if (codec === undefined) {
    if (value === undefined) return undefined
    throw new TypeError(`${tag}: the protocol declares no ${part}, yet one was sent. Declare it, or send nothing.`)
  }
  try {
    return pass(codec)(value)
  } catch (cause) {
    throw new TypeError(
      `${tag}: its ${part} does not survive being encoded and decoded. Put only what its schema describes into it.`,
      { cause },
    )
  }
}
