/** Owns which skills the files under work bring in: those of directories below, and those that wait for files of a kind (`paths`). */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { isFolders, type Skill } from "./Skill.ts"

export interface Activation {
  /** Directories below whose own skills count. */
  readonly nested: () => ReadonlyArray<string>
  /** Whether a skill may be offered to the model. */
  readonly isActive: (skill: Skill) => boolean
  /** Work has come to these files; answers whether new directories count now. */
  readonly enter: (paths: ReadonlyArray<string>) => Effect.Effect<boolean>
  /** Wakes those that wait for one of the files seen so far; answers the names of those it woke. */
  readonly wake: (skills: ReadonlyArray<Skill>) => Effect.Effect<ReadonlyArray<string>>
}

/** Files that are remembered for skills which are found later. */
const remembered = 1_000

export const make = Effect.fnUntraced(function* (cwd: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const looked = new Set<string>()
  const nested: Array<string> = []
  const awake = new Set<string>()
  const seen = new Set<string>()

  const isBelow = (at: string, top: string) => at.startsWith(top.endsWith(path.sep) ? top : top + path.sep)

  const enter = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
    const before = nested.length
    for (const given of paths) {
      const file = path.resolve(cwd, given)
      seen.add(file)
      if (seen.size > remembered) for (const oldest of [...seen].slice(0, 1)) seen.delete(oldest)
      for (let at = path.dirname(file); isBelow(at, cwd) && !looked.has(at); at = path.dirname(at)) {
        looked.add(at)
        const exists = fs.exists(path.join(at, ".claude", "skills"))
        if (yield* Effect.orElseSucceed(exists, () => false)) nested.push(at)
      }
    }
    return nested.length > before
  })

  /** Patterns are relative to the directory that has the `.claude`; those of a person to where the session works. */
  const baseOf = ({ source }: Skill): string =>
    isFolders(source) ? path.resolve(source.directory, "..", "..", "..") : cwd

  const wake = Effect.fnUntraced(function* (skills: ReadonlyArray<Skill>) {
    const waiting = skills.filter(({ name, paths }) => paths.length > 0 && !awake.has(name))
    if (waiting.length === 0 || seen.size === 0) return []
    const { default: picomatch } = yield* Effect.promise(() => import("picomatch"))
    return waiting.flatMap((skill) => {
      const base = baseOf(skill)
      const fits = matcher(picomatch, skill.paths)
      const hit = [...seen].some(
        (file) => isBelow(file, base) && fits(path.relative(base, file).split(path.sep).join("/")),
      )
      if (hit) awake.add(skill.name)
      return hit ? [skill.name] : []
    })
  })

  const activation: Activation = {
    nested: () => nested,
    isActive: ({ name, paths }) => paths.length === 0 || awake.has(name),
    enter,
    wake,
  }
  return activation
})

type Compile = (pattern: string, options: { readonly dot: boolean }) => (text: string) => boolean

/** A pattern that cannot be read, or that would expand to thousands, matches nothing; the others still count. */
const matcher = (compile: Compile, patterns: ReadonlyArray<string>): ((text: string) => boolean) => {
  const all = patterns.slice(0, 1_000).flatMap((pattern) => {
    const groups = pattern.match(/\{[^{}]*\}/g) ?? []
    const expanded = groups.reduce((product, group) => product * group.split(",").length, 1)
    if (pattern.length > 1_000 || expanded > 1_000) return []
    try {
      const bare = pattern.replace(/^\.?\//, "")
      return [compile(bare.endsWith("/") ? `${bare}**` : bare, { dot: true })]
    } catch {
      return []
    }
  })
  return (text) => all.some((fits) => fits(text))
}
