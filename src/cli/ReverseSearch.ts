/** Owns Ctrl-R: looking for an earlier line by a part of it. Pure: keys in, a state or an outcome out. */

export interface Search {
  readonly query: string
  /** How many matches to skip. */
  readonly skip: number
}

export type Outcome =
  | { readonly _tag: "Searching"; readonly search: Search }
  /** `rest`: what was typed behind the key that ended it. */
  | { readonly _tag: "Taken"; readonly line: string; readonly rest: string }
  | { readonly _tag: "Left" }

export const start: Search = { query: "", skip: 0 }

/** The match that is shown. */
export const matching = ({ query, skip }: Search, lines: ReadonlyArray<string>): string | undefined =>
  query === "" ? undefined : lines.filter((line) => line.toLowerCase().includes(query.toLowerCase()))[skip]

export const press = (search: Search, keys: string, lines: ReadonlyArray<string>): Outcome => {
  let { query, skip } = search
  for (const [at, key] of [...keys].entries()) {
    const code = key.codePointAt(0) ?? 0
    if (key === "\u0012") skip = matching({ query, skip: skip + 1 }, lines) === undefined ? skip : skip + 1
    else if (key === "\u0003" || key === "\u0007") return { _tag: "Left" }
    else if (key === "\u007f" || key === "\b") [query, skip] = [[...query].slice(0, -1).join(""), 0]
    else if (code >= 0x20) [query, skip] = [query + key, 0]
    else {
      // Any other key takes the match; Enter then sends it, an arrow moves in it, and Escape does nothing more.
      const found = matching({ query, skip }, lines)
      const rest = [...keys].slice(at).join("")
      return found === undefined
        ? { _tag: "Left" }
        : { _tag: "Taken", line: found, rest: rest === "\u001b" ? "" : rest }
    }
  }
  return { _tag: "Searching", search: { query, skip } }
}
