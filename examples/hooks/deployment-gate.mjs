/**
 * Nothing is deployed that no person has approved: commands that publish or deploy are denied unless everything is committed and the
 * file `.claude/deploy-approved` names that commit. A person approves with
 *
 *     git rev-parse HEAD > .claude/deploy-approved
 *
 * and the next commit needs a new approval. PreToolUse, Bash|Edit|Write: the model must not write the approval itself.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const approval = ".claude/deploy-approved"
const deploys = [
  /\b(npm|pnpm|yarn|bun)\s+(run\s+)?(deploy|release|publish)\b/,
  /\b(kubectl\s+(apply|rollout|set)|helm\s+(install|upgrade)|terraform\s+(apply|destroy)|pulumi\s+up|cdk\s+deploy)\b/,
  /\b(fly|flyctl|wrangler|serverless|sls|netlify|firebase|eb|cargo\s+shuttle)\s+(deploy|publish)\b/,
  /\bvercel\b.*--prod\b|\b(cargo|poetry|twine|gem)\s+(publish|upload|push)\b|\bdocker\s+push\b/,
  /(^|[\s/])deploy(\.\w+)?(\s|$)/,
  /\bgit\s+push\s+(\S+\s+)?(production|heroku|deploy)\b/,
]

const { cwd, tool_name, tool_input } = JSON.parse(readFileSync(0, "utf8"))
const project = process.env.CLAUDE_PROJECT_DIR ?? cwd
const git = (...args) =>
  execFileSync("git", args, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim()

const deny = (why) => {
  const hookSpecificOutput = { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: why }
  console.log(JSON.stringify({ hookSpecificOutput }))
  process.exit(0)
}

const text = tool_name === "Bash" ? (tool_input.command ?? "") : (tool_input.file_path ?? "")
if (text.includes("deploy-approved")) deny(`${approval} is written by a person, not by you.`)
if (tool_name !== "Bash" || !deploys.some((pattern) => pattern.test(text))) process.exit(0)

/** Whatever cannot be found out counts as not approved: a gate that is broken stays shut. */
const refusal = () => {
  try {
    const dirty = git("status", "--porcelain", "--", ".", `:(exclude)${approval}`)
    if (dirty !== "") return `There are changes that are not committed:\n${dirty}`
    const approved = readFileSync(join(project, approval), "utf8").trim()
    const head = git("rev-parse", "HEAD")
    return approved === head ? undefined : `Commit ${approved.slice(0, 12)} was approved, this is ${head.slice(0, 12)}.`
  } catch {
    return "Nobody has approved this commit."
  }
}

const why = refusal()
if (why !== undefined) {
  deny(`Not deployed. ${why} A person approves a commit with: git rev-parse HEAD > ${approval}`)
}
