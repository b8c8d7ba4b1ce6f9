/**
 * Looks for known holes in dependencies as soon as a lock file has changed, and tells the model what the audit says.
 *
 * PostToolUse, Bash|Edit|Write. The call has happened already: exit code 2 only puts stderr before the model, beside the result.
 */
import { spawnSync } from "node:child_process"
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"

/** Each answers with a code other than 0 when it has found something. */
const audits = {
  "package-lock.json": ["npm", "audit", "--audit-level=high"],
  "pnpm-lock.yaml": ["pnpm", "audit", "--audit-level", "high"],
  "Cargo.lock": ["cargo", "audit"],
  "requirements.txt": ["pip-audit", "--requirement", "requirements.txt"],
  "go.sum": ["govulncheck", "./..."],
}
const maxChars = 4_000

const { cwd, duration_ms = 60_000 } = JSON.parse(readFileSync(0, "utf8"))
const project = process.env.CLAUDE_PROJECT_DIR ?? cwd

// Written while the call ran, with a second to spare for clocks of file systems: nothing has to be remembered between calls.
const began = Date.now() - duration_ms - 1_000
const touched = Object.keys(audits).filter(
  (name) => (statSync(join(project, name), { throwIfNoEntry: false })?.mtimeMs ?? 0) >= began,
)

const findings = []
const skipped = []
for (const name of touched) {
  const [command, ...args] = audits[name]
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    cwd: project,
    encoding: "utf8",
    timeout: 60_000,
  })
  if (error !== undefined) skipped.push(`${name} was not audited: ${command}: ${error.code ?? error.message}`)
  else if (status !== 0)
    findings.push(`\`${[command, ...args].join(" ")}\` says:\n${(stdout || stderr).trim().slice(0, maxChars)}`)
}
if (findings.length > 0) {
  console.error(`${findings.join("\n\n")}\n\nTake another version or another package, or say why this one is needed.`)
  process.exit(2)
}
// For the person: an audit that did not happen must not look like a good one.
if (skipped.length > 0) console.log(JSON.stringify({ systemMessage: skipped.join("\n") }))
