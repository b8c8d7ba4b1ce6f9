/**
 * Owns names that lead elsewhere because the line itself moved or linked something there: behind `mv link x`, `x/config` is what
 * `link/config` is now. The disk is looked at before the line runs, so what is touched under the new name is touched under the old.
 */
import type { Touch } from "../Effects.ts"
import * as Glob from "./Glob.ts"
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
  /** `from` is a pattern, one of whose files has become the target; or the directory whose names are found in the target now. */
  readonly as?: "pattern" | "names"
}

export const note = ({ from, to, beside }: Link, state: State, context: Context): void => {
  // Any other word was noted as one that may be anything.
  if (from.kind === "unknown" || to.kind !== "literal") return
  for (const cwd of state.cwds ?? []) {
    const target = Place.resolve(cwd, to.text)
    if (from.kind === "pattern") {
      // As what the target has become, or under their own names in it.
      const source = Place.resolve(Glob.escape(cwd), from.pattern)
      const directory = source.slice(0, source.lastIndexOf("/")) || "/"
      context.moved.push({ from: source, to: target, as: "pattern" })
      if (!/[*?[\\]/.test(directory)) context.moved.push({ from: directory, to: target, as: "names" })
      continue
    }
    const source = Place.resolve(beside === true ? Place.resolve(target, "..") : cwd, from.text)
    context.moved.push({ from: source, to: target })
  }
}

const before = (
  touch: Extract<Touch, { readonly path: string }>,
  { as, from, to }: Moved,
): ReadonlyArray<typeof touch> => {
  if (touch.path === from) return []
  if (touch.path === to) return as === undefined ? [{ ...touch, path: from }] : []
  if (!touch.path.startsWith(`${to}/`)) return []
  const rest = touch.path.slice(to.length)
  if (as !== "pattern") return [{ ...touch, path: from + rest }]
  // What is put into a directory is not put into what is put there.
  if (touch._tag === "Writes" && touch.names !== undefined) return []
  return [{ ...touch, path: from + (touch.pattern === true ? rest : Glob.escape(rest)), pattern: true }]
}

/** The touches under their old names, for all of a line, however often it goes round. */
export const followed = (touches: ReadonlyArray<Touch>, moved: ReadonlyArray<Moved>): ReadonlyArray<Touch> => {
  const found: Array<Touch> = []
  let latest = touches
  for (let round = 0; round < 4 && latest.length > 0 && moved.length > 0; round++) {
    latest = latest.flatMap((touch) =>
      touch._tag !== "Reads" && touch._tag !== "Writes" ? [] : moved.flatMap((one) => before(touch, one)),
    )
    found.push(...latest.slice(0, 200))
  }
  return found
}
