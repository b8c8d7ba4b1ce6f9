/**
 * Holds commit messages to a standard: `type(scope): summary`, short, saying something, with an empty line before the rest.
 *
 * PreToolUse, Bash, `if` it is a `git commit`. Messages given with -m (also as a here-document) or -F are read; one that is written in
 * an editor is left to git's own commit-msg hook.
 */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

const types = ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"]
const maxSubject = 72

const { cwd, tool_input } = JSON.parse(readFileSync(0, "utf8"))
const command = tool_input.command ?? ""
const commit = /\bgit\b(?:\s+-[cC]\s+\S+)*\s+commit\b/.exec(command)
if (commit === null) process.exit(0)

const complaints = (message) => {
  const [subject = "", second] = message.trim().split("\n")
  const form = new RegExp(`^(${types.join("|")})(\\([\\w./-]+\\))?!?: (.+)$`).exec(subject)
  const summary = form?.[3] ?? ""
  return [
    form === null && `the first line must read "type(scope): summary" with one of ${types.join(", ")}`,
    subject.length > maxSubject && `the first line has ${subject.length} characters; ${maxSubject} are the most`,
    subject.endsWith(".") && "the first line must not end in a full stop",
    /^(wip|fix(es|ed)?|updates?|changes?|stuff|misc|minor)\W*$/i.test(summary) &&
      `"${summary}" does not say what changes`,
    second !== undefined && second.trim() !== "" && "an empty line must follow the first",
  ].filter((complaint) => complaint !== false)
}

/** Several -m are the paragraphs of one message, as git has it. */
const messageOf = (args) => {
  const heredoc = /<<-?\s*(["']?)(\w+)\1[^\n]*\n([\s\S]*?)\n\s*\2\b/.exec(args)
  if (heredoc !== null) return heredoc[3]
  const file = /\s(?:-F\s*|--file[=\s])["']?([^\s"']+)/.exec(args)
  if (file !== null && file[1] !== "-") return readFileSync(resolve(cwd, file[1]), "utf8")
  const given = /\s(?:-[a-zA-Z]*m\s*|--message[=\s]\s*)(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"']\S*))/g
  const parts = [...args.matchAll(given)].map(
    ([, double, single, bare]) => double?.replace(/\\(["\\$`])/g, "$1") ?? single ?? bare,
  )
  return parts.length === 0 ? undefined : parts.join("\n\n")
}

let message
try {
  message = messageOf(command.slice(commit.index + commit[0].length))
} catch {
  process.exit(0) // The file is not there: git will say so itself.
}
const wrong = message === undefined ? [] : complaints(message)
if (wrong.length > 0) {
  console.error(
    `Nothing was committed. The message needs work:\n${wrong.map((complaint) => `- ${complaint}`).join("\n")}`,
  )
  process.exit(2)
}
