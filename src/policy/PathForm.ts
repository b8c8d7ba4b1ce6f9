/** Owns how the specifier of a path rule is written: its anchor, its gitignore pattern, and what is wrong with that. */

/** `source`: the directory that belongs to the settings which hold the rule. */
export type Anchor = "root" | "home" | "source" | "cwd"

export interface PathForm {
  readonly anchor: Anchor
  readonly pattern: string
  /** It takes paths out of the rules before it. */
  readonly negated: boolean
}

/** The four anchors. `//` is the root of the disk, `/` the directory of the settings, `~/` home, everything else the session's directory. */
export const read = (specifier: string): PathForm => {
  const negated = specifier.startsWith("!")
  const path = (negated ? specifier.slice(1) : specifier).normalize("NFC")
  const drive = /^([A-Za-z]):[\\/](.*)$/su.exec(path)
  const form = (anchor: Anchor, pattern: string): PathForm => ({ anchor, pattern, negated })
  if (drive !== null) {
    return form("root", `/${(drive[1] ?? "").toLowerCase()}/${(drive[2] ?? "").replaceAll("\\", "/")}`)
  }
  if (path.startsWith("//")) return form("root", path.slice(1))
  if (path === "~" || path.startsWith("~/")) return form("home", path === "~" ? "/**" : path.slice(1))
  if (path.startsWith("/")) return form("source", path)
  return form("cwd", path.startsWith("./") ? path.slice(1) : path === "." ? "/**" : path)
}

/** What gitignore could not read. */
export const flaw = (pattern: string): { readonly at: number; readonly what: string } | undefined => {
  let bracket = -1
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern.charAt(i)
    if (char === "\\") {
      if (i === pattern.length - 1) return { at: i, what: "ends in a backslash" }
      i++
    } else if (char === "[" && bracket === -1) bracket = i
    else if (char === "]" && bracket !== -1 && i > bracket + 1) bracket = -1
  }
  return bracket === -1 ? undefined : { at: bracket, what: "has a bracket that is not closed" }
}

/** A path as the pattern that fits only it. */
export const escape = (path: string): string => path.replace(/[\\*?[\]!#]/g, (char) => `\\${char}`)
