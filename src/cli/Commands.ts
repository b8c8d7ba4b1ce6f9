/** Owns the wiring of each command to the runtime. What a command does not need is not loaded. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import process from "node:process"
import type { Agent } from "../agents/Agent.ts"
import { Agents } from "../agents/Agents.ts"
import { ModelTable } from "../cost/ModelTable.ts"
import { TroupeNode } from "../node/index.ts"
import { Git } from "../platform/Git.ts"
import { Host, make as makeHost } from "../platform/Host.ts"
import { MarkdownIndex } from "../platform/MarkdownIndex.ts"
import * as Runtime from "../Runtime.ts"
import { Settings, type SettingsOptions } from "../settings/Settings.ts"
import * as TrustStore from "../settings/TrustStore.ts"
import { render } from "../settings/SettingsLayer.ts"
import type { Job } from "./Argv.ts"
import type { LineReader } from "./LineReader.ts"
import type { Common, SessionArgs } from "./SessionArgs.ts"
import { version } from "./PackageRoot.ts"
import type { RewindJob } from "./RewindCommand.ts"
import type { Debugged } from "./Debugged.ts"
import * as Profile from "./Profile.ts"
import * as Profiled from "./Profiled.ts"
import { InputError, signalCodes, type Stdio } from "./Stdio.ts"

type JobOf<Tag extends Job["_tag"]> = Extract<Job, { readonly _tag: Tag }>

/** Does what the command line asks for and answers the exit code. */
export const run = (job: Job, stdio: Stdio) =>
  Effect.gen(function* () {
    if (job.log === undefined) return yield* Effect.provide(dispatch(job, stdio), logging(stdio))
    const { debugged } = yield* Effect.promise(() => import("./Debugged.ts"))
    const debug = yield* debugged(job, job.log, stdio)
    const { log, categoryOf, named } = debug
    return yield* Effect.provide(
      Effect.andThen(debug.started, dispatch(named, stdio, debug)),
      logging(stdio, { log, categoryOf }),
    )
  })

const dispatch = Effect.fnUntraced(function* (job: Job, stdio: Stdio, debug?: Debugged) {
  switch (job._tag) {
    case "Session":
      return yield* session(job, stdio, debug)
    case "ConfigExplain":
      return yield* configExplain(job, stdio)
    case "ConfigList":
      return yield* configList(job, stdio)
    case "ConfigSet":
      return yield* configSet(job, stdio)
    case "ConfigTrust":
      return yield* configTrust(job, stdio)
    case "PermissionsExplain":
      return yield* permissionsExplain(job, stdio)
    case "HooksList":
    case "HooksExplain":
      return yield* hooks(job, stdio)
    case "Skills":
      return yield* skills(job, stdio)
    case "MemoryView":
      return yield* memoryView(job, stdio)
    case "InstructionsList":
      return yield* instructionsList(job, stdio)
    case "Agents":
      return yield* agentsView(job, stdio)
    case "Teleport":
      return yield* teleport(job, stdio)
    case "Replay":
      return yield* replay(job, stdio)
    case "ReplayExport":
      return yield* replayExport(job, stdio)
    case "Sessions":
      return yield* sessions(job, stdio)
    case "Context":
      return yield* context(job, stdio)
    case "Rewind":
      return yield* rewind(job, stdio)
    case "ModelServe":
      return yield* modelServe(job, stdio)
    case "Demo":
      return yield* demo(job, stdio)
  }
})

const settingsOptions = (flags: Common): SettingsOptions => ({
  ...(flags.settings !== undefined && { settings: flags.settings }),
  ...(flags.settingSources !== undefined && { sources: flags.settingSources }),
  ...(flags.trust && { trusted: () => true }),
})

/** Stdout belongs to the answer, so logs go to stderr: warnings, and more when debugging, unless the log file has it. */
const logging = ({ err }: Stdio, debug?: Pick<Debugged, "log" | "categoryOf">) => {
  const toStderr = Logger.make<unknown, void>((entry) => {
    if (debug !== undefined && debug.categoryOf(entry) !== undefined) return
    const { logLevel, message } = entry
    const parts = Array.isArray(message) ? message : [message]
    const text = parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ")
    Effect.runFork(Effect.ignore(err.write(`troupe: ${logLevel.toLowerCase()}: ${text}\n`)))
  })
  return Layer.mergeAll(
    Logger.layer(debug === undefined ? [toStderr] : [toStderr, debug.log.logger]),
    Layer.succeed(References.MinimumLogLevel, debug === undefined ? "Warn" : "Debug"),
  )
}

const dumb = (): boolean => process.env["TERM"] === "dumb"

/** A sign of life on stderr, for those who wait there. */
const progressing = Effect.fnUntraced(function* (stdio: Stdio, cwd: string) {
  const { make } = yield* Effect.promise(() => import("./Progress.ts"))
  const Screen = yield* Effect.promise(() => import("./Screen.ts"))
  const look = { color: false, live: !dumb(), columns: stdio.columns, cwd, mute: true }
  return make(stdio, process.stderr, Screen.make(look))
})

const session = Effect.fnUntraced(function* (args: SessionArgs, stdio: Stdio, debug?: Debugged) {
  if (args.rewindFiles !== undefined && args.which._tag === "Resume") {
    const { rewindFiles: to, which } = args
    const asked = { session: which.id, to, what: "code", dryRun: false, force: false, json: false } as const
    return yield* rewind({ ...args, ...asked }, stdio)
  }
  // Nobody types into a pipe: what comes through it belongs to one prompt.
  const print = args.print || !stdio.inputIsTerminal
  if (!print && (yield* trusting(args, stdio)) === "leave") return 0
  return yield* opened({ ...args, print }, stdio, debug)
})

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
      Runtime.layer({ settings: settingsOptions(args) }).pipe(
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

const withSettings = (flags: Common) => Settings.layer(settingsOptions(flags)).pipe(Layer.provide(TroupeNode.layer))

const configExplain = (job: JobOf<"ConfigExplain">, stdio: Stdio) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const { explained } = yield* Effect.promise(() => import("./ConfigView.ts"))
    const found = job.key === undefined ? yield* settings.list : [yield* settings.explain(job.key)]
    yield* stdio.out.write(explained(found, job.json, job.key !== undefined))
    return 0
  }).pipe(Effect.provide(withSettings(job)))

const configList = (job: JobOf<"ConfigList">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { current } = yield* Settings
    const { listed } = yield* Effect.promise(() => import("./ConfigView.ts"))
    yield* stdio.out.write(listed(yield* current, job.json))
    return 0
  }).pipe(Effect.provide(withSettings(job)))

const permissionsExplain = (job: JobOf<"PermissionsExplain">, stdio: Stdio) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const { shown } = yield* Effect.promise(() => import("./PermissionsView.ts"))
    const { all } = yield* Effect.promise(() => import("../agents/Toolset.ts"))
    const { verdict, problems } = yield* agents.explain(job, { ...job, tools: all })
    for (const problem of problems) yield* Effect.ignore(stdio.err.write(`troupe: warning: ${problem}\n`))
    yield* stdio.out.write(shown(verdict, job.json))
    return 0
  }).pipe(
    Effect.scoped,
    Effect.provide(Runtime.layer({ settings: settingsOptions(job) }).pipe(Layer.provideMerge(TroupeNode.layer))),
  )

/** Everything of this folder that waits for a person to agree. */
const folderWishes = Effect.fnUntraced(function* (flags: Common) {
  const { folderWishes } = yield* Effect.promise(() => import("./FolderWishes.ts"))
  return yield* folderWishes(flags)
})

/** Puts everything that waits to the person; nothing is asked where nothing does. */
const putWishes = Effect.fnUntraced(function* (args: SessionArgs, reader: LineReader, { out }: Stdio) {
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
  }).pipe(Effect.provide(Settings.layer(settingsOptions(args)).pipe(Layer.provideMerge(TroupeNode.layer))))

const skills = (job: JobOf<"Skills">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { answer } = yield* Effect.promise(() => import("./SkillsView.ts"))
    const { SkillLibrary } = yield* Effect.promise(() => import("../skills/SkillLibrary.ts"))
    const library = SkillLibrary.layer.pipe(Layer.provide(MarkdownIndex.layer))
    const { code, text } = yield* Effect.provide(answer(job, stdio.columns()), library)
    const isAnswer = code === 0 || job.what === "validate"
    yield* (isAnswer ? stdio.out : stdio.err).write(text)
    return code
  }).pipe(Effect.provide(Settings.layer(settingsOptions(job)).pipe(Layer.provideMerge(TroupeNode.layer))))

const memoryView = (job: JobOf<"MemoryView">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { memoryShown } = yield* Effect.promise(() => import("./MemoryView.ts"))
    return yield* memoryShown(job, stdio)
  }).pipe(Effect.provide(Settings.layer(settingsOptions(job)).pipe(Layer.provideMerge(TroupeNode.layer))))

const instructionsList = (job: JobOf<"InstructionsList">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { instructionsShown } = yield* Effect.promise(() => import("./InstructionsView.ts"))
    return yield* instructionsShown(job, stdio)
  }).pipe(Effect.provide(Settings.layer(settingsOptions(job)).pipe(Layer.provideMerge(TroupeNode.layer))))

const sessions = (job: JobOf<"Sessions">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { sessionsCommand } = yield* Effect.promise(() => import("./SessionsCommand.ts"))
    const LineReader = yield* Effect.promise(() => import("./LineReader.ts"))
    const isPerson = stdio.inputIsTerminal && stdio.outputIsTerminal
    const reader = isPerson ? LineReader.make(process.stdin, process.stdout) : undefined
    return yield* sessionsCommand(job, { stdio, reader, version: version() })
  }).pipe(Effect.provide(Settings.layer(settingsOptions(job)).pipe(Layer.provideMerge(TroupeNode.layer))))

const agentsView = (job: JobOf<"Agents">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { agentsCommand } = yield* Effect.promise(() => import("./AgentsCommand.ts"))
    return yield* agentsCommand(job, stdio)
  }).pipe(Effect.provide(Settings.layer(settingsOptions(job)).pipe(Layer.provideMerge(TroupeNode.layer))))

const teleport = (job: JobOf<"Teleport">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { teleported } = yield* Effect.promise(() => import("./TeleportCommand.ts"))
    const NodeLocalSocket = yield* Effect.promise(() => import("../platform/NodeLocalSocket.ts"))
    return yield* Effect.provide(teleported(job, stdio), NodeLocalSocket.layer)
  }).pipe(
    Effect.provide(
      Layer.mergeAll(Settings.layer(settingsOptions(job)), Git.layer).pipe(Layer.provideMerge(TroupeNode.layer)),
    ),
  )

const context = (job: JobOf<"Context">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { contextCommand } = yield* Effect.promise(() => import("./ContextCommand.ts"))
    return yield* contextCommand(job, stdio)
  }).pipe(Effect.provide(Settings.layer(settingsOptions(job)).pipe(Layer.provideMerge(TroupeNode.layer))))
const rewind = (job: RewindJob & Common, stdio: Stdio) =>
  Effect.gen(function* () {
    const { rewindCommand } = yield* Effect.promise(() => import("./RewindCommand.ts"))
    return yield* rewindCommand(job, stdio)
  }).pipe(Effect.provide(Runtime.layer({ settings: settingsOptions(job) }).pipe(Layer.provideMerge(TroupeNode.layer))))

const hooks = (job: JobOf<"HooksList" | "HooksExplain">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { current } = yield* Settings
    const { cwd, home } = yield* Host
    const HooksView = yield* Effect.promise(() => import("./HooksView.ts"))
    const found = HooksView.known((yield* current).layers, { cwd, home })
    for (const problem of found.problems) yield* Effect.ignore(stdio.err.write(`troupe: warning: ${problem}\n`))
    const shown =
      job._tag === "HooksList"
        ? HooksView.listed(found, job.json)
        : yield* Effect.promise(() => HooksView.explained(found, job, { cwd, home }))
    if (typeof shown === "string") {
      yield* stdio.out.write(shown)
      return 0
    }
    yield* stdio.err.write(`troupe: ${shown.wrong}\n`)
    return 2
  }).pipe(Effect.provide(Settings.layer(settingsOptions(job)).pipe(Layer.provideMerge(TroupeNode.layer))))

const replay = (job: JobOf<"Replay">, stdio: Stdio) =>
  Effect.gen(function* () {
    const ReplayCommand = yield* Effect.promise(() => import("./ReplayCommand.ts"))
    if (job.fork === undefined) return yield* ReplayCommand.replayed(job, stdio)
    // Only here somebody is asked anything, and only with --live-tools anything is run.
    const runtime = Runtime.layer({ settings: settingsOptions(job) })
    return yield* Effect.provide(ReplayCommand.forked(job, job.fork, stdio), runtime)
  }).pipe(Effect.scoped, Effect.provide(TroupeNode.layer))

const replayExport = (job: JobOf<"ReplayExport">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { exported } = yield* Effect.promise(() => import("./ReplayCommand.ts"))
    return yield* exported(job, stdio)
  }).pipe(Effect.provide(TroupeNode.layer))

const configTrust = (job: JobOf<"ConfigTrust">, stdio: Stdio) =>
  Effect.gen(function* () {
    const wishes = yield* folderWishes(job)
    if (wishes.length === 0) {
      yield* stdio.out.write(
        "Nothing waits: no file of this folder wants anything executable, or you agreed already.\n",
      )
      return 0
    }
    yield* stdio.out.write(`${wishes.map(({ text }) => text).join("\n")}\n`)
    if (!job.yes) {
      yield* stdio.out.write("To put exactly this in force: troupe config trust --yes. A later change asks again.\n")
      return 1
    }
    yield* TrustStore.approve(wishes.map(({ review }) => review))
    yield* stdio.out.write("In force: rules at once, the rest from the next session on.\n")
    return 0
  }).pipe(Effect.provide(Settings.layer(settingsOptions(job)).pipe(Layer.provideMerge(TroupeNode.layer))))

const configSet = (job: JobOf<"ConfigSet">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { configWrite } = yield* Effect.promise(() => import("./ConfigWrite.ts"))
    return yield* configWrite(job, stdio)
  }).pipe(Effect.provide(Settings.layer().pipe(Layer.provideMerge(TroupeNode.layer))))

const serving = Effect.fnUntraced(function* (file: string, port: number) {
  const Playbook = yield* Effect.promise(() => import("../testing/Playbook.ts"))
  const { ScriptedServer } = yield* Effect.promise(() => import("../testing/ScriptedServer.ts"))
  const playbook = yield* Effect.provide(Playbook.load(file), TroupeNode.layer)
  const { url } = yield* ScriptedServer.serve({ playbook, port, record: false })
  return { url, workspace: playbook.workspace ?? {}, name: playbook.name ?? file }
})

const modelServe = (job: JobOf<"ModelServe">, stdio: Stdio) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { url, name } = yield* serving(job.playbook, job.port)
      yield* stdio.out.write(
        `A scripted model, not a real one, plays "${name}" at ${url}\n` +
          `  ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=scripted troupe -p "…"\n` +
          "Ctrl-C ends it.\n",
      )
      return signalCodes[yield* stdio.signal]
    }),
  )

const demo = (job: JobOf<"Demo">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { runDemo } = yield* Effect.promise(() => import("./Demo.ts"))
    const serve = (playbook: string) => serving(playbook, 0)
    const agentsAt = Effect.fnUntraced(function* (cwd: string, env: Readonly<Record<string, string | undefined>>) {
      const { allEnv, home, tmpDir, platform, pid, isInteractive } = yield* Host
      const host = makeHost({ cwd, home, tmpDir, platform, pid, isInteractive, env: { ...allEnv, ...env } })
      const built = yield* Runtime.layer({ settings: "none" }).pipe(
        Layer.provide(Layer.succeed(Host, host)),
        Layer.provide(TroupeNode.layer),
        Layer.build,
      )
      return Context.get(built, Agents)
    }, Effect.provide(TroupeNode.layer))
    return yield* runDemo({ stdio, serve, agentsAt }, job)
  })
