/**
 * Owns how path rules find files: gitignore patterns under the directory each rule is anchored at.
 *
 * Names are compared in one Unicode form; rules that forbid or ask fold case too, for there are disks that do. A path equal to the
 * directory of a pattern like `secrets/**` is forbidden with its content, and is not allowed with it.
 */
import ignore from "ignore"
import { normal } from "./CommandPattern.ts"
import type { Behavior, Rule } from "./Rule.ts"
import * as GlobOverlap from "./GlobOverlap.ts"

export interface Place {
  /** Where the session was opened: what a rule without an anchor is relative to. */
  readonly cwd: string
  readonly home: string
}

/** A rule's pattern under its absolute directory. */
export interface Anchored {
  readonly base: string
  readonly pattern: string
}

export interface PathMatcher {
  /** Whether the file at an absolute path is meant. */
  readonly has: (path: string) => boolean
  /** Whether something a shell may make of the glob is meant. */
  readonly mayHave: (glob: string, hidden: boolean) => boolean
}

type PathForm = Extract<Rule, { readonly _tag: "Path" }>

const above = (directory: string): string => directory.slice(0, Math.max(1, directory.lastIndexOf("/")))

const resolved = (path: string): string => {
  const names: Array<string> = []
  for (const name of path.split("/")) {
    if (name === "..") names.pop()
    else if (name !== "" && name !== ".") names.push(name)
  }
  return `/${names.join("/")}`
}

const posix = (path: string): string => {
  const drive = /^([A-Za-z]):[\\/]/.exec(path)
  const plain = drive === null ? path : `/${(drive[1] ?? "").toLowerCase()}/${path.slice(3).replaceAll("\\", "/")}`
  return /\/(?:\.{0,2}\/|\.{0,2}$)/.test(plain) ? resolved(plain) : plain
}

/** `root`: the directory that belongs to the rule's source. */
export const anchor = (rule: PathForm, behavior: Behavior, place: Place, root: string): Anchored => {
  let base = posix({ root: "/", home: place.home, source: root, cwd: place.cwd }[rule.anchor])
  let pattern = rule.pattern
  while (pattern.startsWith("../")) {
    base = above(base)
    pattern = pattern.slice(3)
    if (!pattern.startsWith("../")) pattern = `/${pattern}`
  }
  if (pattern === "" || pattern === "/") return { base, pattern: "/**" }
  if (pattern === "..") return { base: above(base), pattern: "/**" }
  // `src/**` allows only the one directory; forbidding, it also means those further down that have the name.
  if (/^[^/]+\/\*\*$/.test(pattern) && !pattern.startsWith("**")) {
    pattern = behavior === "allow" ? `/${pattern}` : `**/${pattern}`
  }
  return { base, pattern: pattern.startsWith("#") ? `\\${pattern}` : pattern }
}

/** The text of `path`, folded on demand, below `base`; empty for the directory itself, `undefined` when it lies elsewhere. */
const below = (base: string, path: string, fold: boolean): string | undefined => {
  const a = fold ? base.toLowerCase() : base
  const b = fold ? path.toLowerCase() : path
  if (a === b) return ""
  if (a === "/") return b.startsWith("/") ? b.slice(1) : undefined
  return b.startsWith(a) && b.charAt(a.length) === "/" ? b.slice(a.length + 1) : undefined
}

const everything = new Set(["/**", "**", "*", "/*", "**/*", "/**/*"])

/** So many answers are remembered by the matcher underneath before it starts afresh. */
const remembered = 2_000

/** One matcher for patterns of the same directory; `except` takes paths out again. */
export const matcher = (
  base: string,
  patterns: ReadonlyArray<string>,
  behavior: Behavior,
  except: ReadonlyArray<string> = [],
): PathMatcher => {
  const tightens = behavior !== "allow"
  const directory = base.normalize("NFC")
  // Forbidding a directory's content forbids the directory: reading it as a whole reads what is in it.
  const written = patterns.map((pattern) =>
    tightens && pattern.endsWith("/**") && pattern.length > 3 ? pattern.slice(0, -2) : pattern,
  )
  const all = patterns.some((pattern) => everything.has(pattern)) && except.length === 0
  const build = () => ignore({ ignorecase: tightens }).add([...written, ...except.map((pattern) => `!${pattern}`)])
  let inner: ReturnType<typeof build> | undefined
  let asked = 0
  const test = (relative: string): boolean => {
    if (asked++ % remembered === 0 || inner === undefined) inner = build()
    // As a directory it is also meant by patterns that mean only those.
    return inner.ignores(tightens ? `${relative}/` : relative)
  }
  const has = (path: string): boolean => {
    const relative = below(directory, normal(posix(path)), tightens)
    if (relative === undefined) return false
    if (relative === "") return tightens && all
    return all || test(relative)
  }
  let shapes: ReadonlyArray<ReadonlyArray<GlobOverlap.Segment>> | undefined
  const mayHave = (glob: string, hidden: boolean): boolean => {
    shapes ??= patterns.map((pattern) => GlobOverlap.segments(absolute(directory, pattern)))
    const shape = GlobOverlap.segments(posix(glob))
    return shapes.some((one) => GlobOverlap.overlaps(shape, one, hidden))
  }
  return { has, mayHave }
}

/** The absolute pattern for everything that a gitignore pattern means, content of directories included. */
const absolute = (base: string, pattern: string): string => {
  const bare = pattern.replace(/\/$/, "")
  const anchored = bare.startsWith("/") || bare.slice(0, -1).includes("/")
  const content = bare.endsWith("/**") ? bare : `${bare}/**`
  return `${GlobOverlap.literal(base)}/${anchored ? "" : "**/"}${content}`
}

/** Cd rules mean the whole path of a directory: `*` one segment, `**` any number, a last `/**` the directory itself too. */
export const directoryMatcher = ({ base, pattern }: Anchored): PathMatcher => {
  const full = pattern.startsWith("/")
    ? `${base === "/" ? "" : base}${pattern}`
    : pattern.startsWith("**")
      ? `/${pattern}`
      : `${base}/${pattern}`
  const shape = GlobOverlap.segments(full)
  const has = (path: string) =>
    GlobOverlap.overlaps(GlobOverlap.segments(GlobOverlap.literal(posix(path))), shape, true)
  return { has, mayHave: has }
}
