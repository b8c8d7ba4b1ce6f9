/**
 * Owns names that lead elsewhere because the line itself moved or linked something there: behind `mv link x`, `x/config` is what
 * `link/config` is now. The disk is looked at before the line runs, so what is touched under the new name is touched under the old.
 */
import type { Touch } from "../Effects.ts"
import type { Context } from "./Context.ts"
import * as Place from "./Place.ts"
import type { Field, State } from "./State.ts"

/** What was at the one name is found at the other. `beside`: a relative one starts where the new name stands. */
export interface Link {
  readonly from: Field
  readonly to: Field
  readonly beside?: boolean
}

export interface Moved {
  readonly from: string
  readonly to: string
}

export const note = ({ from, to, beside }: Link, state: State, context: Context): void => {
  for (const cwd of state.cwds ?? []) {
    // Any other word was noted as one that may be anything.
    if (from.kind !== "literal" || to.kind !== "literal") continue
    const target = Place.resolve(cwd, to.text)
    const source = Place.resolve(beside === true ? Place.resolve(target, "..") : cwd, from.text)
    context.moved.push({ from: source, to: target })
  }
}

/** The touches under their old names, for all of a line, however often it goes round. */
export const followed = (touches: ReadonlyArray<Touch>, moved: ReadonlyArray<Moved>): ReadonlyArray<Touch> => {
  const found: Array<Touch> = []
  let latest = touches
  for (let round = 0; round < 4 && latest.length > 0 && moved.length > 0; round++) {
    latest = latest.flatMap((touch) =>
      touch._tag !== "Reads" && touch._tag !== "Writes"
        ? []
        : moved.flatMap(({ from, to }) =>
            touch.path !== from && (touch.path === to || touch.path.startsWith(`${to}/`))
              ? [{ ...touch, path: from + touch.path.slice(to.length) }]
              : [],
          ),
    )
    found.push(...latest.slice(0, 200))
  }
  return found
}
