/** Owns the verdict about one command once its words are known: what it runs in the end, what that touches, whether it only reads. */
import { builtin } from "./Builtins.ts"
import { type Context, deeper } from "./Context.ts"
import { readFind } from "./Find.ts"
import { readGit } from "./Git.ts"
import * as Links from "./Links.ts"
import { touching } from "./Others.ts"
import { reach } from "./Reach.ts"
import * as Readers from "./Readers.ts"
import type { Verdict } from "./SimpleCommand.ts"
import { type Field, forget, literal, type State } from "./State.ts"
import { isFlaglessXargs, shellCall, unwrap } from "./Unwrap.ts"

/** What the walk through the line offers. */
export interface Walk {
  /** Looks at text as a line of its own. `here`: in this shell, otherwise in a new one. */
  readonly nested: (
    text: string,
    state: State,
    context: Context,
    here: boolean,
  ) => { readonly why: string; readonly seen: ReadonlyArray<string> }
  /** Looks at the bodies a function may have. Returns why they are not read-only. */
  readonly call: (name: string, args: ReadonlyArray<Field>, state: State, context: Context) => string
}

export const textOf = (words: ReadonlyArray<Field>): string => words.map(({ text }) => text).join(" ")

const verdict = (words: ReadonlyArray<Field>, why: string, more: Partial<Verdict> = {}): Verdict => ({
  why,
  inside: [],
  prefixAllowable: true,
  needsCleanGit: false,
  ...more,
  seen: [...seenAs(words), ...(more.seen ?? [])],
})

/** As written, and with the program by its base name. */
const seenAs = (words: ReadonlyArray<Field>): ReadonlyArray<string> => {
  const text = textOf(words)
  const program = words[0]?.text ?? ""
  if (!program.includes("/")) return [text]
  return [text, program.slice(program.lastIndexOf("/") + 1) + text.slice(program.length)]
}

export const judge = (words: ReadonlyArray<Field>, state: State, context: Context, walk: Walk): Verdict => {
  let result: Verdict | undefined
  deeper(context, () => {
    result = judged(words, state, context, walk)
  })
  return result ?? verdict(words, "it is nested too deeply")
}

const judged = (words: ReadonlyArray<Field>, state: State, context: Context, walk: Walk): Verdict => {
  const [first, ...args] = words
  if (first === undefined) return verdict(words, "")
  if (first.kind !== "literal") {
    context.touches.push({ _tag: "Unknown", why: `${first.text} may be any program` })
    touchOthers("", args, state, context)
    anything(state)
    return verdict(words, `which program ${first.text} is, is not known`, { prefixAllowable: false })
  }
  if (context.functions.has(first.text)) {
    const why = walk.call(first.text, args, state, context)
    // Before it is defined, or where it may not be, the name is a program.
    if (state.defined.has(first.text)) return verdict(words, why)
    const other = program(words, first.text, args, state, context, walk)
    return { ...other, why: why === "" ? other.why : why }
  }
  return program(words, first.text, args, state, context, walk)
}

/** Programs of the system by their full name are themselves; any other path is a program nobody knows. */
const nameOf = (text: string): string | undefined => {
  if (!text.includes("/")) return text
  return /^(?:\/usr)?\/bin\/[^/]+$/.test(text) ? text.slice(text.lastIndexOf("/") + 1) : undefined
}

const program = (
  words: ReadonlyArray<Field>,
  given: string,
  args: ReadonlyArray<Field>,
  state: State,
  context: Context,
  walk: Walk,
): Verdict => {
  const name = nameOf(given)
  const base = given.slice(given.lastIndexOf("/") + 1)
  if (given === "command" && /^-[vV]$/.test(args[0]?.text ?? "")) {
    const open = args.find((field) => field.kind !== "literal")
    return verdict(words, open === undefined ? "" : `what ${open.text} stands for is not known`)
  }
  const wrapped = unwrap(base, args)
  if (wrapped !== undefined && !(base === "env" && wrapped.inner.length === 0)) {
    return unwrapped(words, base, args, wrapped, name !== undefined, state, context, walk)
  }
  context.touches.push({ _tag: "Executes", program: base, argv: words.map(({ text }) => text) })
  if (wrapped !== undefined) return verdict(words, wrapped.why)
  const shell = shellCall(base, args)
  if (shell !== undefined && !(args.length === 1 && args[0]?.text === "--version")) {
    return shelled(words, shell, name !== undefined, state, context, walk)
  }
  if (base === "eval" || base === "trap" || base === "source" || base === ".") {
    return evaluated(words, base, args, state, context, walk)
  }
  if (base === "find") return found(words, args, name !== undefined, state, context, walk)
  if (base === "git") return git(words, args, name !== undefined, state, context)
  if (given === base) {
    const why = builtin(given, args, state, context)
    if (why !== undefined) return verdict(words, why)
  }
  const reading = Readers.reading(base, args)
  if (reading === undefined || (reading.why !== undefined && !/stands for|may match/.test(reading.why))) {
    const why = touchOthers(base, args, state, context)
    // An option that nobody expected may be one that follows links.
    if (reading?.deep === true) {
      for (const field of reading.reads) reach(field, { reads: true, deep: true }, state, context)
      context.touches.push({ _tag: "Unknown", why: `${base} may follow links to anywhere` })
    }
    return verdict(words, reading?.why ?? (why === "" ? `${base} is not known to only read` : why))
  }
  let doubt = reading.why
  for (const field of reading.reads) {
    const found = reach(field, { reads: true, deep: reading.deep }, state, context)
    doubt ??= found
  }
  if (name === undefined) doubt ??= `${given} is not a program of the system`
  return verdict(words, doubt ?? "")
}

const unwrapped = (
  words: ReadonlyArray<Field>,
  base: string,
  args: ReadonlyArray<Field>,
  wrapped: NonNullable<ReturnType<typeof unwrap>>,
  isSystem: boolean,
  state: State,
  context: Context,
  walk: Walk,
): Verdict => {
  context.touches.push({ _tag: "Executes", program: base, argv: words.map(({ text }) => text) })
  if (wrapped.locks !== undefined) reach(wrapped.locks, { how: "create" }, state, context)
  const file = base === "xargs" ? args.find((_field, at) => args[at - 1]?.text === "-a") : undefined
  if (file !== undefined) reach(file, { reads: true }, state, context)
  const seen: Array<string> = []
  for (const text of wrapped.texts) {
    if (text.kind === "literal") seen.push(...walk.nested(text.text, state, context, false).seen)
    else context.touches.push({ _tag: "Unknown", why: `${text.text} may be any command` })
  }
  if (base === "npx" || base === "bunx" || base === "uvx") {
    context.touches.push({ _tag: "Unknown", why: `${base} fetches and runs a package` })
  }
  if (wrapped.inner.length === 0) return verdict(words, wrapped.why, { seen, prefixAllowable: wrapped.prefixAllowable })
  // Wrappers are programs or ask for one: what they run is never a function, and changes nothing in this shell.
  const apart: State = { ...state, vars: new Map(state.vars), defined: new Set(state.defined) }
  const isShells = base === "command" || base === "builtin" || base === "time"
  const inner = judge(wrapped.inner, isShells ? state : apart, { ...context, functions: new Map() }, walk)
  const isOpen = wrapped.transparent || isFlaglessXargs(base, args)
  const isTame = wrapped.harmless && isSystem
  const isBuiltin =
    !isShells && /^(?:cd|export|read|set|eval|source|\.|declare|local|exit)$/.test(wrapped.inner[0]?.text ?? "")
  return verdict(words, isTame ? (isBuiltin ? `${base} cannot run a builtin` : inner.why) : wrapped.why, {
    seen: [...seen, ...inner.seen],
    inside: isOpen ? [textOf(base === "xargs" ? wrapped.inner.slice(0, -1) : wrapped.inner), ...inner.inside] : [],
    prefixAllowable: wrapped.prefixAllowable && inner.prefixAllowable,
    needsCleanGit: isTame && inner.needsCleanGit,
  })
}

const shelled = (
  words: ReadonlyArray<Field>,
  { file, plain, source }: NonNullable<ReturnType<typeof shellCall>>,
  isSystem: boolean,
  state: State,
  context: Context,
  walk: Walk,
): Verdict => {
  if (source?.kind === "literal") {
    const { seen, why } = walk.nested(source.text, state, context, false)
    // Other shells read some lines differently: `[[ a > b ]]` writes a file in a shell that does not know `[[`.
    return verdict(words, plain && isSystem ? why : "only bash itself is followed into a shell", { seen })
  }
  if (file !== undefined) reach(file, { reads: true }, state, context)
  const what = source ?? file
  context.touches.push({ _tag: "Unknown", why: `the shell runs ${what === undefined ? "what it reads" : what.text}` })
  return verdict(words, "it starts a shell whose commands are not known")
}

const evaluated = (
  words: ReadonlyArray<Field>,
  base: string,
  args: ReadonlyArray<Field>,
  state: State,
  context: Context,
  walk: Walk,
): Verdict => {
  const why = `${base} runs text as commands`
  const given = base === "trap" ? args.filter(({ text }) => text !== "--").slice(0, 1) : args
  if ((base === "eval" || base === "trap") && given.every((field) => field.kind === "literal")) {
    const { seen } = walk.nested(textOf(given), state, context, base === "eval")
    return verdict(words, why, { seen })
  }
  const [file] = args
  if (base === "source" || base === ".") if (file !== undefined) reach(file, { reads: true }, state, context)
  context.touches.push({ _tag: "Unknown", why: `${base} runs commands that are not known` })
  anything(state)
  return verdict(words, why)
}

/** Nothing is known any more. */
const anything = (state: State): void => {
  forget(state, "all")
  state.cwds = undefined
}

const found = (
  words: ReadonlyArray<Field>,
  args: ReadonlyArray<Field>,
  isSystem: boolean,
  state: State,
  context: Context,
  walk: Walk,
): Verdict => {
  const call = readFind(args)
  let { why } = call
  for (const field of call.reads) {
    const doubt = reach(field, { reads: true, deep: call.commands.length > 0 }, state, context)
    if (call.deletes) reach(field, { how: "delete" }, state, context)
    why ??= doubt
  }
  for (const field of call.writes) reach(field, { how: "create" }, state, context)
  const apart: State = { ...state, vars: new Map(state.vars), defined: new Set() }
  const seen = call.commands.flatMap((inner) => {
    const open = inner.map((field): Field =>
      field.text.includes("{}") ? { kind: "unknown", text: field.text, many: false, number: false } : field,
    )
    return judge(open, apart, { ...context, functions: new Map() }, walk).seen
  })
  return verdict(words, why ?? (isSystem ? "" : "it is not a program of the system"), {
    seen,
    prefixAllowable: call.commands.length === 0 && !call.deletes && call.writes.length === 0,
  })
}

const git = (
  words: ReadonlyArray<Field>,
  args: ReadonlyArray<Field>,
  isSystem: boolean,
  state: State,
  context: Context,
): Verdict => {
  const call = readGit(args)
  let doubt = call.why
  for (const field of call.possible) {
    const found = reach(field, { reads: true, possible: true }, state, context)
    doubt ??= found
  }
  if (call.deep) reach(literal("."), { reads: true, deep: true }, state, context)
  if (call.shows === "all") context.touches.push({ _tag: "Reads", path: "/**", pattern: true, tracked: true })
  else for (const field of call.shows ?? []) reach(field, { reads: true, deep: "tracked" }, state, context)
  if (!isSystem) doubt ??= "it is not a program of the system"
  const isHere = state.cwds?.length === 1 && state.cwds[0] === context.place.cwd && state.otherwise === "same"
  const needsCleanGit = doubt === undefined && !call.free
  if (needsCleanGit && !(context.place.cleanGit && isHere)) {
    doubt = isHere
      ? "a repository's configuration can make git run programs"
      : "git would run in a directory that was not checked"
  }
  const seen = call.plain.length === words.length ? [] : [textOf(call.plain)]
  return verdict(words, doubt ?? "", { seen, needsCleanGit: needsCleanGit && isHere })
}

const touchOthers = (base: string, args: ReadonlyArray<Field>, state: State, context: Context): string => {
  const other = touching(base, args)
  for (const field of other.reads) reach(field, { reads: true, deep: other.deep === true }, state, context)
  for (const field of other.possible) reach(field, { reads: true, possible: true }, state, context)
  for (const { field, how, names } of other.writes)
    reach(field, names === undefined ? { how } : { how, names }, state, context)
  for (const host of other.hosts) context.touches.push({ _tag: "Connects", host })
  for (const link of other.links ?? []) Links.note(link, state, context)
  if (other.strange !== undefined)
    context.touches.push({ _tag: "Unknown", why: `what ${other.strange} of ${base} does is not known` })
  return other.why
}
