/** The README's examples are compiled and run as they stand, and its tables say what the program does. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { spawn } from "node:child_process"
import { join } from "node:path"
import process from "node:process"
import { signalCodes } from "../../src/cli/Stdio.ts"
import * as Program from "../../src/cli/Program.ts"
import { endings } from "../../src/protocol/Terminal.ts"
import * as Playbook from "../../src/testing/Playbook.ts"
import { ScriptedServer } from "../../src/testing/ScriptedServer.ts"
import { block, read, root, section, table } from "./documents.ts"

const readme = read("README.md")

/** A Node process to its end. Only these variables reach it, so no key of a person does. */
const node = (args: ReadonlyArray<string>, cwd: string, env: Readonly<Record<string, string>> = {}) =>
  Effect.callback<{ readonly code: number | null; readonly output: string }>((resume) => {
    let output = ""
    const child = spawn(process.execPath, args, { cwd, env: { PATH: process.env["PATH"] ?? "", ...env } })
    child.stdout.on("data", (data: Buffer) => (output += data.toString()))
    child.stderr.on("data", (data: Buffer) => (output += data.toString()))
    child.on("close", (code) => resume(Effect.succeed({ code, output })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Compiles an example inside the package, where `troupe` means the build, and gives the module to run. */
const compiled = Effect.fnUntraced(function* (code: string) {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ directory: join(root, "dist"), prefix: "readme-" })
  yield* fs.writeFileString(join(directory, "example.ts"), code)
  const options = { noEmit: false, outDir: "out", rootDir: "." }
  const config = { extends: "../../tsconfig.json", compilerOptions: options, include: ["example.ts"] }
  yield* fs.writeFileString(join(directory, "tsconfig.json"), JSON.stringify(config))
  const { code: exit, output } = yield* node([join(root, "node_modules/typescript/bin/tsc"), "-p", directory], root)
  assert.strictEqual(output, "")
  assert.strictEqual(exit, 0)
  return join(directory, "out/example.js")
})

/** A place of its own for a session: a workspace with files in it, and a home. */
const place = Effect.fnUntraced(function* (files: Readonly<Record<string, string>>) {
  const fs = yield* FileSystem.FileSystem
  const home = yield* fs.makeTempDirectoryScoped({ prefix: "troupe-readme-" })
  const workspace = join(home, "workspace")
  yield* fs.makeDirectory(workspace)
  for (const [name, text] of Object.entries(files)) yield* fs.writeFileString(join(workspace, name), text)
  return { workspace, env: { HOME: home, CLAUDE_CONFIG_DIR: join(home, "config") } }
})

const playbook = Playbook.parse(block(section(readme, "Test with it"), "yaml"), "README.md")

describe("README", () => {
  it.live("has an embedding example that compiles and works, with its own playbook as the model", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const book = yield* playbook
      const { url, requests } = yield* ScriptedServer.serve({ playbook: book })
      const { workspace, env } = yield* place(book.workspace ?? {})
      const module = yield* compiled(block(section(readme, "Embed it"), "ts"))
      const ran = yield* node([module], workspace, { ...env, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "scripted" })
      assert.strictEqual(ran.output, "completed: The greeting is spelled right now.\n")
      assert.strictEqual(ran.code, 0)
      assert.strictEqual(yield* fs.readFileString(join(workspace, "hello.txt")), "Hello, world\n")
      assert.strictEqual((yield* requests).length, 3)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)),
  )

  it.live("has a test of a tool that compiles and passes", () =>
    Effect.gen(function* () {
      const { workspace, env } = yield* place({})
      const module = yield* compiled(block(section(readme, "Test with it"), "ts"))
      assert.deepStrictEqual(yield* node([module], workspace, env), { code: 0, output: "" })
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)),
  )

  it("lists every flag and every command, and none that does not exist", () => {
    const program = Program.make("0", { out: () => {}, err: () => {}, columns: 100 }, () => {})
    const text = section(readme, "The command")
    const listed = table(text, "Flag").flatMap(([cell = ""]) =>
      [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]?.split(" ")[0] ?? ""),
    )
    const exist = program.options.flatMap(({ short, long, hidden }) =>
      hidden ? [] : [short, long].filter((flag) => flag !== undefined),
    )
    // The first spelling of the two that commander calls short and long is the one that people know.
    const shown = exist.filter((flag) => !["-v", "--version", "--allowed-tools", "--disallowed-tools"].includes(flag))
    assert.sameMembers(listed, shown)
    const visible = program.commands.filter((command) => !command.name().startsWith("__"))
    const leaves = visible.flatMap((command) => [
      // One that takes something of its own does something by itself.
      ...(command.commands.length === 0 || command.registeredArguments.length > 0 ? [command.name()] : []),
      ...command.commands.map((leaf) => `${command.name()} ${leaf.name()}`),
    ])
    const commands = table(text, "Command").map(([cell = ""]) => cell.replaceAll("`", "").replace(/ [[<].*$/, ""))
    assert.sameMembers(commands, ["troupe", ...leaves.map((name) => `troupe ${name}`)])
  })

  it("lists every exit code", () => {
    const listed = table(section(readme, "The command"), "Exit code").flatMap(([cell = ""]) =>
      cell.split(", ").map(Number),
    )
    const known = new Set([
      ...Object.values(endings).map((ending) => ending.exitCode),
      ...Object.values(signalCodes),
      2,
      141,
    ])
    assert.sameMembers(listed, [...known])
  })
})
