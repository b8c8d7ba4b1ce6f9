/** What tests of hooks share: an engine on the real machine, settings as text, and everything that was recorded. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { type Facts, HookEngine, type HookEngineShape, make } from "../../src/hooks/HookEngine.ts"
import type { BadMatcher } from "../../src/hooks/Hooks.ts"
import * as TroupeNode from "../../src/node/TroupeNode.ts"
import { Host, type HostShape, overlay } from "../../src/platform/Host.ts"
import type { Event, EventOf } from "../../src/protocol/Event.ts"
import * as Controls from "../../src/session/Controls.ts"
import { Process } from "../../src/platform/Process.ts"
import * as Recorder from "../../src/session/Recorder.ts"
import { parse } from "../../src/settings/SettingsFile.ts"
import type { SettingsLayer, SourceKind } from "../../src/settings/SettingsLayer.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

/** A settings file with lines of its own, as it would be found on the disk. */
export const layer = (value: unknown, kind: SourceKind = "user", withheld: unknown = {}): SettingsLayer => {
  const parsed = parse(JSON.stringify(value, undefined, 2))
  const waiting = parse(JSON.stringify(withheld))
  if (Result.isFailure(parsed) || Result.isFailure(waiting))
    throw new Error("the settings of this test are no JSON object")
  return {
    source: { kind, name: `/settings/${kind}.json`, directory: `/settings` },
    value: parsed.success.value,
    withheld: waiting.success.value,
    locate: parsed.success.locate,
  }
}

/** One hook for one event. */
export const one = (event: string, hook: object, matcher?: string) => ({
  hooks: { [event]: [{ ...(matcher !== undefined && { matcher }), hooks: [hook] }] },
})

export const command = (line: string, more: object = {}) => ({ type: "command", command: line, ...more })

export interface Tried {
  readonly engine: HookEngineShape
  readonly events: Array<Event>
  readonly ran: () => ReadonlyArray<EventOf<"HookRan">>
  readonly said: () => ReadonlyArray<string>
  readonly directory: string
}

/** An engine in a directory of its own. */
export const engineWith = Effect.fnUntraced(function* (
  layers: ReadonlyArray<SettingsLayer>,
  facts: Partial<Facts> = {},
  env: Readonly<Record<string, string | undefined>> = {},
) {
  const fs = yield* FileSystem.FileSystem
  const host = yield* Host
  const directory = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "troupe-hooks-" }))
  const events: Array<Event> = []
  const push = (event: Event) => Effect.sync(() => void events.push(event))
  const controls = yield* Controls.make({ model: "sonnet", permissionMode: "default", effort: "high" })
  const here: HostShape = { ...overlay(host, env), configDir: `${directory}/config` }
  const engine = yield* make({
    sessionId: "5f0c1f9e-7f1c-4f0e-9a3b-0d6c1c0a7e11",
    recorder: { ...Recorder.nowhere("hooks"), emit: push, show: push },
    controls,
    transcriptPath: `${directory}/transcript.jsonl`,
    projectDir: directory,
    cwd: () => directory,
    promptId: () => "prompt-1",
    layers,
    ...facts,
  }).pipe(Effect.provideService(Host, here))
  const only = <Tag extends Event["_tag"]>(tag: Tag) =>
    events.filter((event): event is EventOf<Tag> => event._tag === tag)
  const tried: Tried = {
    engine,
    events,
    directory,
    ran: () => only("HookRan"),
    said: () => only("Diagnosed").map(({ message }) => message),
  }
  return tried
})

export const machine: Layer.Layer<Layer.Success<typeof TroupeNode.layer>> = TroupeNode.layer

/** An engine with functions for hooks, for sessions in memory; what it records is kept. */
export const functions = (
  setup: (engine: HookEngineShape) => Effect.Effect<void, BadMatcher, Scope.Scope>,
  events: Array<Event> = [],
): Layer.Layer<never, BadMatcher> => {
  const push = (event: Event) => Effect.sync(() => void events.push(event))
  return Layer.effect(
    HookEngine,
    Effect.gen(function* () {
      const engine = yield* make({
        sessionId: "memory",
        recorder: { ...Recorder.nowhere("hooks"), emit: push, show: push },
        controls: yield* Controls.make({ model: "sonnet", permissionMode: "default" }),
        transcriptPath: "/transcript.jsonl",
        projectDir: "/work",
        cwd: () => "/work",
        promptId: () => undefined,
        layers: [],
      })
      yield* setup(engine)
      return engine
    }),
  ).pipe(Layer.provide(Process.layerScripted(() => Effect.succeed({}))), Layer.provide(MemoryWorkspace.layer()))
}

export const bash = (line: string) =>
  ({ tool_name: "Bash", tool_input: { command: line }, tool_use_id: "toolu_1" }) as const
