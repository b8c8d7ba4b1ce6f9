/**
 * Writes down which skills are used, by the model and by people: one line of JSON each, in `.claude/skill-log.jsonl`.
 *
 * PostToolUse, Skill, for those the model chose; UserPromptExpansion for those somebody typed as `/name`. Which ones nobody uses, and which
 * only people find, is one `sort | uniq -c` away.
 */
import { appendFileSync, readFileSync } from "node:fs"
import { join } from "node:path"

const input = JSON.parse(readFileSync(0, "utf8"))
const typed = input.hook_event_name === "UserPromptExpansion"
const entry = {
  time: new Date().toISOString(),
  session: input.session_id,
  by: typed ? "person" : (input.agent_type ?? "model"),
  skill: typed ? input.command_name : input.tool_input.skill,
  args: (typed ? input.command_args : input.tool_input.args) ?? "",
}
// A single write of one line: sessions at the same time do not mix theirs.
appendFileSync(
  join(process.env.CLAUDE_PROJECT_DIR ?? input.cwd, ".claude/skill-log.jsonl"),
  `${JSON.stringify(entry)}\n`,
)
