/**
 * The package as people get it: packed, installed into an empty project beside `effect`, and used on Node 20 and on Node 24. Needs
 * the registry, so it runs with the deep tests only; they have built the package before.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import process from "node:process"
import { type Ended, type Options, root, run } from "../examples/build.ts"
import { cases, play, serve, type Start } from "../examples/cases.ts"

const home = mkdtempSync(join(tmpdir(), "troupe-tarball-"))
const project = join(home, "project")
const nodes = { "20": "", "24": "" }
let tarball = ""

const tool = Effect.fnUntraced(function* (command: string, args: ReadonlyArray<string>, cwd: string) {
  const env = Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]))
  // The outer npm's own variables would make this one believe that it runs in our package.
  for (const name of Object.keys(env)) if (/^npm_(package|lifecycle|command)/.test(name)) delete env[name]
  const ended = yield* run(command, args, { cwd, env })
  assert.strictEqual(ended.code, 0, `${command} ${args.join(" ")}\n${ended.out}\n${ended.err}`)
  return ended.out
})
const npm = (args: ReadonlyArray<string>, cwd: string) => tool("npm", [...args, "--no-audit", "--no-fund"], cwd)

/** A Node of this major version: the one that runs this, or the one of that package. */
const nodeOf = Effect.fnUntraced(function* (major: "20" | "24") {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const directory = join(home, `node${major}`)
  mkdirSync(directory)
  writeFileSync(join(directory, "package.json"), '{"private":true}')
  yield* npm(["install", `node${major}@npm:node@${major}`], directory)
  return join(directory, "node_modules", `node${major}`, "bin", "node")
})

const manifest = (): { readonly version: string; readonly devDependencies: Readonly<Record<string, string>> } =>
  JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

beforeAll(async () => {
  const prepare = Effect.gen(function* () {
    // Without scripts: `prepare` would build anew under the feet of other tests.
    yield* npm(["pack", "--ignore-scripts", "--pack-destination", home], root)
    const { version, devDependencies } = manifest()
    tarball = join(home, `troupe-${version}.tgz`)
    mkdirSync(project)
    writeFileSync(join(project, "package.json"), '{"name":"empty","private":true,"type":"module"}')
    const beside = ["effect", "@types/node"].map((name) => `${name}@${devDependencies[name]}`)
    yield* npm(["install", tarball, ...beside], project)
    nodes["20"] = yield* nodeOf("20")
    nodes["24"] = yield* nodeOf("24")
  })
  await Effect.runPromise(prepare)
}, 300_000)
// Packages are many small files: on a busy disk that takes its time.
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }), 120_000)

const program = `
import { Agents, Budget, Event, Output, Runtime, Tools } from "troupe"
import { TroupeNode } from "troupe/node"
import { createTroupe, codingTools, tool } from "troupe/promise"
import { ScriptedModel, TestRuntime } from "troupe/testing"

for (const name of [Agents, Budget, Event, Output, Runtime, Tools, TroupeNode, TestRuntime, tool]) if (!name) throw name
const book = { rules: [{ when: { tool: "Glob" }, reply: "found" }, { reply: [{ tool: "Glob", input: { pattern: "*.mjs" } }] }] }
const troupe = await createTroupe({ provider: ScriptedModel.layer(book), configDir: process.env.CLAUDE_CONFIG_DIR })
const agent = await troupe.open({ tools: codingTools })
const { text, terminal } = await agent.run("Find")
await troupe.close()
console.log(process.version.split(".")[0], terminal.reason, text)
`

const consumer = `
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agents, Output, Runtime, Tools } from "troupe"
import { TroupeNode } from "troupe/node"
import { createTroupe, type Event, tool } from "troupe/promise"
import { TestRuntime } from "troupe/testing"

const Answer = Output.make(Schema.Struct({ score: Schema.Int }))
export const score: Effect.Effect<number, unknown> = Effect.gen(function* () {
  const agents = yield* Agents
  const agent = yield* agents.open({ tools: Tools.coding, jsonSchema: Answer.jsonSchema })
  return (yield* Answer.ask(agent, "Score it")).score
}).pipe(Effect.scoped, Effect.provide(Runtime.layer().pipe(Layer.provide(TroupeNode.layer))))
export const world = TestRuntime.layer({ rules: [{ reply: "Hello" }] })

const twice = tool({ name: "Twice", description: "", input: Schema.Struct({ n: Schema.Finite }), run: ({ n }) => String(n * 2) })
await using troupe = await createTroupe()
await using agent = await troupe.open({ tools: [twice], output: Schema.Struct({ name: Schema.String }) })
const { value } = await agent.run("Who?")
export const name: string | undefined = value?.name
// @ts-expect-error: an answer is what its schema says
export const wrong: number | undefined = value?.name
export const tags: Array<Event["_tag"]> = []
for await (const event of agent.prompt("Again")) tags.push(event._tag)
`

const tsc = (args: ReadonlyArray<string>) =>
  tool(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args], project)
const strict = ["--target", "es2023", "--module", "nodenext", "--moduleResolution", "nodenext", "--strict"]
const flags = [...strict, "--exactOptionalPropertyTypes", "--skipLibCheck", "--types", "node"]

describe("the tarball", () => {
  it.live("type-checks in a consumer with moduleResolution nodenext", () =>
    Effect.sync(() => writeFileSync(join(project, "consumer.ts"), consumer)).pipe(
      Effect.andThen(tsc([...flags, "--noEmit", "consumer.ts"])),
    ),
  )

  it.live("is clean for publint", () =>
    Effect.gen(function* () {
      assert.include(yield* tool("npx", ["-y", "publint@0.3.25", "run", tarball, "--strict"], home), "All good")
    }),
  )

  // `esm-only`: the package has no CommonJS build, because it must share the one `effect` of its host, which has none either.
  // So `require` of it and the resolution of TypeScript before `exports` cannot work, and are the only rules left out.
  it.live("has types that resolve to what runs", () =>
    tool("npx", ["-y", "@arethetypeswrong/cli@0.18.5", tarball, "--profile", "esm-only"], home),
  )

  for (const major of ["20", "24"] as const) {
    describe(`on Node ${major}`, () => {
      const own = (): Options => {
        const place = mkdtempSync(join(home, "place-"))
        const PATH = [dirname(nodes[major]), process.env["PATH"] ?? ""].join(delimiter)
        return { cwd: place, env: { PATH, HOME: place, TMPDIR: place, CLAUDE_CONFIG_DIR: join(place, "config") } }
      }
      const troupe = (args: ReadonlyArray<string>) => run(join(project, "node_modules/.bin/troupe"), args, own())
      const succeeded = (ended: Ended) => assert.strictEqual(ended.code, 0, `${ended.out}\n${ended.err}`)

      it.live("tells its version and plays the demo", () =>
        Effect.gen(function* () {
          const told = yield* troupe(["--version"])
          assert.strictEqual(told.out, `${manifest().version} (Troupe)\n`)
          const demo = yield* troupe(["demo"])
          succeeded(demo)
          // Node 20 and 24 word a test run differently.
          assert.match(demo.out, /[#ℹ] fail 0[^]*All tests pass/)
        }),
      )

      it.live("runs a program that imports all four doors", () =>
        Effect.gen(function* () {
          writeFileSync(join(project, "program.mjs"), program)
          const ended = yield* run(nodes[major], [join(project, "program.mjs")], own())
          assert.deepStrictEqual(ended, { code: 0, out: `v${major} completed found\n`, err: "" })
        }),
      )

      it.live("runs all examples, compiled in the empty project", () =>
        Effect.gen(function* () {
          const copies = join(project, `examples-${major}`)
          cpSync(join(project, "node_modules/troupe/examples"), copies, { recursive: true })
          const files = [...cases.map(({ name }) => name), "web-server"].map((name) => join(copies, `${name}.ts`))
          yield* tsc([...flags, ...files])
          const start: Start = (name, args, options) =>
            run(nodes[major], [join(copies, `${name}.js`), ...args], options)
          yield* Effect.forEach(cases, (one) => play(start, one), { discard: true })
          yield* serve(start)
        }),
      )
    })
  }
})
