// Builds dist/: the command as code-split chunks with everything inside, and the library as plain modules.
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { rolldown } from "rolldown"
import { parseAst } from "rolldown/parseAst"

rmSync("dist", { recursive: true, force: true })

const bundle = await rolldown({
  input: { main: "src/cli/main.ts" },
  platform: "node",
  // Some packages' CommonJS builds load their parts by computed names, which no bundler can follow.
  resolve: { mainFields: ["module", "main"] },
  // Optional parts, packages that carry binaries, and what is megabytes and seldom needed stay outside.
  external: [
    /^node:/,
    "@vscode/ripgrep",
    "fsevents",
    /^@anthropic-ai\/(bedrock|vertex|foundry)-sdk/,
    /^@aws-sdk\//,
    "google-auth-library",
    "unpdf",
  ],
  transform: {
    target: "node20",
    inject: Object.fromEntries(
      ["Headers", "Response", "Request", "FormData"].map((name) => [name, [resolve("src/cli/WebTypes.ts"), name]]),
    ),
  },
})
const { output } = await bundle.generate({
  format: "cjs",
  entryFileNames: "[name].cjs",
  chunkFileNames: "chunk-[name]-[hash].cjs",
  // Names stay, so that a stack trace says something.
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
})

/**
 * A chunk as bin/chunks.js runs it: a script whose value is one function. Scripts know no `import()`, so what is left of it, for
 * files outside the bundle, calls a parameter. All of it is ASCII, which is read without decoding and takes half the memory.
 */
const asScript = (code) =>
  `(function (exports, require, module, __filename, importOutside) {${ascii(withoutImports(code))}\n})`

const ascii = (code) => code.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)

const withoutImports = (code) => {
  if (!code.includes("import(")) return code
  const found = []
  const visit = (node) => {
    if (node === null || typeof node !== "object") return
    if (node.type === "ImportExpression") found.push(node.start)
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(code))
  return found
    .toSorted((a, b) => b - a)
    .reduce((text, at) => `${text.slice(0, at)}importOutside${text.slice(at + "import".length)}`, code)
}

mkdirSync("dist/cli", { recursive: true })
const digest = createHash("sha256")
for (const { fileName, code } of output) {
  const script = asScript(code)
  digest.update(script)
  writeFileSync(`dist/cli/${fileName}`, script)
}
writeFileSync("dist/cli/build-id", digest.digest("hex").slice(0, 16))

const library = spawnSync("npx", ["tsc", "-p", "tsconfig.build.json"], { stdio: "inherit" })
if (library.status !== 0) process.exit(library.status ?? 1)

// One short session, so that the first real start finds its code compiled (bin/chunks.js). A build without it is as good, only
// slower at its first start, so nothing that goes wrong here matters.
const reply = (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const usage = { input_tokens: 1, output_tokens: 1 }
const message = { id: "msg_build", type: "message", role: "assistant", model: "build", content: [], usage }
const read = { type: "tool_use", id: "toolu_build", name: "Read", input: { file_path: "note.txt" } }
const say = (content_block, stop_reason) =>
  [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ]
    .map(reply)
    .join("")
const answers = [say(read, "tool_use"), say({ type: "text", text: "Built." }, "end_turn")]
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(answers.shift())
  })
})
const home = mkdtempSync(join(tmpdir(), "troupe-build-"))
writeFileSync(join(home, "note.txt"), "built\n")
await once(server.listen(0, "127.0.0.1"), "listening")
const session = spawn(process.execPath, [resolve("bin/troupe.js"), "-p", "Build"], {
  cwd: home,
  env: {
    PATH: process.env.PATH,
    HOME: home,
    USERPROFILE: home,
    ANTHROPIC_API_KEY: "build",
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`,
  },
  stdio: "ignore",
  timeout: 20_000,
})
await Promise.race([once(session, "close"), once(session, "error")])
server.close()
server.closeAllConnections()
rmSync(home, { recursive: true, force: true })
