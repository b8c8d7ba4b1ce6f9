/** Owns which occurrences of an event a group of hooks is for: everything, a list of names, or a pattern. Pure. */
import { canonical } from "../policy/Rule.ts"
import { type HookEventName, isToolEvent, specOf } from "./HookEvents.ts"

export interface Matcher {
  /** As it was written; empty for everything. */
  readonly text: string
  readonly matches: (subject: string | undefined) => boolean
}

export const everything: Matcher = { text: "", matches: () => true }

/** A pattern is run against short names only; a longer one than this nobody means. */
const longest = 1_000
/** No tool, file or server has a longer name; a slow pattern must not be given time. */
const longestSubject = 1_000

const list = /^[A-Za-z0-9_\- ,|]+$/
const narrowList = /^[A-Za-z0-9_|]+$/
/** A repetition of something that repeats itself: such a pattern can take forever to say no. */
const runaway = /\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)\s*(?:[+*]|\{\d+,)/

/** Fails with what is wrong with the matcher. */
export const make = (
  event: HookEventName,
  text: string,
): { readonly matcher: Matcher } | { readonly problem: string } => {
  const { matcher } = specOf(event)
  if (matcher === undefined || text === "" || text === "*") return { matcher: { ...everything, text } }
  if (text.length > longest) return { problem: `the matcher has more than ${longest} characters` }
  if ((matcher.narrow === true ? narrowList : list).test(text)) {
    const names = new Set(
      text
        .split(matcher.narrow === true ? "|" : /[|,]/)
        .map((name) => name.trim())
        .map((name) => (isToolEvent(event) ? canonical(name) : name)),
    )
    return { matcher: { text, matches: (subject) => subject !== undefined && names.has(subject) } }
  }
  if (runaway.test(text)) {
    return {
      problem: `the matcher "${text}" repeats a repetition, which can take forever; write it without one inside another`,
    }
  }
  try {
    const pattern = new RegExp(text)
    return {
      matcher: {
        text,
        matches: (subject) => subject !== undefined && subject.length <= longestSubject && pattern.test(subject),
      },
    }
  } catch (cause) {
    return {
      problem: `the matcher is no regular expression: ${cause instanceof Error ? cause.message : String(cause)}`,
    }
  }
}

/** The files that a matcher of `FileChanged` asks to watch: each part is a name, whatever is in it. */
export const watchedNames = ({ text }: Matcher): ReadonlyArray<string> =>
  text
    .split("|")
    .map((name) => name.trim())
    .filter((name) => name !== "")
