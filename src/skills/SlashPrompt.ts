/** Owns what a person means who begins a prompt with a slash: which skills, with which arguments. Pure. */
import { distance } from "../platform/Near.ts"
import type { Skill } from "./Skill.ts"

export type Meant =
  /** No command: a path, a comment, an ordinary sentence; or one that the front door answers itself. */
  | { readonly _tag: "Prompt" }
  | { readonly _tag: "Unknown"; readonly name: string; readonly near: ReadonlyArray<string> }
  | { readonly _tag: "Skills"; readonly skills: ReadonlyArray<Skill>; readonly args: string }

/** The first one, and so many more behind it. */
const mostStacked = 6

export interface Known {
  readonly find: (name: string) => Skill | undefined
  readonly names: ReadonlyArray<string>
  /** Commands of the front door. */
  readonly builtins: ReadonlyArray<string>
}

export const read = (text: string, { builtins, find, names }: Known): Meant => {
  const [, name = "", rest = ""] = /^\s*\/(\S+)(?:\s+([\s\S]*))?$/.exec(text) ?? []
  if (name === "" || builtins.includes(name)) return { _tag: "Prompt" }
  const first = find(name)
  if (first === undefined) {
    // `/usr/bin/env`, `//`, `/*`: nobody names a command so.
    if (!/^[\p{L}\p{N}][\p{L}\p{N}_.:-]*$/u.test(name)) return { _tag: "Prompt" }
    return { _tag: "Unknown", name, near: nearestOf(name, [...names, ...builtins]) }
  }
  const skills = [first]
  let args = rest
  while (skills.length < mostStacked && isStackable(skills.at(-1))) {
    const [, next = "", more = ""] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(args) ?? []
    const skill = next === "" ? undefined : find(next)
    if (skill === undefined || !isStackable(skill) || skills.includes(skill)) break
    skills.push(skill)
    args = more
  }
  return { _tag: "Skills", skills, args: args.trimEnd() }
}

/** One that runs elsewhere takes everything behind it as its arguments. */
const isStackable = (skill: Skill | undefined): boolean =>
  skill !== undefined && skill.userInvocable && skill.fork === undefined

/** Up to three names that may have been meant. */
export const nearestOf = (name: string, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const wanted = name.toLowerCase()
  const most = Math.max(2, Math.floor(name.length / 3))
  const farness = (candidate: string) => {
    const other = candidate.toLowerCase()
    return other.startsWith(wanted) || (wanted.length > 3 && other.includes(wanted)) ? 0 : distance(wanted, other)
  }
  return [...new Set(names)]
    .map((candidate) => ({ candidate, far: farness(candidate) }))
    .filter(({ far }) => far <= most)
    .sort((a, b) => a.far - b.far || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 3)
    .map(({ candidate }) => candidate)
}

/** For people. */
export const unknownCommand = ({ name, near }: Extract<Meant, { readonly _tag: "Unknown" }>): string =>
  `There is no command /${name}.${near.length === 0 ? "" : ` Did you mean ${near.map((one) => `/${one}`).join(" or ")}?`} /help lists them all.`
