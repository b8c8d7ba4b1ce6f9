// Measures one permission decision, warm: a 200-character command against 200 rules. Sends the figures to whoever started it, or prints them.
import { pathToFileURL } from "node:url"
import { analyse } from "../../dist/lib/policy/Bash.js"
import { decide } from "../../dist/lib/policy/Decide.js"
import { compile } from "../../dist/lib/policy/Rules.js"
import { now } from "./clock.mjs"
import { median } from "./median.mjs"

const place = { cwd: "/work", home: "/home/u" }
const context = { ...place, mode: "default" }

const rule = (behavior, text) => ({ behavior, text, source: { kind: "project" }, root: "/work" })
const rules = [
  ...Array.from({ length: 40 }, (_, i) => rule("allow", `Bash(tool${i} run *)`)),
  ...Array.from({ length: 40 }, (_, i) => rule("ask", `Bash(git x${i} *)`)),
  ...Array.from({ length: 40 }, (_, i) => rule("deny", `Bash(bad${i} *)`)),
  ...Array.from({ length: 40 }, (_, i) => rule("deny", `Read(secret${i}/**)`)),
  ...Array.from({ length: 30 }, (_, i) => rule("allow", `Edit(src${i}/**/*.ts)`)),
  ...Array.from({ length: 10 }, (_, i) => rule("allow", `WebFetch(domain:h${i}.example.com)`)),
]
/** 200 characters. Every one names other files, so that nothing remembered about paths helps. */
const command = (i) =>
  `cd packages/api && git log --oneline -n 9 | grep -v merge | head -5; tool7 run build --flag=1 && ` +
  `cat src/a${String(i).padStart(4, "0")}.ts src/main.ts | sort | uniq -c; ls -la dist/*.js 2>/dev/null || echo "nothing there yet"`

const judge = (text, compiled) => {
  const bash = analyse(text, place)
  return decide(
    { tool: "Bash", input: { command: text }, readOnly: false, touches: bash.touches, bash },
    compiled,
    context,
  )
}

/** Milliseconds for looking through a command and deciding about it, the median of several rounds. */
export const policyDecision = (quick) => {
  const compiled = compile(rules, place)
  const times = quick ? 300 : 1_000
  let i = 0
  const round = () => {
    const from = now()
    for (let n = 0; n < times; n++) judge(command(i++), compiled)
    return (now() - from) / times
  }
  while (i < 3_000) round()
  return { characters: command(0).length, rules: rules.length, ms: median(Array.from({ length: 5 }, round)) }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const found = policyDecision(process.argv.includes("--quick"))
  if (process.send === undefined) process.stdout.write(`${JSON.stringify(found)}\n`)
  else process.send(found, () => process.disconnect())
}
