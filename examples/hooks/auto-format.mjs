/**
 * Formats a file that was just written, with the formatter the project itself has installed.
 *
 * PostToolUse, Edit|Write. Says nothing unless the formatter changed something: then the model is told, because what it remembers of the
 * file is no longer what is on disk.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { extname, join } from "node:path"

const { cwd, tool_input } = JSON.parse(readFileSync(0, "utf8"))
const project = process.env.CLAUDE_PROJECT_DIR ?? cwd
const file = tool_input.file_path
const local = (name) => join(project, "node_modules/.bin", name)

/** The first one that is installed formats. Those of npm are only taken from the project, never from the network. */
const web = [
  [local("oxfmt"), file],
  [local("biome"), "format", "--write", file],
  [local("prettier"), "--write", "--ignore-unknown", file],
]
const formatters = {
  ...Object.fromEntries([".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".css", ".json"].map((ext) => [ext, web])),
  ".py": [
    ["ruff", "format", file],
    ["black", "--quiet", file],
  ],
  ".go": [["gofmt", "-w", file]],
  ".rs": [["rustfmt", file]],
}

if (typeof file !== "string" || !existsSync(file)) process.exit(0)
const before = readFileSync(file, "utf8")
for (const [command, ...args] of formatters[extname(file)] ?? []) {
  const { error, status, stderr } = spawnSync(command, args, { cwd: project, encoding: "utf8" })
  if (error?.code === "ENOENT") continue
  if (status !== 0) {
    // Most likely the code does not parse; that is for the model to put right.
    console.error(`The formatter refused ${file}:\n${stderr || error?.message}`)
    process.exit(2)
  }
  if (readFileSync(file, "utf8") !== before) {
    const additionalContext = `${file} was formatted after your change. Read it again before you edit it further.`
    console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: "PostToolUse", additionalContext } }))
  }
  break
}
