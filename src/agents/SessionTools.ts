/** Owns the tools of a session and the gate before them: what they share, which of them the model sees, and what it has found so far. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import type { ModelSpec } from "../cost/ModelSpec.ts"
import type { ModelTable } from "../cost/ModelTable.ts"
import { HookEngine, type HookEngineShape } from "../hooks/HookEngine.ts"
import * as Ids from "../kernel/Ids.ts"
import type { Model } from "../model/Model.ts"
import { Egress } from "../platform/Egress.ts"
import type { Files } from "../platform/Files.ts"
import type { Git } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import type { MarkdownIndex } from "../platform/MarkdownIndex.ts"
import type { Process } from "../platform/Process.ts"
import type { Ripgrep } from "../platform/Ripgrep.ts"
import { HiddenFiles } from "../permissions/HiddenFiles.ts"
import * as Permissions from "../permissions/Permissions.ts"
import * as RuleBook from "../permissions/RuleBook.ts"
import * as RuleMatch from "../policy/RuleMatch.ts"
import { Sandbox } from "../security/Sandbox.ts"
import { Settings } from "../settings/Settings.ts"
import { Controls, type ControlsShape } from "../session/Controls.ts"
import { Recorder, type RecorderShape } from "../session/Recorder.ts"
import * as ShellPermission from "../skills/ShellPermission.ts"
import type { SkillLibrary } from "../skills/SkillLibrary.ts"
import * as Skills from "../skills/Skills.ts"
import { DeferAbove } from "../tools/Deferral.ts"
import { FileMemory } from "../tools/FileMemory.ts"
import * as PastWork from "../tools/PastWork.ts"
import { Tasks } from "../tools/Tasks.ts"
import type { Tool } from "../tools/Tool.ts"
import { finder, ToolCatalog } from "../tools/ToolCatalog.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import { Workspace } from "../tools/Workspace.ts"
import * as AgentTools from "./AgentTools.ts"
import type { AgentDefinition } from "./Definition.ts"
import { Definitions, type DefinitionsShape } from "./Definitions.ts"
import * as SkillLoans from "./SkillLoans.ts"
import { Subagents } from "./Subagents.ts"

/** What a session makes for itself, and its tools may need. */
export type Parts =
  | Workspace
  | FileMemory
  | Recorder
  | Controls
  | ToolCatalog
  | Permissions.Permissions
  | Sandbox
  | Definitions
  | Skills.Skills
  | Subagents
  | Tasks
  | ToolRunner

/** What it finds in the runtime. Tools may need any of that, and of `Parts`. */
export type Platform =
  | Model
  | ModelTable
  | Git
  | Files
  | FileSystem.FileSystem
  | Path.Path
  | Host
  | Process
  | Ripgrep
  | Settings
  | MarkdownIndex
  | SkillLibrary

/** What must be there for tools of these needs. */
export type Needs<R> = Platform | Exclude<R, Parts>

export interface Outfit<R> {
  readonly sessionId: string
  readonly cwd: string
  readonly addDirs: ReadonlyArray<string>
  readonly book: RuleBook.RuleBook
  readonly recorder: RecorderShape
  readonly controls: ControlsShape
  readonly tools: ReadonlyArray<Tool<R>>
  readonly model: ModelSpec
  readonly engine: HookEngineShape
  readonly definitions: DefinitionsShape
  /** What descriptions of tools list, by the tool's name. */
  readonly listings: Readonly<Record<string, string>>
  /** What it was told of skills before, and which of them it works for. */
  readonly skills: Pick<Skills.SkillsOptions, "told" | "within">
  /** Whom its calls may send out. */
  readonly subagents: Subagents["Service"]
  /** What happened before, as far as it concerns this agent. */
  readonly past?: PastWork.PastWork | undefined
  /** Rules that each call must fit, where the agent's tools name some. */
  readonly within?: ReadonlyArray<string> | undefined
  /** Also tools that a rule takes away. */
  readonly showsAll?: boolean
}

export const make = Effect.fnUntraced(function* <R>(outfit: Outfit<R>) {
  const { addDirs, book, controls, cwd, past = PastWork.make(), recorder, sessionId } = outfit
  const host = yield* Host
  // As it was opened: what the model is told about its tools must not move. A rule that comes later forbids at the gate.
  const { deny } = book.rules()
  const isHidden = (tool: string) => outfit.showsAll !== true && RuleMatch.removesTool(deny, tool)
  const base = yield* Layer.mergeAll(ToolRunner.layer, Tasks.layer, yield* shelter).pipe(
    Layer.provideMerge(permissions(outfit, host.home)),
    Layer.provideMerge(
      Layer.mergeAll(
        ToolCatalog.layer({ isHidden }),
        Workspace.layer({ sessionId, cwd, addDirs }),
        FileMemory.layer,
        Layer.succeed(HiddenFiles, {
          any: () => book.rules().deny.reads.length > 0,
          hides: (path) => RuleMatch.hidesFile(book.rules().deny, path),
        }),
        Layer.succeed(Recorder, recorder),
        Layer.succeed(Controls, controls),
        Layer.succeed(Subagents, outfit.subagents),
        Layer.succeed(HookEngine, outfit.engine),
        Layer.succeed(Definitions, outfit.definitions),
      ),
    ),
    Layer.build,
  )
  // Waits for the next prompt: what happened in another life is no reason to begin a turn.
  for (const { text } of yield* Context.get(base, Tasks).recover(past.tasks())) {
    const promptId = recorder.history.lastPromptId ?? (yield* Ids.uuid)
    const letter = { uuid: yield* Ids.uuid, promptId, content: text, harness: true }
    yield* recorder.emit({ _tag: "PromptReceived", ...letter, delivery: "between_rounds" })
  }
  const memory = Context.get(base, FileMemory)
  memory.adopt(past.sightings())
  const loans = yield* SkillLoans.make(outfit)
  const skills = yield* skillsOf(outfit, loans).pipe(Effect.provideContext(base))
  const session = Context.add(base, Skills.Skills, skills)
  const catalog = Context.get(session, ToolCatalog)
  yield* Effect.forEach(outfit.tools, (tool) => catalog.register(listed(tool, outfit.listings[tool.name])), {
    discard: true,
  }).pipe(Effect.provideContext(session))

  // Which schemas the model is told later, if at all. What it has found before stays found.
  const { contextWindow, toolSearch } = outfit.model
  const plan = catalog.latch({ contextWindow, toolSearch: toolSearch && isDirect(host) }, yield* DeferAbove)
  if (plan.deferral !== "none") {
    const message = `${plan.tools} tools are found by ${finder}: about ${plan.tokens} tokens less in every request.`
    yield* recorder.emit({ _tag: "Diagnosed", level: "info", message })
    const found = past.foundTools()
    if (found.length > 0) catalog.search(`select:${found.join(",")}`, Number.MAX_SAFE_INTEGER)
  }
  return { catalog, session, skills, loans }
})

/** Those of the tools that an agent's definition leaves; what it limits in part the rules see to. */
export const ofAgent = <R>(definition: AgentDefinition, tools: ReadonlyArray<Tool<R>>): ReadonlyArray<Tool<R>> => {
  const resolved = AgentTools.resolve(
    definition,
    tools.map(({ name }) => name),
  )
  return Result.isSuccess(resolved) ? tools.filter(({ name }) => resolved.success.tools.includes(name)) : []
}

/** The description goes on with what there is to choose from. */
const listed = <R>(tool: Tool<R>, listing: string | undefined): Tool<R> =>
  listing === undefined
    ? tool
    : {
        ...tool,
        description: `${tool.description}\n${listing}`,
        get inputSchema() {
          return tool.inputSchema
        },
      }

const skillsOf = Effect.fnUntraced(function* <R>(outfit: Outfit<R>, loans: SkillLoans.SkillLoans) {
  const { addDirs, book, controls, cwd, model, sessionId } = outfit
  const settings = yield* Settings
  const { managedDirectory, scopes } = yield* settings.current
  return yield* Skills.make({
    ...outfit.skills,
    sessionId,
    cwd,
    addDirs,
    sources: scopes,
    ...(managedDirectory !== undefined && { managedDirectory }),
    contextWindow: model.contextWindow,
    effort: Effect.map(controls.current, ({ effort }) => effort),
    mayRun: yield* ShellPermission.make(book),
    trusted: yield* settings.trusted,
    isDenied: (name) => RuleMatch.removesSkill(book.rules().deny, name),
    bring: loans.bring,
    keepsOut: (file) =>
      Effect.map(
        outfit.engine.fire("ConfigChange", { source: "skills", file_path: file }),
        ({ block }) => block !== undefined,
      ),
  })
})

/** Where the platform can have one: it needs a way out to the network that it can judge, and settings that say what is allowed. */
const shelter = Effect.gen(function* () {
  const egress = yield* Effect.serviceOption(Egress)
  const settings = yield* Effect.serviceOption(Settings)
  if (Option.isNone(egress) || Option.isNone(settings)) return Sandbox.layerOff
  return Layer.unwrap(Effect.map(Workspace, ({ fence }) => Sandbox.layer({ roots: fence.realRoots }))).pipe(
    Layer.provide(Layer.mergeAll(Layer.succeed(Egress, egress.value), Layer.succeed(Settings, settings.value))),
  )
})

const permissions = ({ book, cwd: root, within }: Pick<Outfit<never>, "book" | "cwd" | "within">, home: string) =>
  Layer.effect(
    Permissions.Permissions,
    Effect.flatMap(Workspace, ({ cwd, roots }) =>
      Permissions.make(book, { home, roots, cwd, within: within && RuleBook.within(within, { cwd: root, home }) }),
    ),
  )

/** A gateway may not know deferred tools, unless somebody says that it does. */
const isDirect = ({ env }: Host["Service"]): boolean =>
  env("ANTHROPIC_BASE_URL") === undefined || env("ENABLE_TOOL_SEARCH") !== undefined
