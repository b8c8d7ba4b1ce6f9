/** Owns completion in fish. */
import { type Described, type Flag, flatten, type Values } from "./Describe.ts"

/** Fish knows two escapes inside single quotes. */
const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const sessions = quote("(troupe __complete sessions 2>/dev/null)")

const candidates = (values: Values): string => {
  switch (values.kind) {
    case "none":
      return "-f"
    case "file":
      return "-F"
    case "directory":
      return `-f -a ${quote("(__fish_complete_directories (commandline -ct))")}`
    case "session":
      return `-f -k -a ${sessions}`
    case "words":
      return `-f -a ${quote(values.words.join(" "))}`
    case "list":
      return `-f -a ${quote(`(__troupe_list ${values.words.join(" ")})`)}`
  }
}

const nameFlags = (names: ReadonlyArray<string>): string =>
  names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(" ")

const flagLines = (path: string, { names, says, value }: Flag): ReadonlyArray<string> => {
  const at = `complete -c troupe -n ${quote(`__troupe_at ${quote(path)}`)} ${nameFlags(names)} -d ${quote(says)}`
  if (value === undefined) return [at]
  if (!value.optional && !value.several) return [`${at} -r ${candidates(value)}`]
  // Fish has no flags with an optional value, or with several: what may stand behind one is offered as an argument.
  const behind = `complete -c troupe -n ${quote(`__troupe_behind ${quote(path)} ${value.several ? "several" : "one"} ${names.join(" ")}`)}`
  return [value.several ? `${at} -r ${candidates(value)}` : at, `${behind} ${candidates(value)}`]
}

const commandLines = (command: Described): ReadonlyArray<string> => [
  ...command.commands.map(
    ({ path, says }) =>
      `complete -c troupe -n ${quote(`__troupe_at ${quote(command.path)} first`)} -f -a ${path.split(" ").at(-1)} -d ${quote(says)}`,
  ),
  ...(command.argument.kind === "none"
    ? []
    : [`complete -c troupe -n ${quote(`__troupe_at ${quote(command.path)} first`)} ${candidates(command.argument)}`]),
  ...command.flags.flatMap((flag) => flagLines(command.path, flag)),
]

export const fish = (program: Described): string => {
  const all = flatten(program)
  const taking = all.flatMap(({ path, flags }) =>
    flags.flatMap(({ names, value }) =>
      value === undefined || value.optional ? [] : names.map((name) => quote(`${path}:${name}`)),
    ),
  )
  return `# Completion of troupe for fish. To use it: troupe completion fish > ~/.config/fish/completions/troupe.fish

# The command the words before the cursor name, and how many arguments it has been given.
function __troupe_where
    set -l words (commandline -opc)
    set -l path ''
    set -l given 0
    set -l skip 0
    for word in $words[2..]
        if test $skip = 1
            set skip 0
        else if string match -q -- '-*' $word
            contains -- "$path:$word" ${taking.join(" ")}
            and set skip 1
        else if contains -- (string trim -- "$path $word") ${all
          .filter(({ path }) => path !== "")
          .map(({ path }) => quote(path))
          .join(" ")}
            set path (string trim -- "$path $word")
        else
            set given (math $given + 1)
        end
    end
    printf '%s\\n' $path $given
end

function __troupe_at
    set -l here (__troupe_where)
    test "$here[1]" = "$argv[1]"
    and begin
        test (count $argv) = 1
        or test "$here[2]" = 0
    end
end

# Whether the cursor stands behind one of these flags, with nothing (or only its values) between.
function __troupe_behind
    __troupe_at $argv[1]
    or return 1
    set -l words (commandline -opc)
    test $argv[2] = one
    and set words $words[-1]
    for word in $words[-1..1]
        string match -q -- '-*' $word
        or continue
        contains -- $word $argv[3..]
        return
    end
    return 1
end

function __troupe_list
    set -l head (string match -r -- '^.*,' (commandline -ct))
    for word in $argv
        echo "$head$word"
    end
end

complete -c troupe -f
${all.flatMap(commandLines).join("\n")}
`
}
