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
  const command = call.executes.trim()
  const compound = /[;&|<>`$(){}\n\\]/.test(command)
  const prefix = rule.specifier.replace(/(:\*| \*)$/, "")
  const hit = prefix === rule.specifier ? command === prefix : command === prefix || command.startsWith(`${prefix} `)
  return side === "allow" ? hit && !compound : hit || (compound && command.includes(prefix))
}
