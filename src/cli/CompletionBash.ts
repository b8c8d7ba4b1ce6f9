/** Owns completion in bash, from version 3.2 on, which is what macOS still has. */
import { type Described, type Flag, flatten, type Values } from "./Describe.ts"

/** In single quotes, whatever it contains. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** What `__troupe_offer` is told: a kind, then words. */
const offer = (values: Values): string => ("words" in values ? `${values.kind} ${values.words.join(" ")}` : values.kind)

/** `!` takes no value, `?` may take one, `+` takes one, `*` takes several. */
const taking = ({ value }: Flag): string =>
  value === undefined ? "!" : value.several ? "*" : value.optional ? "?" : "+"

const cases = (command: Described): ReadonlyArray<string> =>
  command.flags.flatMap((flag) => {
    if (flag.value === undefined) return []
    const patterns = flag.names.map((name) => quote(`${command.path}:${name}`)).join("|")
    return [`    ${patterns}) taking=${quote(taking(flag))} values=${quote(offer(flag.value))} ;;`]
  })

const table = (commands: ReadonlyArray<Described>, variable: string, of: (command: Described) => string) =>
  commands.flatMap((command) => {
    const text = of(command)
    return text === "" ? [] : [`    ${quote(command.path)}) ${variable}=${quote(text)} ;;`]
  })

export const bash = (program: Described): string => {
  const all = flatten(program)
  const paths = all.filter(({ path }) => path !== "").map(({ path }) => quote(path))
  return `# Completion of troupe for bash. To use it: eval "$(troupe completion bash)"

# What the value of a flag of a command may be: sets taking and values.
__troupe_flag() {
  taking='!' values=none
  case "$1:$2" in
${all.flatMap(cases).join("\n")}
  esac
}

__troupe_words() {
  local IFS=$' \\t\\n'
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

# Offers what fits: a kind, then words. The word to complete is in cur, what precedes it in the same word in before.
__troupe_offer() {
  local kind="\${1%% *}" words="" head=""
  [ "$kind" = "$1" ] || words="\${1#* }"
  case "$kind" in
    file | directory)
      local IFS=$'\\n' flag=-f
      [ "$kind" = directory ] && flag=-d
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen "$flag" -- "$cur"))
      ;;
    session) __troupe_words "$(troupe __complete sessions 2>/dev/null | cut -f1)" ;;
    list)
      case "$cur" in *,*) head="\${cur%,*}," ;; esac
      cur="\${cur##*,}"
      __troupe_words "$words"
      before="$before$head"
      ;;
    words) __troupe_words "$words" ;;
    *) COMPREPLY=() ;;
  esac
  local i
  for i in "\${!COMPREPLY[@]}"; do COMPREPLY[i]="$before\${COMPREPLY[i]}"; done
}

_troupe() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="" before="" path="" taking values word next flags="" commands="" argument=none
  local open="" given=0 i=1
  COMPREPLY=()

  # Where are we? Words before the cursor are commands, flags with their values, or arguments.
  while [ "$i" -lt "$COMP_CWORD" ]; do
    word="\${COMP_WORDS[i]}" next="\${COMP_WORDS[i + 1]}"
    case "$word" in
      --) return ;;
      =) open="=" ;;
      -*)
        open=""
        __troupe_flag "$path" "\${word%%=*}"
        case "$word" in *=*) taking='!' ;; esac
        [ "$taking" = '!' ] || open="$taking" prev="$word"
        ;;
      *)
        case "$open" in
          '*') ;;
          '+' | '?' | '=') open="" ;;
          *)
            next="\${path:+$path }$word"
            case "$next" in
              ${paths.join(" | ")}) path="$next" ;;
              *) given=$((given + 1)) ;;
            esac
            ;;
        esac
        ;;
    esac
    i=$((i + 1))
  done

  # Bash takes --flag=value apart at the sign, unless it is told not to.
  case "$cur" in
    =) cur="" open="=" ;;
    --*=*) prev="\${cur%%=*}" before="$prev=" cur="\${cur#*=}" open="=" ;;
  esac
  case "$path" in
${table(all, "flags", ({ flags }) => flags.flatMap(({ names }) => names).join(" ")).join("\n")}
  esac
  case "$path" in
${table(all, "commands", ({ commands }) => commands.map(({ path }) => path.split(" ").at(-1) ?? "").join(" ")).join("\n")}
  esac
  case "$path" in
${table(all, "argument", ({ argument }) => (argument.kind === "none" ? "" : offer(argument))).join("\n")}
  esac

  if [ -n "$open" ]; then
    case "$open$cur" in
      '?-'* | '*-'*) ;;
      *)
        __troupe_flag "$path" "$prev"
        __troupe_offer "$values"
        return
        ;;
    esac
  fi
  case "$cur" in
    -*) __troupe_words "$flags" ;;
    *)
      [ "$given" -gt 0 ] && return
      if [ -n "$commands" ]; then __troupe_words "$commands"; else __troupe_offer "$argument"; fi
      ;;
  esac
}

complete -F _troupe troupe
`
}
