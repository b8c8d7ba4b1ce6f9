/**
 * Keeps secrets unread and the machine whole: denies calls that touch credentials, and commands that nobody can take back.
 *
 * PreToolUse, all tools that take a path or a command. A denial comes with its reason, so that the model can look for another way.
 * It looks at text, which can be disguised: it stops accidents. Permission rules and the sandbox stop intent; use all three.
 */
import { readFileSync } from "node:fs"
import { basename } from "node:path"

const { tool_name, tool_input } = JSON.parse(readFileSync(0, "utf8"))

/** Names of files that hold secrets, wherever they are. `.env.example` and the like are made to be read. */
const isSecret = (path) =>
  !/\.(example|sample|template|dist)$/.test(path) &&
  (/^\.env(\.|$)|^\.(netrc|pgpass|npmrc|pypirc)$|^id_(rsa|dsa|ecdsa|ed25519)$|\.(pem|key|p12|pfx|keystore)$/i.test(
    basename(path),
  ) ||
    /(^|\/)(\.ssh|\.gnupg)\/|(^|\/)\.aws\/credentials$|(^|\/)\.docker\/config\.json$|(^|\/)\.kube\/config$/.test(path))

const destructive = [
  [/\brm\s+(-\w+\s+|--\S+\s+)*(-\w*[rR]\w*|--recursive)\b/, "it removes directories with all that is in them"],
  [/\bfind\b.*\s-delete\b/, "it removes whatever it finds"],
  [/\bgit\s+push\b.*(\s-f\b|\s--force\b(?!-with-lease))/, "it overwrites history that others have"],
  [
    /\bgit\s+(reset\s+--hard|clean\s+-\w*f|checkout\s+--\s+\.|restore\s+\.)/,
    "it throws away work that is not committed",
  ],
  [/\b(curl|wget)\b[^;&]*\|\s*(sudo\s+)?(ba|z|da)?sh\b/, "it runs a program from the network that nobody has read"],
  [/\b(mkfs(\.\w+)?|dd\b.*\bof=\/dev\/|shred)\b|>\s*\/dev\/(sd|nvme|disk)/, "it overwrites a disk"],
  [/\bchmod\s+(-R\s+|--recursive\s+)?0?777\b/, "it opens files to everybody"],
  [/(^|[;&|]\s*)sudo\b/, "it acts as the administrator"],
]

const deny = (why) => {
  const permissionDecisionReason = `Not done: ${why}. If it is really needed, ask the person to do it.`
  const hookSpecificOutput = { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason }
  console.log(JSON.stringify({ hookSpecificOutput }))
  process.exit(0)
}

if (tool_name === "Bash") {
  const command = tool_input.command ?? ""
  for (const [pattern, why] of destructive) if (pattern.test(command)) deny(why)
  const words = command.split(/[\s"'`=<>|;&()]+/)
  const secret = words.find(isSecret)
  if (secret !== undefined) deny(`${secret} holds secrets`)
} else {
  const paths = [tool_input.file_path, tool_input.notebook_path, tool_input.path, tool_input.glob, tool_input.pattern]
  const secret = paths.find((path) => typeof path === "string" && isSecret(path))
  if (secret !== undefined) deny(`${secret} holds secrets`)
}
