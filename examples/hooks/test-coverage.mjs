/**
 * The work is not done before what changed is covered by tests: `--min` percent of the lines of each changed file (80 unless told).
 *
 * Stop. Reads `coverage/coverage-summary.json`, which c8, nyc, Jest and Vitest write with the reporter `json-summary`, and asks for a new
 * one with `--run` when the code is newer. Exit code 2 sends the model back to work with what is on stderr, once: `stop_hook_active` says that it was.
 */
import { execFileSync } from "node:child_process"
import { readFileSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { parseArgs } from "node:util"

const options = { min: { type: "string", default: "80" }, run: { type: "string", default: "npm test -- --coverage" } }
const { min, run } = parseArgs({ options }).values

const { cwd, stop_hook_active } = JSON.parse(readFileSync(0, "utf8"))
if (stop_hook_active) process.exit(0)
const project = process.env.CLAUDE_PROJECT_DIR ?? cwd
const report = resolve(project, "coverage/coverage-summary.json")

const isSource = (path) =>
  /^(src|lib|app)\/.*\.[cm]?[jt]sx?$/.test(path) && !/[._-](test|spec)\.|\.d\.[cm]?ts$/.test(path)
const goOn = (text) => {
  console.error(text)
  process.exit(2)
}

let changed
try {
  const status = execFileSync("git", ["status", "--porcelain", "-z", "--untracked-files=all"], {
    cwd: project,
    encoding: "utf8",
  })
  changed = status
    .split("\0")
    .filter((line) => !/^( D|D )/.test(line))
    .map((line) => line.slice(3))
    .filter(isSource)
} catch {
  process.exit(0) // No repository, so nobody can say what has changed.
}
if (changed.length === 0) process.exit(0)

const writtenAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
const newest = Math.max(...changed.map((path) => writtenAt(resolve(project, path))))
if (writtenAt(report) < newest)
  goOn(`The code is newer than its coverage. Run \`${run}\`, and see that all tests pass.`)

const summary = JSON.parse(readFileSync(report, "utf8"))
const poor = changed.flatMap((path) => {
  const percent = summary[resolve(project, path)]?.lines.pct ?? 0
  return percent < Number(min) ? [`- ${path}: ${percent} %`] : []
})
if (poor.length > 0)
  goOn(
    `At least ${min} % of the lines of each changed file must be covered by tests. Too little is in:\n${poor.join("\n")}`,
  )
