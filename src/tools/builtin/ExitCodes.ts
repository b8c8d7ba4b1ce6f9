/** Owns what exit code 1 says where it is an answer and not a failure. */

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
