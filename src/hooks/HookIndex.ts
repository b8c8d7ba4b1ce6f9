/** Owns finding the hooks of an event quickly: which of them are meant, in which order, and each only once. Pure. */
import type { Call } from "../policy/Call.ts"
import { canonical } from "../policy/Rule.ts"
import { describe, type Handler, placeOf, rankOf } from "./Handler.ts"
import type { Refused } from "./HookConfig.ts"
import { type HookEventName, isToolEvent } from "./HookEvents.ts"

export interface HookIndex {
  /** Those whose matcher fits; asked for the same again it costs a look-up. */
  readonly meant: (event: HookEventName, subject: string | undefined) => ReadonlyArray<Handler>
  readonly handlers: ReadonlyArray<Handler>
}

/** Names come from the model and from disks: what is remembered about them has an end. */
const mostRemembered = 500

const none: ReadonlyArray<Handler> = []

/** Of hooks that may run. */
export const make = (handlers: ReadonlyArray<Handler>): HookIndex => {
  const byEvent = new Map<HookEventName, Array<Handler>>()
  for (const handler of handlers.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const list = byEvent.get(handler.event)
    if (list === undefined) byEvent.set(handler.event, [handler])
    else list.push(handler)
  }
  const remembered = new Map<HookEventName, Map<string | undefined, ReadonlyArray<Handler>>>()
  return {
    handlers,
    meant: (event, subject) => {
      const all = byEvent.get(event)
      if (all === undefined) return none
      const known = remembered.get(event)
      const before = known?.get(subject)
      if (before !== undefined) return before
      const name = subject !== undefined && isToolEvent(event) ? canonical(subject) : subject
      const found = all.filter(({ matcher }) => matcher.matches(name))
      if (known === undefined || known.size >= mostRemembered) remembered.set(event, new Map([[subject, found]]))
      else known.set(subject, found)
      return found
    },
  }
}

/** The same hook in several settings files runs once, as the highest of them says. */
export const distinct = (handlers: ReadonlyArray<Handler>): ReadonlyArray<Handler> => {
  const seen = new Set<string>()
  return handlers.filter(({ identity }) => !seen.has(identity) && seen.add(identity))
}

export interface Explained {
  readonly event: HookEventName
  readonly kind: string
  readonly what: string
  readonly matcher: string
  readonly if?: string
  readonly scope: string
  /** `file:line`. */
  readonly source: string
  readonly runs: boolean
  readonly why: string
}

const rowOf = (handler: Handler, runs: boolean, why: string): Explained => ({
  event: handler.event,
  kind: handler.action.type,
  what: describe(handler),
  matcher: handler.matcher.text,
  ...(handler.condition !== undefined && { if: handler.condition.text }),
  scope: handler.origin.scope,
  source: placeOf(handler),
  runs,
  why,
})

const refusedRow = ({ event, line, matcher, origin, what, why }: Refused): Explained => ({
  event,
  kind: "",
  what,
  matcher,
  scope: origin.scope,
  source: `${origin.file ?? origin.name}${line === undefined ? "" : `:${line}`}`,
  runs: false,
  why,
})

export interface Known {
  readonly handlers: ReadonlyArray<Handler>
  readonly refused: ReadonlyArray<Refused>
  readonly barred: (handler: Handler) => string | undefined
}

/** All there are, in the order in which they are heard. */
export const list = ({ barred, handlers, refused }: Known): ReadonlyArray<Explained> => [
  ...handlers
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .map((handler) => {
      const why = barred(handler)
      return rowOf(handler, why === undefined, why ?? "in force")
    }),
  ...refused.map(refusedRow),
]

/** Which of them would run, and why the others would not. */
export const explain = (
  known: Known,
  event: HookEventName,
  subject: string | undefined,
  call: Call | undefined,
): ReadonlyArray<Explained> => {
  const seen = new Map<string, Handler>()
  const name = subject !== undefined && isToolEvent(event) ? canonical(subject) : subject
  const judge = (handler: Handler): readonly [boolean, string] => {
    const barred = known.barred(handler)
    if (barred !== undefined) return [false, barred]
    const { condition, identity, matcher } = handler
    if (!matcher.matches(name)) {
      return [
        false,
        subject === undefined
          ? `its matcher "${matcher.text}" needs a name to look at`
          : `its matcher "${matcher.text}" does not mean "${subject}"`,
      ]
    }
    if (condition !== undefined && call !== undefined && !condition.holds(call)) {
      return [false, `its if "${condition.text}" does not mean this call`]
    }
    const twin = seen.get(identity)
    if (twin !== undefined) return [false, `the same hook stands in ${placeOf(twin)}, and runs once`]
    seen.set(identity, handler)
    const depends = condition !== undefined && call === undefined ? `if "${condition.text}" means the call` : ""
    return [
      true,
      depends === ""
        ? matcher.text === ""
          ? "it is for every occurrence"
          : `its matcher "${matcher.text}" fits`
        : depends,
    ]
  }
  return [
    ...known.handlers
      .filter((handler) => handler.event === event)
      .toSorted((a, b) => rankOf(a) - rankOf(b))
      .map((handler) => rowOf(handler, ...judge(handler))),
    ...known.refused.filter((one) => one.event === event).map(refusedRow),
  ]
}
