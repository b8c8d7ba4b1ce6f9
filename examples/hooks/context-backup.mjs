/**
 * Keeps the conversation: copies the transcript to `.claude/backups/` when it is about to be compacted and when the session ends.
 *
 * PreCompact, SessionEnd. The last 20 are kept. Put `.claude/backups/` into .gitignore: a transcript holds whatever was read.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

const keep = 20

const { cwd, hook_event_name, session_id, transcript_path } = JSON.parse(readFileSync(0, "utf8"))
const directory = join(process.env.CLAUDE_PROJECT_DIR ?? cwd, ".claude/backups")

// The time comes first in the name, so that the order of names is the order of time.
const time = new Date().toISOString().replaceAll(":", "-")
const why = hook_event_name === "PreCompact" ? "compact" : "end"
try {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  copyFileSync(transcript_path, join(directory, `${time}-${session_id.slice(0, 8)}-${why}.jsonl`))
} catch (error) {
  // Neither is a backup worth a session: any code but 2 is noted, and everything goes on.
  console.error(`There is no backup of this conversation: ${error.message}`)
  process.exit(1)
}
const old = readdirSync(directory)
  .filter((name) => name.endsWith(".jsonl"))
  .sort()
  .slice(0, -keep)
for (const name of old) rmSync(join(directory, name), { force: true })
