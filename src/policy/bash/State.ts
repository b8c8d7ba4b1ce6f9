/**
 * Owns what is known at one point of a shell line: where it stands, what its variables may hold, which functions exist for sure.
 *
 * States are joined where ways meet: a fact survives only if it holds on both, a set of possibilities becomes the union.
 */

/** One argument a word becomes, as far as it can be known without running anything. */
export type Field =
  | { readonly kind: "literal"; readonly text: string }
  /** Zero or more names of files that match; `pattern` has its literal characters escaped. */
  | { readonly kind: "pattern"; readonly text: string; readonly pattern: string }
  /** `many`: any number of words. `number`: digits, perhaps with a minus sign. */
  | { readonly kind: "unknown"; readonly text: string; readonly many: boolean; readonly number: boolean }

export const literal = (text: string): Field => ({ kind: "literal", text })
/** Its text is for people, so there is a limit to it. */
export const unknown = (text: string, many = false, number = false): Field => ({
  kind: "unknown",
  text: text.length > 200 ? `${text.slice(0, 200)}…` : text,
  many,
  number,
})

/** What a variable may hold, one of these. */
export type Value = ReadonlyArray<Field>

export interface State {
  /** Where the line may stand; `undefined`: anywhere. */
  cwds: ReadonlyArray<string> | undefined
  /** Where it stands if the `cd` just before failed. */
  otherwise: ReadonlyArray<string> | undefined | "same"
  /** Variables assigned on every way to here. A missing one has the value it was inherited with. */
  vars: Map<string, Value>
  /** Functions defined on every way to here. */
  defined: Set<string>
  /** The shell has ended: nothing behind it runs. */
  dead: boolean
}

const most = 8

export const start = (cwd: string, home: string): State => ({
  cwds: [cwd],
  otherwise: "same",
  vars: new Map([["HOME", [literal(home)]]]),
  defined: new Set(),
  dead: false,
})

export const clone = (state: State): State => ({
  ...state,
  vars: new Map(state.vars),
  defined: new Set(state.defined),
})

/** Everything of `from`, put in place of what `state` knew. */
export const become = (state: State, from: State): void => {
  state.cwds = from.cwds
  state.otherwise = from.otherwise
  state.vars = from.vars
  state.defined = from.defined
  state.dead = from.dead
}

const sameField = (a: Field, b: Field): boolean => a.kind === b.kind && a.text === b.text

/** The union of two sets of values; too many of them are one that is not known. */
export const either = (a: Value, b: Value): Value => {
  const all = [...a, ...b.filter((field) => !a.some((other) => sameField(field, other)))]
  if (all.length <= most) return all
  return [unknown("", true, all.every(isNumber))]
}

export const isNumber = (field: Field): boolean =>
  field.kind === "unknown" ? field.number : field.kind === "literal" && /^-?\d{1,18}$/.test(field.text)

const places = (
  a: ReadonlyArray<string> | undefined,
  b: ReadonlyArray<string> | undefined,
): ReadonlyArray<string> | undefined => {
  if (a === undefined || b === undefined) return undefined
  const all = [...new Set([...a, ...b])]
  return all.length > 4 ? undefined : all
}

export const join = (a: State, b: State): State => {
  if (a.dead) return b
  if (b.dead) return a
  settle(a)
  settle(b)
  const vars = new Map<string, Value>()
  for (const [name, value] of a.vars) {
    const other = b.vars.get(name)
    if (other !== undefined) vars.set(name, value === other ? value : either(value, other))
  }
  return {
    cwds: places(a.cwds, b.cwds),
    otherwise: "same",
    vars,
    defined: new Set([...a.defined].filter((name) => b.defined.has(name))),
    dead: false,
  }
}

/** A `cd` whose success nobody looked at may have failed. */
export const settle = (state: State): void => {
  if (state.otherwise === "same") return
  state.cwds = places(state.cwds, state.otherwise)
  state.otherwise = "same"
}

/** Forgets what a repeated part assigns, before it is looked at once for all its rounds. What is only counted stays a number. */
export const forget = (state: State, names: ReadonlySet<string> | "all", counted?: ReadonlySet<string>): void => {
  if (names === "all") return state.vars.clear()
  for (const [name, value] of state.vars) {
    if (names.has(name)) state.vars.set(name, [unknown(`$${name}`, true)])
    else if (counted?.has(name) === true) state.vars.set(name, [unknown(`$${name}`, true, value.every(isNumber))])
  }
}
