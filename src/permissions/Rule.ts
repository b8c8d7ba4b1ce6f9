/** Owns the first forms of permission rules: a tool's name, and `Bash(prefix *)`; anything it cannot read fails closed. */

export interface Rule {
  readonly source: string
  readonly tool: string
  /** Absent: every call of the tool. */
  readonly specifier: string | undefined
}

/** Reads a list as flags give it: separated by commas or spaces, outside parentheses. */
export const parseAll = (text: ReadonlyArray<string>): ReadonlyArray<Rule> =>
  text.flatMap((item) => item.match(/[^\s,()]+(?:\([^)]*\))?/g) ?? []).map(parse)

export const parse = (source: string): Rule => {
  const open = source.indexOf("(")
  return open === -1 || !source.endsWith(")")
    ? { source, tool: source, specifier: undefined }
    : { source, tool: source.slice(0, open), specifier: source.slice(open + 1, -1) }
}

/** Whether a rule covers a call. Where a command cannot be seen through, allow rules do not match and deny rules do. */
export const matches = (
  rule: Rule,
  call: { readonly tool: string; readonly executes: string | undefined },
  side: "allow" | "deny",
): boolean => {
  if (rule.tool !== call.tool) return false
  if (rule.specifier === undefined || rule.specifier === "*") return true
  if (call.executes === undefined) return side === "deny"
  const prefix = rule.specifier.replace(/(:\*| \*)$/, "")
  const exact = prefix === rule.specifier
  const isHit = (command: string) => command === prefix || (!exact && command.startsWith(`${prefix} `))
  if (side === "allow") return isHit(call.executes.trim()) && !isOpaque(call.executes)
  return simpleCommands(call.executes).some(isHit) || (isOpaque(call.executes) && mentions(call.executes, prefix))
}

/** A shell would make something else of it than the words that are there. */
const isOpaque = (command: string): boolean => /[;&|<>`$(){}\n\\*?[\]!#~]/.test(command)

/** Programs that run the rest of the line. */
const wrapper =
  /^(?:(?:\w+=\S*|command|builtin|exec|env|nohup|time|nice|ionice|setsid|stdbuf|sudo|doas|xargs|timeout \S+)(?: -\S+)*) /

/** The commands of a line, as a deny rule must see them: unquoted, without wrappers, by the name of the program. */
const simpleCommands = (command: string): ReadonlyArray<string> =>
  command.split(/[;&|\n(){}`]|\$\(/).map((part) => {
    let plain = unquoted(part)
    while (wrapper.test(plain)) plain = plain.replace(wrapper, "")
    return plain.replace(/^\S*\//, "")
  })

const unquoted = (text: string): string =>
  text
    .replace(/["'\\]/g, "")
    .replace(/\s+/g, " ")
    .trim()

const mentions = (command: string, prefix: string): boolean =>
  ` ${unquoted(command.replace(/[;&|<>`$(){}/]/g, " "))} `.includes(` ${prefix} `)
