/**
 * Owns the few commands that are plainly read-only: one program, plain words, nothing a shell would expand.
 *
 * A list of what is known to be harmless, on purpose short: what is not on it is treated as a command that writes. Git is not on
 * it: a repository's own configuration can make the most innocent sub-command run a program.
 */

/** What each of them may be given besides paths; an option that is not here may follow links, write, or never end. */
const readers: Readonly<Record<string, RegExp>> = {
  pwd: /^-[LP]$/,
  ls: /^-[1aAlhtrSFp]+$/,
  cat: /^-[nbs]+$/,
  head: /^-(?:n|c|\d+)$/,
  tail: /^-(?:n|c|\d+)$/,
  wc: /^-[lwcm]+$/,
  stat: /^$/,
  du: /^-[sh]+$/,
  echo: /^$/,
  whoami: /^$/,
  uname: /^-[asrmn]+$/,
  which: /^-a$/,
}

/** The words of a command that means nothing else to a shell than these words; `~` alone is the home that paths know too. */
const words = (command: string): ReadonlyArray<string> =>
  /^[A-Za-z0-9 _./:=@,+%~^-]+$/.test(command) && !/(?:^| )(?:\w+=|~[^/ ])/.test(command)
    ? command.split(" ").filter((word) => word !== "")
    : []

/** `a/..` is not where it seems to be when `a` is a link, so only a path that begins with its `..` can be judged. */
const isPlain = (path: string): boolean => !/[^./][^/]*\/(?:.*\/)?\.\.(?:\/|$)/.test(path)

export const isReadOnly = (command: string): boolean => {
  const [program, ...rest] = words(command)
  const options = program === undefined || !Object.hasOwn(readers, program) ? undefined : readers[program]
  return options !== undefined && rest.every((word) => (word.startsWith("-") ? options.test(word) : isPlain(word)))
}

/** Every word that could name a path. */
export const operands = (command: string): ReadonlyArray<string> =>
  words(command)
    .slice(1)
    .filter((word) => !word.startsWith("-"))

/** Programs for which exit code 1 is an answer, not a failure. */
const answers: Readonly<Record<string, string>> = {
  grep: "no match",
  egrep: "no match",
  fgrep: "no match",
  rg: "no match",
  diff: "the files differ",
  cmp: "the files differ",
  test: "false",
  "[": "false",
}

/** What exit code 1 of this command says, when it is an answer: that of its last program. */
export const meaningOfOne = (command: string): string | undefined => {
  const last =
    command
      .trim()
      .split(/\|\||&&|[|;&\n]/)
      .at(-1)
      ?.trim() ?? ""
  return answers[last.split(/\s+/)[0] ?? ""]
}
