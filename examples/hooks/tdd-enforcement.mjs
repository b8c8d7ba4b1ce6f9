/**
 * Test first: code under `src/` may change only while a test has changed since the last commit.
 *
 * PreToolUse, Edit|Write. Exit code 2 stops the call, and what is on stderr is told to the model.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { relative, sep } from "node:path"

const isSource = (path) => /^(src|lib|app)\//.test(path) && /\.([cm]?[jt]sx?|py|go|rs|rb|java|kt)$/.test(path)
const isTest = (path) =>
  /(^|\/)(tests?|specs?|__tests__)\/|[._-](test|spec)\.\w+$|(^|\/)test_\w+\.py$|_test\.(go|py|rb)$/.test(path)

const { cwd, tool_input } = JSON.parse(readFileSync(0, "utf8"))
const project = process.env.CLAUDE_PROJECT_DIR ?? cwd
const path = relative(project, tool_input.file_path ?? "")
  .split(sep)
  .join("/")
if (!isSource(path) || isTest(path)) process.exit(0)

let changed
try {
  const status = execFileSync("git", ["status", "--porcelain", "-z", "--untracked-files=all"], {
    cwd: project,
    encoding: "utf8",
  })
  changed = status.split("\0").map((line) => line.slice(3))
} catch {
  process.exit(0) // No repository, so nobody can say what has changed.
}
if (changed.some(isTest)) process.exit(0)

console.error(
  `${path} was not changed: this project works test first, and no test has changed since the last commit. ` +
    "Write a test that fails without your change, run it to see it fail, then change the code.",
)
process.exit(2)
