// Checks the house: each folder imports only what stands before it, no import cycles, no `export *`, node only at the edges.
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"

/** The order is data. A folder (or a file that stands alone) may import itself and whatever comes before it. */
const order = [
  ["kernel", "protocol", "platform"],
  ["settings", "observability", "security", "session", "cost", "model"],
  ["policy", "hooks", "permissions", "tools", "mcp"],
  ["skills", "context", "agents", "teams", "loops", "plugins"],
  ["cluster", "Runtime.ts", "node", "replay", "testing", "promise", "index.ts", "cli"],
].flat()
/** Only these may know that Node exists. */
const nodeAllowed = [/^platform\/Node\w+\.ts$/, /^node\//, /^cli\//, /^testing\//]

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "src")
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => file.split(sep).join("/"))
const problems = []
const imports = new Map()

for (const file of files) {
  const source = readFileSync(join(root, file), "utf8")
  if (/^export \* /m.test(source)) problems.push(`${file}: uses "export *"; export by name`)
  const statements = source.matchAll(
    /^(?:import|export)\s+(type\s)?[^"';]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|import\("([^"]+)"\)/gm,
  )
  const targets = []
  for (const [, isType, from, bare, lazy] of statements) {
    const target = from ?? bare ?? lazy
    if (target.startsWith("node:") && !nodeAllowed.some((rule) => rule.test(file))) {
      problems.push(`${file}: imports ${target}; only the edges may`)
    }
    if (target === "effect") problems.push(`${file}: imports the effect barrel; import a subpath`)
    if (!target.startsWith(".")) continue
    const path = relative(root, normalize(join(root, dirname(file), target)))
      .split(sep)
      .join("/")
    const own = place(file)
    const to = place(path)
    if (own === -1) problems.push(`${file}: its folder has no place in the order (scripts/architecture.mjs)`)
    else if (to === -1) problems.push(`${file}: imports ${path}, which has no place in the order`)
    else if (to > own) problems.push(`${file}: imports ${path}, which stands later (${order[to]} after ${order[own]})`)
    if (!isType && !lazy) targets.push(path)
  }
  imports.set(file, targets)
}

function place(file) {
  return order.indexOf(file.split("/")[0])
}

const state = new Map()
const visit = (file, trail) => {
  if (state.get(file) === "done") return
  if (state.get(file) === "open") {
    problems.push(`import cycle: ${[...trail.slice(trail.indexOf(file)), file].join(" → ")}`)
    return
  }
  state.set(file, "open")
  for (const next of imports.get(file) ?? []) visit(next, [...trail, file])
  state.set(file, "done")
}
for (const file of files) visit(file, [])

if (problems.length > 0) {
  console.error(problems.sort().join("\n"))
  process.exit(1)
}
console.log(`architecture: ${files.length} files, in order, no cycles`)
