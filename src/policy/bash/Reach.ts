/** Owns turning words into touched paths, seen from everywhere the line may stand. */
import type { Touch } from "../Effects.ts"
import type { Context } from "./Context.ts"
import * as Glob from "./Glob.ts"
import type { How } from "./Others.ts"
import * as Place from "./Place.ts"
import type { Field, State } from "./State.ts"

export type Access =
  /**
   * `deep`: everything below, too; only what git tracks of it; only what stands directly in it, links followed. `byText`: `..` is
   * taken from the name, as cd does, wherever links lead.
   */
  | {
      readonly reads: true
      readonly deep?: boolean | "tracked" | "children"
      readonly possible?: boolean
      readonly byText?: true
    }
  /** `names`: the pattern that gives its files their names. */
  | { readonly how: How; readonly names?: string }

/** Notes what is touched. Returns why the place is not certain, if so. */
export const reach = (field: Field, access: Access, state: State, context: Context): string | undefined => {
  if (field.kind === "unknown") {
    context.touches.push({ _tag: "Unknown", why: `${field.text} may name any file` })
    return `what ${field.text} stands for is not known`
  }
  const isPattern = field.kind === "pattern"
  const path = isPattern ? field.pattern : field.text
  if (path === "") return undefined
  const host = Place.socketHost(path)
  if (host !== undefined) {
    context.touches.push({ _tag: "Connects", host })
    return `it connects to ${host}`
  }
  if (Place.isStream(path)) return undefined
  const isAbsolute = path.startsWith("/")
  if (!isAbsolute && state.cwds === undefined) {
    context.touches.push({ _tag: "Unknown", why: `${field.text} is relative to a directory that is not known` })
    return "the directory it stands in is not known"
  }
  const isByText = "reads" in access && access.byText === true
  const back = `${field.text} goes back out of a directory that may be a link`
  let doubt = isByText || Place.isLexical(path) ? undefined : back
  for (const cwd of isAbsolute ? ["/"] : places(state)) {
    const base = isPattern ? Glob.escape(cwd) : cwd
    const names = "how" in access && access.names !== undefined ? Place.resolve(base, access.names) : undefined
    note(Place.resolve(base, path), isPattern, names === undefined ? access : { ...access, names }, context)
    const isReal = context.place.cwd === cwd || context.place.cwd.startsWith(cwd === "/" ? "/" : `${cwd}/`)
    if (!isByText && !isAbsolute && !isReal && /^(?:\.\/+)*\.\.(?:\/|$)/.test(path)) doubt ??= back
  }
  // The disk may know another place for it than the text.
  if (doubt !== undefined) context.touches.push({ _tag: "Unknown", why: doubt })
  return doubt
}

/** After a `cd` that nobody checked, both places are possible. */
const places = (state: State): ReadonlyArray<string> => {
  const others = state.otherwise === "same" || state.otherwise === undefined ? [] : state.otherwise
  return [...new Set([...(state.cwds ?? []), ...others])]
}

const note = (path: string, isPattern: boolean, access: Access, context: Context): void => {
  if ("how" in access) {
    const { how, names } = access
    const pattern = isPattern && { pattern: true as const, ...(names !== undefined && { names }) }
    context.touches.push({ _tag: "Writes", path, how, ...pattern })
    return
  }
  const possible = access.possible === true && { possible: true as const }
  context.touches.push({ _tag: "Reads", path, ...(isPattern && { pattern: true }), ...possible })
  if (access.deep === undefined || access.deep === false) return
  const tracked = access.deep === "tracked" && { tracked: true as const }
  const below = (isPattern ? path : Glob.escape(path)).replace(/\/$/, "")
  for (const name of access.deep === "children" ? ["*", ".*"] : ["**"])
    context.touches.push({ _tag: "Reads", path: `${below}/${name}`, pattern: true, ...tracked, ...possible })
}

/** The same touches once. */
export const distinct = (touches: ReadonlyArray<Touch>): ReadonlyArray<Touch> => {
  if (touches.length < 2) return touches
  const seen = new Set<string>()
  return touches.filter((touch) => {
    const key = JSON.stringify(touch)
    return !seen.has(key) && seen.add(key) !== undefined
  })
}
