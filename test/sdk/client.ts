/**
 * The real Claude Agent SDK, installed without its optional binary into a folder that outlives a run of the tests, and as much of
 * its surface as they use. Its own declarations are what the printed lines are compared with.
 */
import { assert } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "../e2e/world.ts"

export const sdkVersion = "0.3.327"
export const command = path.join(root, "bin/troupe.js")
const installSeconds = 180

export type Message = Readonly<Record<string, unknown>> & { readonly type: string; readonly subtype?: string }

export interface Query extends AsyncGenerator<Message, void> {
  readonly interrupt: () => Promise<unknown>
  readonly setModel: (model?: string) => Promise<void>
  readonly setPermissionMode: (mode: string) => Promise<void>
  readonly setMaxThinkingTokens: (tokens: number | null) => Promise<void>
  readonly supportedModels: () => Promise<ReadonlyArray<{ readonly value: string }>>
  readonly supportedCommands: () => Promise<ReadonlyArray<unknown>>
  readonly supportedAgents: () => Promise<ReadonlyArray<{ readonly name: string }>>
  readonly accountInfo: () => Promise<object>
  readonly mcpServerStatus: () => Promise<ReadonlyArray<unknown>>
  readonly close: () => void
}

export type HookInput = Readonly<Record<string, unknown>>
export type Hook = (
  input: HookInput,
  toolUseId: string | undefined,
  options: { readonly signal: AbortSignal },
) => Promise<object>

export interface Options {
  readonly [name: string]: unknown
  readonly canUseTool?: (
    tool: string,
    input: Readonly<Record<string, unknown>>,
    options: {
      readonly signal: AbortSignal
      readonly toolUseID: string
      readonly suggestions?: ReadonlyArray<object>
    },
  ) => Promise<object>
}

export interface Sdk {
  readonly query: (args: { readonly prompt: string | AsyncIterable<object>; readonly options: Options }) => Query
  readonly createSdkMcpServer: (options: { readonly name: string }) => object
}

const isSdk = (module: object): module is Sdk => "query" in module && "createSdkMcpServer" in module

/** Where it is installed. */
export const home = path.join(os.tmpdir(), `troupe-agent-sdk-${sdkVersion}`)
const folder = path.join(home, "node_modules/@anthropic-ai/claude-agent-sdk")

/** Installs it unless an earlier run did, and loads it. */
export const load = async (): Promise<Sdk> => {
  if (!fs.existsSync(folder)) install()
  const module: unknown = await import(/* @vite-ignore */ pathToFileURL(path.join(folder, "sdk.mjs")).href)
  assert(typeof module === "object" && module !== null && isSdk(module))
  return module
}

/** In a folder of its own first: another test may be doing the same. */
const install = (): void => {
  const fresh = fs.mkdtempSync(`${home}-`)
  fs.writeFileSync(path.join(fresh, "package.json"), '{"private":true,"type":"module"}')
  const env = { ...process.env }
  // The outer npm's own variables would make this one believe that it runs in our package.
  for (const name of Object.keys(env)) if (/^npm_(package|lifecycle|command)/.test(name)) delete env[name]
  const packages = [`@anthropic-ai/claude-agent-sdk@${sdkVersion}`, "@types/node@22"]
  const flags = ["--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"]
  const timeout = installSeconds * 1000
  const done = spawnSync("npm", ["install", ...packages, ...flags], { cwd: fresh, env, encoding: "utf8", timeout })
  const why = done.error?.message ?? done.stderr
  assert.strictEqual(done.status, 0, `The SDK cannot be installed within ${installSeconds} s: ${why}`)
  try {
    fs.renameSync(fresh, home)
  } catch {
    fs.rmSync(fresh, { recursive: true })
  }
}

/** Messages that the test sends when it likes. */
export const conversation = () => {
  const waiting: Array<object> = []
  let wake: (() => void) | undefined
  let over = false
  const changed = () => wake?.()
  async function* messages() {
    while (true) {
      const next = waiting.shift()
      if (next !== undefined) yield next
      else if (over) return
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  return {
    messages: messages(),
    say: (content: unknown, more: object = {}) => {
      waiting.push({
        type: "user",
        message: { role: "user", content },
        parent_tool_use_id: null,
        session_id: "",
        ...more,
      })
      changed()
    },
    end: () => {
      over = true
      changed()
    },
  }
}

/** Every flag that it may start us with, as its source spells them. */
export const flags = (): ReadonlyArray<string> => {
  const source = fs.readFileSync(path.join(folder, "sdk.mjs"), "utf8")
  const from = source.indexOf('"--output-format","stream-json"')
  const to = source.indexOf("Spawning Claude Code", from)
  assert(from !== -1 && to !== -1, "the client builds its command line elsewhere now")
  return [...new Set(source.slice(from, to).match(/--[a-z][A-Za-z-]+/g))]
}

/** What went over the wire. */
export interface Seen {
  readonly out: Array<string>
  readonly in: Array<string>
  argv?: ReadonlyArray<string>
  exited?: Promise<unknown>
}

/** A way to start our command that lets the test see both directions of the wire. */
export const tapped =
  (seen: Seen) =>
  (start: {
    readonly command: string
    readonly args: ReadonlyArray<string>
    readonly cwd: string
    readonly env: NodeJS.ProcessEnv
  }) => {
    const child = spawn(start.command, start.args, { cwd: start.cwd, env: start.env, stdio: ["pipe", "pipe", "pipe"] })
    seen.argv = start.args.slice(1)
    seen.exited = once(child, "close")
    child.stdout.on("data", (piece: Buffer) => seen.out.push(piece.toString("utf8")))
    const { stdin } = child
    const write = stdin.write.bind(stdin)
    Object.assign(stdin, {
      write: (text: string) => {
        seen.in.push(text)
        return write(text)
      },
    })
    return child
  }

/** What the SDK's own declarations say about these lines; empty when they agree. */
export const typeErrors = (lines: ReadonlyArray<object>, type = "SDKMessage"): string => {
  const file = path.join(fs.mkdtempSync(path.join(home, "lines-")), "lines.ts")
  const constants = lines.map((line, at) => `export const line${at} = fits(${JSON.stringify(line)})`)
  fs.writeFileSync(
    file,
    [
      `import type { ${type} } from "@anthropic-ai/claude-agent-sdk"`,
      // A type parameter lets fields pass that the declarations do not name.
      `const fits = <A extends ${type}>(line: A): A => line`,
      ...constants,
      "",
    ].join("\n"),
  )
  const tsc = path.join(root, "node_modules/typescript/bin/tsc")
  const strict = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2023", "--types", "node"]
  const flags = [...strict, "--module", "nodenext", "--moduleResolution", "nodenext"]
  const done = spawnSync(process.execPath, [tsc, ...flags, file], { cwd: home, encoding: "utf8" })
  fs.rmSync(path.dirname(file), { recursive: true })
  // A field more than the declarations name does no harm, also inside of one they name.
  const found = `${done.stdout}${done.stderr}`.split("\n").filter((line) => !line.includes("error TS2353"))
  return found.join("\n").trim()
}
