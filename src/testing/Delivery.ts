/** Owns how an answer reaches the client: the events that get through, and how it ends when a fault ends it. */
import * as Fault from "./Fault.ts"
import type { Reply, TimedEvent } from "./Reply.ts"
import type { Time } from "./Timing.ts"

export type End =
  | { readonly _tag: "Complete" }
  /** The connection is gone. */
  | { readonly _tag: "Reset" }
  /** The connection stays, and nothing comes. */
  | { readonly _tag: "Stall" }
  | { readonly _tag: "Pings"; readonly every: Time }
  /** An event that is not JSON. */
  | { readonly _tag: "Garbled" }
  | { readonly _tag: "ErrorEvent"; readonly refusal: Fault.Refusal }
  | { readonly _tag: "NotAStream"; readonly as: "json" | "html" }

export interface Delivery {
  readonly events: ReadonlyArray<TimedEvent>
  readonly end: End
}

export const make = (reply: Reply, fault: Fault.Fault | undefined): Delivery => {
  const first = (count: number, end: End): Delivery => ({ events: reply.events.slice(0, count), end })
  if (fault?.reset !== undefined) return first(fault.reset, { _tag: "Reset" })
  if (fault?.stall !== undefined) return first(fault.stall, { _tag: "Stall" })
  if (fault?.pings !== undefined) return first(0, { _tag: "Pings", every: fault.pings })
  if (fault?.garbled !== undefined) return first(fault.garbled, { _tag: "Garbled" })
  if (fault?.error_event !== undefined) {
    return first(fault.error_event, { _tag: "ErrorEvent", refusal: Fault.eventRefusal(fault) })
  }
  if (fault?.not_a_stream !== undefined) return first(0, { _tag: "NotAStream", as: fault.not_a_stream })
  return { events: reply.events, end: { _tag: "Complete" } }
}
