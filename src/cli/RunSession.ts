/**
 * Owns how a session is run from the command line: what its folder wants is put to the person, then it is opened at the right door, with
 * what both doors need. Only what the chosen one needs is loaded.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import process from "node:process"
import type { Agent } from "../agents/Agent.ts"
import { Agents } from "../agents/Agents.ts"
import { ModelTable } from "../cost/ModelTable.ts"
import { TroupeNode } from "../node/index.ts"
import { Host } from "../platform/Host.ts"
import * as Runtime from "../Runtime.ts"
import { Settings } from "../settings/Settings.ts"
import { render } from "../settings/SettingsLayer.ts"
import type { Debugged } from "./Debugged.ts"
import type { LineReader } from "./LineReader.ts"
import { version } from "./PackageRoot.ts"
import * as Profile from "./Profile.ts"
import * as Profiled from "./Profiled.ts"
import * as Services from "./Services.ts"
import type { SessionArgs } from "./SessionArgs.ts"
import { InputError, type Stdio } from "./Stdio.ts"

export const runSession = Effect.fnUntraced(function* (args: SessionArgs, stdio: Stdio, debug?: Debugged) {
  // Nobody types into a pipe: what comes through it belongs to one prompt.
  const print = args.print || !stdio.inputIsTerminal
  if (!print && (yield* trusting(args, stdio)) === "leave") return 0
  return yield* opened({ ...args, print }, stdio, debug)
})

const dumb = (): boolean => process.env["TERM"] === "dumb"

/** A sign of life on stderr, for those who wait there. */
const progressing = Effect.fnUntraced(function* (stdio: Stdio, cwd: string) {
  const { make } = yield* Effect.promise(() => import("./Progress.ts"))
  const Screen = yield* Effect.promise(() => import("./Screen.ts"))
  const look = { color: false, live: !dumb(), columns: stdio.columns, cwd, mute: true }
  return make(stdio, process.stderr, Screen.make(look))
})

/** Puts everything that waits to the person; nothing is asked where nothing does. */
const putWishes = Effect.fnUntraced(function* (args: SessionArgs, reader: LineReader, { out }: Stdio) {
  const { folderWishes } = yield* Effect.promise(() => import("./FolderWishes.ts"))
  const wishes = yield* folderWishes(args)
  if (wishes.length === 0) return undefined
  const { cwd } = yield* Host
  const { ask } = yield* Effect.promise(() => import("./TrustDialogue.ts"))
  return yield* ask(wishes, { cwd, reader, out })
})

/** Before a session at the terminal: what the folder wants is put to the person once. */
const trusting = (args: SessionArgs, stdio: Stdio) =>
  Effect.gen(function* () {
    const LineReader = yield* Effect.promise(() => import("./LineReader.ts"))
    return yield* putWishes(args, LineReader.make(process.stdin, process.stdout), stdio)
  }).pipe(Effect.provide(Services.settings(args)))

/** When a session has begun its work: deleting old ones is in nobody's way then. */
const cleanAfter = "2 seconds"

/** Old sessions go, once a day. Whoever ends before that leaves it to the next. */
const cleaning = Effect.gen(function* () {
  const { daily } = yield* Effect.promise(() => import("../session/Retention.ts"))
  const told = yield* daily
  if (told !== undefined) yield* Effect.logWarning(told)
})

const opened = (args: SessionArgs, plainly: Stdio, debug?: Debugged) =>
  Effect.gen(function* () {
    Profile.mark("the services are built")
    const table = yield* ModelTable
    const { cwd, env, pid, configDir } = yield* Host
    const { current, reload } = yield* Settings
    if (debug !== undefined) yield* debug.settings(yield* current)
    const opener = debug === undefined ? yield* Agents : debug.watched(yield* Agents)
    const { print } = args
    yield* Effect.forkScoped(Effect.delay(cleaning, cleanAfter))
    // Where nobody looks, or the lines come by themselves, there is nothing to draw.
    const quiet = process.stderr.isTTY !== true || (print && (args.verbose || args.outputFormat !== "text"))
    const progress = quiet ? undefined : yield* progressing(plainly, cwd)
    const agents = progress?.sessions(opener, print) ?? opener
    const stdio = progress?.stdio ?? plainly
    for (const diagnostic of (yield* current).fresh) {
      yield* Effect.ignore(stdio.err.write(`troupe: ${diagnostic.severity}: ${render(diagnostic)}\n`))
    }
    for (const text of args.idle) yield* Effect.ignore(stdio.err.write(`troupe: ${text}\n`))
    if (print) {
      const { runPrint } = yield* Effect.promise(() => import("./RunPrint.ts"))
      const source = ["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"].find((name) => env(name) !== undefined)
      const modelOf = (name: string) => {
        const { id, known, spec } = table.resolve(name)
        return { id, limits: known ? spec : undefined }
      }
      const tellsState = env("CLAUDE_CODE_SDK_READS_SESSION_STATE") === "1"
      const client = { models: table, pid, tellsState }
      const door = { agents, stdio, cwd, version: version(), apiKeySource: source ?? "none", modelOf, ...client }
      return yield* runPrint({ ...door, stdio: onlyText(stdio, args) }, args)
    }
    const { runInteractive } = yield* Effect.promise(() => import("./RunInteractive.ts"))
    const LineReader = yield* Effect.promise(() => import("./LineReader.ts"))
    const PromptHistory = yield* Effect.promise(() => import("./PromptHistory.ts"))
    const pastes = (yield* Effect.promise(() => import("./Pastes.ts"))).make()
    const reader = LineReader.make(process.stdin, process.stdout, pastes)
    const forgets = env("CLAUDE_CODE_SKIP_PROMPT_HISTORY") !== undefined
    const history = forgets ? PromptHistory.none : PromptHistory.make(join(configDir, "history.jsonl"), cwd, pastes)
    const { statusLine } = yield* Effect.promise(() => import("./StatusSession.ts"))
    const status = yield* statusLine({ stdio, version: version(), color: args.color, addDirs: args.addDirs })
    // What is agreed to on the way counts at once.
    const trust = putWishes(args, reader, stdio).pipe(
      Effect.tap(reload),
      Effect.catch((error) => Effect.as(Effect.logWarning(error.message), undefined)),
      Effect.provideContext(yield* Effect.context<Settings | Runtime.Platform>()),
    )
    const platform = yield* Effect.context<Settings | Runtime.Platform>()
    const travel = {
      toFile: (agent: Agent, file: string | undefined) =>
        Effect.flatMap(travelling, ({ toFile }) => Effect.provideContext(toFile(agent.sessionId, file), platform)),
      handOver: (agent: Agent, address: string) =>
        Effect.flatMap(travelling, ({ handOver }) => Effect.provideContext(handOver(agent, address), platform)),
    }
    const save = (sessionId: string, output: string | undefined) =>
      Effect.promise(() => import("./SessionExport.ts")).pipe(
        Effect.flatMap((exports) => exports.save({ kind: "own", sessionId, path: "" }, cwd, output)),
        Effect.provideContext(platform),
      )
    const look = { dumb: dumb(), statusLine: status, travel, save }
    const door = { agents, stdio, reader, cwd, version: version(), history, pastes, trust, ...look }
    return yield* runInteractive(door, args)
  }).pipe(
    Effect.provide(
      Runtime.layer({ settings: Services.settingsOptions(args) }).pipe(
        Layer.provideMerge(Profiled.platform(debug?.platform ?? TroupeNode.layer)),
      ),
    ),
  )

const travelling = Effect.promise(() => import("./TeleportPrompt.ts"))

/** A prompt is text. Bytes of something else are better named than sent. */
const onlyText = (stdio: Stdio, { inputFormat }: SessionArgs): Stdio => {
  if (inputFormat !== "text") return stdio
  const detail = "it holds bytes that are no text. Save it to a file and name that in the prompt"
  const input = Stream.tap(stdio.input, (text) =>
    text.includes("\0") ? Effect.fail(new InputError({ detail })) : Effect.void,
  )
  return { ...stdio, input }
}
