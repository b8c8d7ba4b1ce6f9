/** Owns the tools of a session and the gate before them: what they share, which of them the model sees, and what it has found so far. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ModelSpec } from "../cost/ModelSpec.ts"
import * as Ids from "../kernel/Ids.ts"
import { Egress } from "../platform/Egress.ts"
import { Host } from "../platform/Host.ts"
import { HiddenFiles } from "../permissions/HiddenFiles.ts"
import * as Permissions from "../permissions/Permissions.ts"
import type { RuleBook } from "../permissions/RuleBook.ts"
import * as RuleMatch from "../policy/RuleMatch.ts"
import { Sandbox } from "../security/Sandbox.ts"
import { Settings } from "../settings/Settings.ts"
import { Controls, type ControlsShape } from "../session/Controls.ts"
import { Recorder, type RecorderShape } from "../session/Recorder.ts"
import { DeferAbove } from "../tools/Deferral.ts"
import { FileMemory } from "../tools/FileMemory.ts"
import { Tasks } from "../tools/Tasks.ts"
import type { Tool } from "../tools/Tool.ts"
import { finder, ToolCatalog } from "../tools/ToolCatalog.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import { Workspace } from "../tools/Workspace.ts"

/** What a session makes for itself, and its tools may need. */
export type Parts =
  | Workspace
  | FileMemory
  | Recorder
  | Controls
  | ToolCatalog
  | Permissions.Permissions
  | Sandbox
  | Tasks
  | ToolRunner

export interface Outfit<R> {
  readonly sessionId: string
  readonly cwd: string
  readonly addDirs: ReadonlyArray<string>
  readonly book: RuleBook
  readonly recorder: RecorderShape
  readonly controls: ControlsShape
  readonly tools: ReadonlyArray<Tool<R>>
  readonly model: ModelSpec
  /** Also tools that a rule takes away. */
  readonly showsAll?: boolean
}

export const make = Effect.fnUntraced(function* <R>(outfit: Outfit<R>) {
  const { addDirs, book, controls, cwd, recorder, sessionId } = outfit
  const host = yield* Host
  // As it was opened: what the model is told about its tools must not move. A rule that comes later forbids at the gate.
  const { deny } = book.rules()
  const isHidden = (tool: string) => outfit.showsAll !== true && RuleMatch.removesTool(deny, tool)
  const session = yield* Layer.mergeAll(ToolRunner.layer, Tasks.layer, yield* shelter).pipe(
    Layer.provideMerge(permissions(book, host.home)),
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
      ),
    ),
    Layer.build,
  )
  const past = recorder.journal.records.map(({ event }) => event)
  // Waits for the next prompt: what happened in another life is no reason to begin a turn.
  for (const { text } of yield* Context.get(session, Tasks).recover(past)) {
    const promptId = recorder.history.lastPromptId ?? (yield* Ids.uuid)
    const letter = { uuid: yield* Ids.uuid, promptId, content: text, harness: true }
    yield* recorder.emit({ _tag: "PromptReceived", ...letter, delivery: "between_rounds" })
  }
  const memory = Context.get(session, FileMemory)
  for (const event of past) if (event._tag === "ToolEnded") memory.learn(event.structured)
  const catalog = Context.get(session, ToolCatalog)
  yield* Effect.forEach(outfit.tools, (tool) => catalog.register(tool), { discard: true }).pipe(
    Effect.provideContext(session),
  )

  // Which schemas the model is told later, if at all. What it has found before stays found.
  const { contextWindow, toolSearch } = outfit.model
  const plan = catalog.latch({ contextWindow, toolSearch: toolSearch && isDirect(host) }, yield* DeferAbove)
  if (plan.deferral !== "none") {
    const message = `${plan.tools} tools are found by ${finder}: about ${plan.tokens} tokens less in every request.`
    yield* recorder.emit({ _tag: "Diagnosed", level: "info", message })
    for (const event of past) {
      if (event._tag !== "ToolEnded" || event.tool !== finder || !wasFound(event.structured)) continue
      catalog.search(`select:${event.structured.matches.join(",")}`, Number.MAX_SAFE_INTEGER)
    }
  }
  return { catalog, session }
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

const permissions = (book: RuleBook, home: string) =>
  Layer.effect(
    Permissions.Permissions,
    Effect.flatMap(Workspace, ({ cwd, roots }) => Permissions.make(book, { home, roots, cwd })),
  )

const wasFound = Schema.is(Schema.Struct({ matches: Schema.Array(Schema.String) }))

/** A gateway may not know deferred tools, unless somebody says that it does. */
const isDirect = ({ env }: Host["Service"]): boolean =>
  env("ANTHROPIC_BASE_URL") === undefined || env("ENABLE_TOOL_SEARCH") !== undefined
