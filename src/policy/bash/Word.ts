/**
 * Owns what a word of the shell becomes: quotes removed, tildes, braces and known variables expanded, patterns kept as patterns,
 * and everything else unknown. Substitutions inside it are looked at on the way, wherever they hide.
 */
import { type ParameterExpansionPart, parse, type SimpleExpansionPart, type Word, type WordPart } from "unbash"
import { arithmetic, arithmeticText, assigned } from "./Arithmetic.ts"
import { type Context, deeper, problem, shows, step } from "./Context.ts"
import * as Glob from "./Glob.ts"
import * as Names from "./Names.ts"
import { reach } from "./Reach.ts"
import { either, type Field, literal, type State, unknown, type Value } from "./State.ts"

/** The arguments a word may become, one of these lists. */
export type Alternatives = ReadonlyArray<ReadonlyArray<Field>>

const mostAlternatives = 8
const mostBraces = 64

/** Text that grows as parts are put behind each other. */
interface Chunk {
  readonly text: string
  readonly pattern: string
  readonly isPattern: boolean
  readonly open: Field | undefined
}
const nothing: Chunk = { text: "", pattern: "", isPattern: false, open: undefined }

const chunk = (field: Field): Chunk => {
  if (field.kind === "literal")
    return { text: field.text, pattern: Glob.escape(field.text), isPattern: false, open: undefined }
  if (field.kind === "pattern") return { text: field.text, pattern: field.pattern, isPattern: true, open: undefined }
  return { text: field.text, pattern: "", isPattern: false, open: field }
}

const append = (a: Chunk, b: Chunk): Chunk => {
  const open = a.open ?? b.open
  const text = a.text + b.text
  const many = (chunk: Chunk) => chunk.open?.kind === "unknown" && chunk.open.many
  return {
    text,
    pattern: a.pattern + b.pattern,
    isPattern: a.isPattern || b.isPattern,
    open: open === undefined ? undefined : unknown(text, many(a) || many(b), a === nothing && isDigits(b.open)),
  }
}
const isDigits = (field: Field | undefined): boolean => field?.kind === "unknown" && field.number

const toField = (chunk: Chunk): Field => {
  if (chunk.open !== undefined) return chunk.open
  return chunk.isPattern ? { kind: "pattern", text: chunk.text, pattern: chunk.pattern } : literal(chunk.text)
}

/** As an argument: braces, patterns and splitting apply. */
export const fields = (word: Word, state: State, context: Context): Alternatives => {
  if (!step(context)) return [[unknown(word.text, true)]]
  const parts = word.parts
  if (parts === undefined) return [[tilde(word.value, word.text, state)]]
  const brace = parts.find((part) => part.type === "BraceExpansion")
  if (brace !== undefined) return braces(word, brace.pos - word.pos, brace.text, state, context)
  const [only] = parts
  if (parts.length === 1 && only !== undefined && isVariable(only)) {
    return variable(only, false, state, context).map(split)
  }
  const found = combined(word, parts, state, context, false)
  // Whatever is done with the names, the directory they stand in is listed.
  for (const field of found) if (field.kind === "pattern") listed(field.pattern, state, context)
  return found.map((field) => [field])
}

const listed = (pattern: string, state: State, context: Context): void => {
  const before = pattern.slice(0, pattern.search(/[*?[\\]/))
  const slash = before.lastIndexOf("/")
  reach(literal(slash === 0 ? "/" : slash === -1 ? "." : before.slice(0, slash)), { reads: true }, state, context)
}

/** As a value: an assignment, a here-string or a test takes the text as it is. */
export const value = (word: Word, state: State, context: Context): Value => {
  if (!step(context)) return [unknown(word.text, true)]
  const parts = word.parts
  if (parts === undefined) return [/[=:]~/.test(word.text) ? unknown(word.text) : tilde(word.value, word.text, state)]
  return combined(word, parts, state, context, true)
}

/** Looks at what is inside parts whose text itself does not matter. */
export const look = (parts: ReadonlyArray<WordPart> | undefined, state: State, context: Context): void => {
  for (const part of parts ?? []) partOf(part, true, state, context)
}

const combined = (
  word: Word,
  parts: ReadonlyArray<WordPart>,
  state: State,
  context: Context,
  quoted: boolean,
): Value => {
  let chunks: ReadonlyArray<Chunk> = [nothing]
  parts.forEach((part, index) => {
    // Behind `=` or `:` some words have another tilde, depending on what they look like.
    if (part.type === "Literal" && /[=:]~|^~/.test(index === 0 ? part.text.slice(1) : part.text))
      return (chunks = [chunk(unknown(word.text, true))])
    const found =
      index === 0 && part.type === "Literal" && part.text.includes("~")
        ? [tilde(part.value, parts.length === 1 ? part.text : `${part.text}\0`, state)]
        : partOf(part, quoted, state, context)
    chunks =
      chunks.length * found.length > mostAlternatives
        ? [chunk(unknown(word.text, true))]
        : chunks.flatMap((before) => found.map((field) => append(before, chunk(field))))
  })
  return chunks.map((each) => toField(quoted ? { ...each, isPattern: false } : each))
}

/** `~` and `~/…` are the home; what other people's homes are called is not known. */
const tilde = (value: string, text: string, state: State): Field => {
  const at = /^(?:[A-Za-z_][A-Za-z0-9_]*=)?~/.exec(text)
  if (at === null) return /^[A-Za-z_][A-Za-z0-9_]*=.*:~/.test(text) ? unknown(value) : literal(value)
  const name = at[0].length
  const rest = text.slice(name)
  if (rest.includes(":~")) return unknown(value)
  const before = value.slice(0, name - 1)
  const here = state.cwds?.length === 1 ? state.cwds[0] : undefined
  const home = state.vars.get("HOME")
  const [only] = home ?? []
  const behind = value.slice(name)
  if ((rest === "" || rest.startsWith("/")) && home?.length === 1 && only?.kind === "literal") {
    return literal(before + only.text + behind)
  }
  if ((rest === "+" || rest.startsWith("+/")) && here !== undefined && state.otherwise === "same") {
    return literal(before + here + behind.slice(1))
  }
  return unknown(value)
}

type Variable = SimpleExpansionPart | ParameterExpansionPart
const isVariable = (part: WordPart): part is Variable =>
  part.type === "SimpleExpansion" || part.type === "ParameterExpansion"

/** An unquoted value is split at blanks and its words are patterns. */
const split = (field: Field): ReadonlyArray<Field> => {
  if (field.kind === "unknown") return [field]
  if (field.kind === "pattern") return [unknown(field.text, true)]
  return field.text
    .split(/[ \t\n]+/)
    .filter((text) => text !== "")
    .map((text) => {
      // What a backslash means in here depends on what else is there, and on the version of bash.
      if (text.includes("\\")) return unknown(text)
      return /[*?[]/.test(text) ? { kind: "pattern", text, pattern: text } : literal(text)
    })
}

const partOf = (part: WordPart, quoted: boolean, state: State, context: Context): Value => {
  if (!step(context)) return [unknown(part.text, true)]
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
      return [literal(part.value)]
    case "AnsiCQuoted":
      // A NUL ends the text there, `\c` depends on the terminal, `\x{2e}` is a point only to bash, bytes make other characters, what
      // lies beyond ASCII depends on the locale, and a line does not go on in here: nothing honest needs them.
      return /\\(?:0|x0|u0|U0|x\{|c|\n)/.test(part.text) || hasForeignEscape(part.text, part.value)
        ? [unknown(part.text)]
        : [literal(part.value)]
    case "Glob":
      if (part.kind === "bracket" && part.parts.some(({ type }) => type !== "Literal")) {
        look(part.parts, state, context)
        return [unknown(part.text, !quoted)]
      }
      if (quoted) return [part.kind === "bracket" ? unknown(part.text) : literal(part.value)]
      return [{ kind: "pattern", text: part.text, pattern: simpleGlob(part.text) }]
    case "DoubleQuoted":
    case "LocaleString": {
      if (part.type === "LocaleString")
        problem(context, `${part.text} is translated by files that anybody may have written`)
      let chunks: ReadonlyArray<Chunk> = [nothing]
      for (const child of part.parts) {
        const found = partOf(child, true, state, context)
        chunks =
          chunks.length * found.length > mostAlternatives
            ? [chunk(unknown(part.text))]
            : chunks.flatMap((before) => found.map((field) => append(before, chunk(field))))
      }
      return chunks.map(toField)
    }
    case "SimpleExpansion":
    case "ParameterExpansion": {
      const found = variable(part, quoted, state, context)
      // Inside a longer word only plain text stays one word.
      return quoted
        ? found
        : found.map((field) =>
            field.kind === "pattern" || (field.kind === "literal" && /[\s*?[\\]/.test(field.text))
              ? unknown(part.text, true)
              : field,
          )
    }
    case "CommandExpansion":
      if (part.text.startsWith("${")) problem(context, "it uses `${ …; }`, which shells understand differently")
      context.substitution(part.script, state)
      return [unknown(part.text, !quoted)]
    case "ArithmeticExpansion":
      arithmetic(part.expression, state, context, { value, look })
      return [unknown(part.text, false, true)]
    case "ProcessSubstitution":
      context.substitution(part.script, state)
      return [literal("/dev/fd/63")]
    case "ExtendedGlob":
      problem(context, "extended patterns are off in bash unless they are switched on")
      look(part.parts, state, context)
      return [unknown(part.text, true)]
    case "BraceExpansion":
      look(part.parts, state, context)
      return [unknown(part.text, true)]
  }
}

const hasForeignEscape = (text: string, value: string): boolean =>
  /[\0\u0080-\u00ff]/.test(value) || (/\\[uU]/.test(text) && /[^\0-\x7f]/.test(value))

/** Classes are kept if they are plain, otherwise they stand for anything. */
const simpleGlob = (text: string): string =>
  !text.startsWith("[") || /^\[[!^]?[A-Za-z0-9._-]+\]$/.test(text) ? text : "*"

const variable = (part: Variable, quoted: boolean, state: State, context: Context): Value => {
  const many = !quoted
  if (part.type === "SimpleExpansion") return named(part.text.slice(1), part.text, many, state, context)
  const { index, operation, parameter, prefix } = part
  const all = index !== undefined && /^[@*]$/.test(index.text)
  if (index !== undefined && !all) {
    look(index.parts, state, context)
    arithmeticText(index, state, context, { value, look })
  }
  // What quotes mean in here depends on what stands around it.
  if (/['"`\\]/.test(part.text)) problem(context, `${part.text} has quotes inside an expansion`)
  if (prefix === "!") {
    problem(context, `${part.text} reads the variable that another one names`)
    return [unknown(part.text, many)]
  }
  const found = named(parameter, part.text, many, state, context)
  if (prefix === "#") return [unknown(part.text, false, true)]
  if (operation === undefined) return index === undefined && prefix === undefined ? found : [unknown(part.text, true)]
  switch (operation.type) {
    case "Default": {
      const other = value(operation.operand, state, context)
      if (!operation.operator.includes("=")) return [unknown(part.text, many)]
      if (index !== undefined) problem(context, `${part.text} assigns an element`)
      assigned(parameter, either(found, other), state, context)
      return [unknown(part.text, many)]
    }
    case "Remove":
      value(operation.operand, state, context)
      return [unknown(part.text, many)]
    case "Replace":
      value(operation.pattern, state, context)
      value(operation.replacement, state, context)
      return [unknown(part.text, many)]
    case "Slice":
      for (const word of [operation.offset, operation.length]) {
        if (word === undefined) continue
        look(word.parts, state, context)
        arithmeticText(word, state, context, { value, look })
      }
      return [unknown(part.text, many)]
    case "CaseModification":
      if (operation.operand !== undefined) value(operation.operand, state, context)
      return [unknown(part.text, many)]
    case "Transform":
      if (!/^[QEAaULukK]$/.test(operation.operand.text)) problem(context, `${part.text} expands its value once more`)
      return [unknown(part.text, many)]
    case "Names":
      return [unknown(part.text, many)]
    case "Unknown":
      problem(context, `${part.text} is not understood`)
      return [unknown(part.text, true)]
  }
}

const named = (name: string, text: string, many: boolean, state: State, context: Context): Value => {
  const known = state.vars.get(name)
  if (known !== undefined)
    return known.map((field) => (field.kind === "unknown" ? unknown(text, many && !field.number, field.number) : field))
  if (name === "PWD" && state.cwds?.length === 1 && state.otherwise === "same") return state.cwds.map(literal)
  if (!Names.isShown(name)) shows(context, `it shows $${name} of the environment, which may be a secret`)
  const number = Names.isNumeric(name)
  return [unknown(text, (many || name === "@") && !number, number)]
}

/** Braces are text before they are anything else, so each result is read again as a word. */
const braces = (word: Word, at: number, text: string, state: State, context: Context): Alternatives => {
  const isFew = (word.parts ?? []).filter((part) => part.type === "BraceExpansion").length <= 6
  const choices = isFew ? choicesOf(text) : undefined
  const before = word.text.slice(0, at)
  const behind = word.text.slice(at + text.length)
  let results: Alternatives = [[]]
  if (choices === undefined || word.text.slice(at, at + text.length) !== text || /[=:]~/.test(word.text)) {
    look(word.parts, state, context)
    return [[unknown(word.text, true)]]
  }
  deeper(context, () => {
    for (const choice of choices) {
      const again = before + choice + behind
      const found = again === "" ? [[]] : reread(again, state, context)
      results =
        results.length * found.length > mostAlternatives
          ? [[unknown(word.text, true)]]
          : results.flatMap((list) => found.map((more) => list.concat(more)))
    }
  })
  return results.some((list) => list.length > mostBraces) ? [[unknown(word.text, true)]] : results
}

const reread = (text: string, state: State, context: Context): Alternatives => {
  if (!step(context, 1 + text.length / 4)) return [[unknown(text, true)]]
  const script = parse(`_ ${text}`)
  const command = script.commands[0]?.command
  const word = command?.type === "Command" ? command.suffix[0] : undefined
  const isAlone = script.commands.length === 1 && command?.type === "Command" && command.suffix.length === 1
  if (!isAlone || word?.type !== "Word" || script.errors !== undefined || word.text !== text)
    return [[unknown(text, true)]]
  return fields(word, state, context)
}

/** The choices of `{a,b}` or `{1..5}`; `undefined` if they are too many or hard to tell. */
const choicesOf = (text: string): ReadonlyArray<string> | undefined => {
  const inner = text.slice(1, -1)
  const range = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/.exec(inner)
  if (range !== null) {
    const [from, to, by] = [Number(range[1]), Number(range[2]), Math.abs(Number(range[3] ?? 1)) || 1]
    const padded = /^-?0\d/.test(range[1] ?? "") || /^-?0\d/.test(range[2] ?? "")
    if (padded || Math.abs(to - from) / by >= mostBraces) return undefined
    const out: Array<string> = []
    for (let n = from; from <= to ? n <= to : n >= to; n += from <= to ? by : -by) out.push(String(n))
    return out
  }
  if (/^[A-Za-z]\.\.[A-Za-z]/.test(inner)) return undefined
  const out: Array<string> = []
  let depth = 0
  let from = 0
  for (let at = 0; at < inner.length; at++) {
    const char = inner.charAt(at)
    // What is quoted or substituted inside braces can hide commas: rare enough not to be followed.
    if (char === "\\" || char === "'" || char === '"' || char === "$" || char === "`") return undefined
    if (char === "{") depth++
    else if (char === "}") depth--
    else if (char === "," && depth === 0) {
      out.push(inner.slice(from, at))
      from = at + 1
    }
  }
  return out.length === 0 || out.length >= mostBraces ? undefined : [...out, inner.slice(from)]
}
