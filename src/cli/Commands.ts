/** Owns the wiring of each command to the runtime. What a command does not need is not loaded. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import process from "node:process"
import { Agents } from "../agents/Agents.ts"
import { TroupeNode } from "../node/index.ts"
import { Git } from "../platform/Git.ts"
import { Host, make as makeHost } from "../platform/Host.ts"
import { MarkdownIndex } from "../platform/MarkdownIndex.ts"
import * as Runtime from "../Runtime.ts"
import { Settings } from "../settings/Settings.ts"
import * as TrustStore from "../settings/TrustStore.ts"
import type { Job } from "./Argv.ts"
import type { Common, SessionArgs } from "./SessionArgs.ts"
import { version } from "./PackageRoot.ts"
import type { RewindJob } from "./RewindCommand.ts"
import type { Debugged } from "./Debugged.ts"
import { runSession } from "./RunSession.ts"
import * as Services from "./Services.ts"
import { signalCodes, type Stdio } from "./Stdio.ts"

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

const session = Effect.fnUntraced(function* (args: SessionArgs, stdio: Stdio, debug?: Debugged) {
  if (args.rewindFiles === undefined || args.which._tag !== "Resume") return yield* runSession(args, stdio, debug)
  const { rewindFiles: to, which } = args
  const asked = { session: which.id, to, what: "code", dryRun: false, force: false, json: false } as const
  return yield* rewind({ ...args, ...asked }, stdio)
})

const configExplain = (job: JobOf<"ConfigExplain">, stdio: Stdio) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const { explained } = yield* Effect.promise(() => import("./ConfigView.ts"))
    const found = job.key === undefined ? yield* settings.list : [yield* settings.explain(job.key)]
    yield* stdio.out.write(explained(found, job.json, job.key !== undefined))
    return 0
  }).pipe(Effect.provide(Services.settings(job)))

const configList = (job: JobOf<"ConfigList">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { current } = yield* Settings
    const { listed } = yield* Effect.promise(() => import("./ConfigView.ts"))
    yield* stdio.out.write(listed(yield* current, job.json))
    return 0
  }).pipe(Effect.provide(Services.settings(job)))

const permissionsExplain = (job: JobOf<"PermissionsExplain">, stdio: Stdio) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const { shown } = yield* Effect.promise(() => import("./PermissionsView.ts"))
    const { all } = yield* Effect.promise(() => import("../agents/Toolset.ts"))
    const { verdict, problems } = yield* agents.explain(job, { ...job, tools: all })
    for (const problem of problems) yield* Effect.ignore(stdio.err.write(`troupe: warning: ${problem}\n`))
    yield* stdio.out.write(shown(verdict, job.json))
    return 0
  }).pipe(Effect.scoped, Effect.provide(Services.runtime(job)))

const skills = (job: JobOf<"Skills">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { answer } = yield* Effect.promise(() => import("./SkillsView.ts"))
    const { SkillLibrary } = yield* Effect.promise(() => import("../skills/SkillLibrary.ts"))
    const library = SkillLibrary.layer.pipe(Layer.provide(MarkdownIndex.layer))
    const { code, text } = yield* Effect.provide(answer(job, stdio.columns()), library)
    const isAnswer = code === 0 || job.what === "validate"
    yield* (isAnswer ? stdio.out : stdio.err).write(text)
    return code
  }).pipe(Effect.provide(Services.settings(job)))

const memoryView = (job: JobOf<"MemoryView">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { memoryShown } = yield* Effect.promise(() => import("./MemoryView.ts"))
    return yield* memoryShown(job, stdio)
  }).pipe(Effect.provide(Services.settings(job)))

const instructionsList = (job: JobOf<"InstructionsList">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { instructionsShown } = yield* Effect.promise(() => import("./InstructionsView.ts"))
    return yield* instructionsShown(job, stdio)
  }).pipe(Effect.provide(Services.settings(job)))

const sessions = (job: JobOf<"Sessions">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { sessionsCommand } = yield* Effect.promise(() => import("./SessionsCommand.ts"))
    const LineReader = yield* Effect.promise(() => import("./LineReader.ts"))
    const isPerson = stdio.inputIsTerminal && stdio.outputIsTerminal
    const reader = isPerson ? LineReader.make(process.stdin, process.stdout) : undefined
    return yield* sessionsCommand(job, { stdio, reader, version: version() })
  }).pipe(Effect.provide(Services.settings(job)))

const agentsView = (job: JobOf<"Agents">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { agentsCommand } = yield* Effect.promise(() => import("./AgentsCommand.ts"))
    return yield* agentsCommand(job, stdio)
  }).pipe(Effect.provide(Services.settings(job)))

const teleport = (job: JobOf<"Teleport">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { teleported } = yield* Effect.promise(() => import("./TeleportCommand.ts"))
    const NodeLocalSocket = yield* Effect.promise(() => import("../platform/NodeLocalSocket.ts"))
    return yield* Effect.provide(teleported(job, stdio), NodeLocalSocket.layer)
  }).pipe(Effect.provide(Git.layer.pipe(Layer.provideMerge(Services.settings(job)))))

const context = (job: JobOf<"Context">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { contextCommand } = yield* Effect.promise(() => import("./ContextCommand.ts"))
    return yield* contextCommand(job, stdio)
  }).pipe(Effect.provide(Services.settings(job)))

const rewind = (job: RewindJob & Common, stdio: Stdio) =>
  Effect.gen(function* () {
    const { rewindCommand } = yield* Effect.promise(() => import("./RewindCommand.ts"))
    return yield* rewindCommand(job, stdio)
  }).pipe(Effect.provide(Services.runtime(job)))

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
  }).pipe(Effect.provide(Services.settings(job)))

const replay = (job: JobOf<"Replay">, stdio: Stdio) =>
  Effect.gen(function* () {
    const ReplayCommand = yield* Effect.promise(() => import("./ReplayCommand.ts"))
    if (job.fork === undefined) return yield* ReplayCommand.replayed(job, stdio)
    // Only here somebody is asked anything, and only with --live-tools anything is run.
    const runtime = Runtime.layer({ settings: Services.settingsOptions(job) })
    return yield* Effect.provide(ReplayCommand.forked(job, job.fork, stdio), runtime)
  }).pipe(Effect.scoped, Effect.provide(TroupeNode.layer))

const replayExport = (job: JobOf<"ReplayExport">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { exported } = yield* Effect.promise(() => import("./ReplayCommand.ts"))
    return yield* exported(job, stdio)
  }).pipe(Effect.provide(TroupeNode.layer))

const configTrust = (job: JobOf<"ConfigTrust">, stdio: Stdio) =>
  Effect.gen(function* () {
    const { folderWishes } = yield* Effect.promise(() => import("./FolderWishes.ts"))
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
  }).pipe(Effect.provide(Services.settings(job)))

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
