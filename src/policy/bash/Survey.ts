/** Owns the first look at a line: characters and forms on which bash, the parser and people may disagree, and where functions are. */
import { type Command, forEachChild, type ParsedScript, type SyntaxNode, type Word } from "unbash"
import { type Context, mostNodes, problem, step } from "./Context.ts"

/**
 * Goes through the whole tree once before anything is judged. It finds every function, because a call may come before or behind,
 * and what the parser forgives but bash does not.
 */
export const survey = (root: ParsedScript, context: Context): void => {
  let depth = 0
  let { source } = context
  const visit = (each: SyntaxNode): void => {
    if (!step(context)) return
    if (depth > mostNodes) {
      context.gaps.push("it is nested too deeply to be looked through")
      return
    }
    const outer = source
    if (each.type === "Script" && each.source !== undefined) source = each.source
    if (each.type === "Function") {
      const name = each.name.value
      context.functions.set(name, [...(context.functions.get(name) ?? []), each])
      // It may take the place of anything that runs later, the shell's own commands and our own around the line included.
      problem(context, `it defines the function ${name}`)
    } else if (each.type === "Command" && isBroken(each, source)) {
      context.gaps.push("it cannot be parsed: unexpected parenthesis or empty command")
    } else if ((each.type === "Redirect" || each.type === "HereString") && each.target === undefined) {
      context.gaps.push("it cannot be parsed: a redirect leads nowhere")
    } else if (each.type === "Redirect" && each.target !== undefined && isDescriptor(each.target, source)) {
      context.gaps.push("it cannot be parsed: a redirect leads to another one")
    } else if (isMistaken(each)) {
      context.gaps.push("it cannot be parsed: something in a plain word would be expanded")
    } else if (each.type === "Pipeline" && each.commands.length === 0) {
      context.gaps.push("it cannot be parsed: empty pipeline")
    }
    depth++
    forEachChild(each, visit)
    depth--
    source = outer
  }
  visit(root)
}

// Blanks and controls that people do not see, or that shells and people take for something else.
const odd =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|\udb40[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

export const oddity = (text: string): string | undefined => {
  const found = odd.exec(text)
  if (found === null) return undefined
  const code = found[0].codePointAt(0) ?? 0
  return `it contains the invisible or misleading character U+${code.toString(16).toUpperCase().padStart(4, "0")}`
}

/**
 * Forms that the parser takes and bash does not, or takes for something else, by their looks; a line that only looks so is asked for.
 * The last one: a line that goes on in the middle of a word, where `$x` may become `$xy` and `$` the beginning of a substitution.
 */
const loose =
  /\n[ \t]*;(?!;)|&[ \t]*;(?!;)|;[ \t\n]+;|\$\[|\bfor[ \t]*\((?!\()|![ \t]*(?:[;})]|\bdo\b|\bthen\b)|\S\\\n\S/

/** In double quotes and here-documents `$'` quotes nothing, and the index of an array runs what stands in it. */
const sly = (text: string): string | undefined => {
  if (text.includes("$'") && /["]|<</.test(text)) return "$'"
  const isArithmetic = /\(\(|\[\[|-(?:eq|ne|lt|le|gt|ge)\b/.test(text)
  return isArithmetic ? /\w\[[^\]\n]{0,200}?(?:\$\(|`)/.exec(text)?.[0] : undefined
}

export const looseness = (text: string): string | undefined => {
  const found = loose.exec(text)?.[0] ?? sly(text)
  return found === undefined ? undefined : `shells disagree about ${JSON.stringify(found)}`
}

/** What the parser took for text although bash would expand it: where it gives up, it gives the text. */
const isMistaken = (node: SyntaxNode): boolean => {
  if (node.type === "Assignment") return node.value.type === "Word" && node.value.text.startsWith("(")
  const isWord = node.type === "Word" && node.parts === undefined
  if (!isWord && node.type !== "Literal") return false
  return (isWord ? /`|\$[\w({@*]|[<>]\(/ : /`|\$[\w({@*]/).test(node.text.replaceAll(/\\[^]/g, ""))
}

/** In `< 2>&1` the number belongs to the second redirect. */
const isDescriptor = (target: Word, source: string): boolean =>
  /^(?:\d+|\{\w+\})$/.test(target.text) && /[<>]/.test(source.charAt(target.end))

/** The parser passes over a parenthesis that stands where none may; bash rejects the line. */
const isBroken = (node: Command, source: string): boolean =>
  (node.name === undefined && node.prefix.length === 0 && node.suffix.length === 0) ||
  [...node.prefix, ...(node.name === undefined ? [] : [node.name]), ...node.suffix].some(({ end }) => {
    blank.lastIndex = end
    return source.charAt(end + (blank.exec(source)?.[0].length ?? 0)) === "("
  })
const blank = /(?:[ \t]|\\\n)*/y
