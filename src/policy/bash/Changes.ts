/** Owns what a part of a line may change, found without following it: for loops, which are looked at once for all their rounds. */
import { type Assignment, type Command, forEachChild, type SyntaxNode } from "unbash"
import { type Context, mostNodes, step } from "./Context.ts"

export const changesOf = (
  node: SyntaxNode,
  context: Context,
): { readonly names: ReadonlySet<string> | "all"; readonly counted: ReadonlySet<string>; readonly moves: boolean } => {
  const names = new Set<string>()
  const counted = new Set<string>()
  let all = false
  let moves = false
  let depth = 0
  const visit = (each: SyntaxNode): void => {
    if (!step(context) || depth > mostNodes) {
      all = true
      return
    }
    if (each.type === "Assignment") (isCount(each) ? counted : names).add(each.name)
    else if (each.type === "For" || each.type === "Select") names.add(each.name.value)
    else if (each.type === "ParameterExpansion" && each.operation?.type === "Default") names.add(each.parameter)
    else if (each.type === "ArithmeticWord") counted.add(each.value)
    else if (each.type === "Redirect" && each.descriptor?.type === "FileDescriptorVariable")
      names.add(each.descriptor.name)
    else if (each.type === "Command") {
      const name = each.name?.value ?? ""
      if (/^(?:cd|pushd|popd)$/.test(name)) moves = true
      if (assigners.has(name)) {
        for (const arg of each.args) for (const one of namesIn(arg)) names.add(one)
        // Without a name they have one.
        names.add("REPLY").add("MAPFILE")
        all ||= each.args.some(
          (arg) => arg.type === "Word" && arg.parts?.some(({ type }) => !isFixed.test(type)) === true,
        )
      }
      if (each.name?.parts !== undefined || runsAnother.test(name) || context.functions.has(name)) {
        all = true
        moves = true
      }
    }
    depth++
    forEachChild(each, visit)
    depth--
  }
  visit(node)
  return { names: all ? "all" : names, counted, moves }
}

const assigners = new Set(
  "read mapfile readarray printf declare local typeset export readonly let getopts unset shift set".split(" "),
)
const runsAnother = /^(?:eval|source|\.|builtin|command)$/
const isFixed = /^(?:Literal|SingleQuoted|DoubleQuoted|AnsiCQuoted)$/

/** `i`, `i=1`, and the value that hangs on an option: in `-rai` any letter may be the last. */
const namesIn = (arg: Command["args"][number]): ReadonlyArray<string> => {
  if (arg.type !== "Word") return [arg.name]
  const [name = ""] = arg.value.split(/[=+[]/, 1)
  return name.startsWith("-") ? Array.from(name, (_letter, at) => name.slice(at)) : [name]
}

/** `i=0` and `i=$((i + 1))` leave a number. */
const isCount = ({ append, index, value }: Assignment): boolean => {
  if (append === true || index !== undefined || value.type !== "Word") return false
  const [only] = value.parts ?? []
  return only === undefined
    ? /^\d+$/.test(value.text)
    : value.parts?.length === 1 && only.type === "ArithmeticExpansion"
}
