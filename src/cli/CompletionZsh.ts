/** Owns completion in zsh, as specifications for its `_arguments`. */
import { quote } from "./CompletionBash.ts"
import { type Described, type Flag, flatten, type Values } from "./Describe.ts"

/** Colons and brackets mean something inside a specification. */
const plain = (text: string): string => text.replace(/[\\:[\]]/g, (found) => `\\${found}`)

const action = (values: Values): string => {
  switch (values.kind) {
    case "none":
      return " "
    case "file":
      return "_files"
    case "directory":
      return "_files -/"
    case "session":
      return "_troupe_sessions"
    case "words":
      return `(${values.words.join(" ")})`
    case "list":
      return `_values -s , value ${values.words.join(" ")}`
  }
}

const specs = ({ names, says, value }: Flag): ReadonlyArray<string> => {
  // A flag that was given is not offered again, under none of its names.
  const others = value?.several === true ? "*" : names.length > 1 ? `(${names.join(" ")})` : ""
  return names.map((name) => {
    const own = `${others}${name}${value === undefined || name.length === 2 ? "" : "="}`
    const more = value?.several === true ? "*-*:" : value?.optional === true ? ":" : ""
    const takes = value === undefined ? "" : `:${more}${value.name}:${action(value)}`
    return quote(`${own}[${plain(says)}]${takes}`)
  })
}

const name = (path: string): string => `_troupe${path === "" ? "" : `_${path.replaceAll(" ", "_")}`}`

const last = (path: string): string => path.split(" ").at(-1) ?? ""

const functionOf = (command: Described): string => {
  const flags = command.flags.flatMap(specs)
  const lines = (...more: ReadonlyArray<string>) => [...flags, ...more].map((spec) => `    ${spec}`).join(" \\\n")
  if (command.commands.length === 0) {
    return `${name(command.path)}() {
  _arguments -s -S \\
${lines(...(command.argument.kind === "none" ? [] : [quote(`1:argument:${action(command.argument)}`)]))}
}
`
  }
  const known = command.commands.map(({ path, says }) => quote(`${last(path)}:${plain(says)}`))
  const cases = command.commands.map(({ path }) => `    ${last(path)}) ${name(path)} ;;`)
  return `${name(command.path)}() {
  local context state state_descr line ret=1
  typeset -A opt_args
  local -a commands=(
    ${known.join("\n    ")}
  )
  _arguments -C -s -S -A "-*" \\
${lines(quote("1: :->first"), quote("*:: :->rest"))} && ret=0
  case "$state" in
    first) _describe command commands && ret=0 ;;
    rest)
      case "$line[1]" in
    ${cases.join("\n    ")}
        *) ${command.path === "" ? `_arguments -s -S \\\n${lines()} && ret=0` : ":"} ;;
      esac
      ;;
  esac
  return ret
}
`
}

export const zsh = (program: Described): string => `#compdef troupe
# Completion of troupe for zsh. To use it: troupe completion zsh > a directory of $fpath, named _troupe

_troupe_sessions() {
  local -a found
  local id says
  while IFS=$'\\t' read -r id says; do found+=("$id:\${says//:/\\\\:}"); done < <(troupe __complete sessions 2>/dev/null)
  _describe -V session found
}

${flatten(program).map(functionOf).join("\n")}
if [ "$funcstack[1]" = _troupe ]; then _troupe "$@"; else compdef _troupe troupe; fi
`
