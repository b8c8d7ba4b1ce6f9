/**
 * Owns the few commands that are plainly read-only: one program, plain words, nothing a shell would expand.
 *
 * A list of what is known to be harmless, on purpose short: what is not on it is treated as a command that writes. Git is not on
 * it: a repository's own configuration can make the most innocent sub-command run a program.
 */

const readers = new Set(["pwd", "ls", "cat", "head", "tail", "wc", "stat", "du", "echo", "whoami", "uname", "which"])

/** The words of a command that means nothing else to a shell than these words; `~` alone is the home that paths know too. */
export const words = (command: string): ReadonlyArray<string> | undefined =>
  /^[A-Za-z0-9 _./:=@,+%~^-]+$/.test(command) && !/(?:^|\s)(?:\w+=|~[^/\s])/.test(command)
    ? command.split(" ").filter((word) => word !== "")
    : undefined

export const isReadOnly = (command: string): boolean => {
  const given = words(command.trim())
  const [program, ...rest] = given ?? []
  if (program === undefined) return false
  return readers.has(program) && rest.every((word) => !/^--.*=/.test(word))
}

/** Every word that could name a path. */
export const operands = (command: string): ReadonlyArray<string> =>
  (words(command.trim()) ?? []).slice(1).filter((word) => !word.startsWith("-"))

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
