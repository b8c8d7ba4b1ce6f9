/**
 * Owns identity: every id in the system is drawn here, so that a seed decides all of them in a test or a replay.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"

/** A source of ids. The default draws from the platform's cryptographic generator. */
export interface Source {
  readonly uuid: Effect.Effect<string>
  readonly short: (prefix: string) => Effect.Effect<string>
}

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** RFC 4122 version 4, from sixteen bytes of any origin. */
const formatUuid = (bytes: Uint8Array) => {
  const marked = bytes.map((byte, i) => (i === 6 ? (byte & 0x0f) | 0x40 : i === 8 ? (byte & 0x3f) | 0x80 : byte))
  return hex(marked).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
}

/** Builds a source from a way to draw bytes. */
export const fromBytes = (draw: (size: number) => Effect.Effect<Uint8Array>): Source => ({
  uuid: Effect.map(draw(16), formatUuid),
  short: (prefix) => Effect.map(draw(6), (bytes) => `${prefix}-${hex(bytes)}`),
})

/** The id source in use; inherited by every fiber. */
export const Ids = Context.Reference<Source>("troupe/kernel/Ids", {
  defaultValue: () => ({
    ...fromBytes((size) => Effect.sync(() => globalThis.crypto.getRandomValues(new Uint8Array(size)))),
    uuid: Effect.sync(() => globalThis.crypto.randomUUID()),
  }),
})

/** A random version 4 UUID. */
export const uuid: Effect.Effect<string> = Effect.flatMap(Ids, (ids) => ids.uuid)

/** A short id for people to read and type, such as `agent-3f9c21ab04d7`. */
export const short = (prefix: string): Effect.Effect<string> => Effect.flatMap(Ids, (ids) => ids.short(prefix))

/** Derives every id from Effect's `Random`: the same seed gives the same ids in the same order. */
export const seeded: Layer.Layer<never> = Layer.succeed(
  Ids,
  fromBytes((size) =>
    Effect.map(Effect.replicateEffect(Random.nextIntBetween(0, 256, { halfOpen: true }), size), (bytes) =>
      Uint8Array.from(bytes),
    ),
  ),
)
