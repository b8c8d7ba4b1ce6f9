/** A throw-away workspace with the real file system, processes and ripgrep, and calls as the runner makes them. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as nodeFs from "node:fs"
import * as os from "node:os"
import * as nodePath from "node:path"
import * as Stream from "effect/Stream"
import { ModelTable } from "../../../src/cost/ModelTable.ts"
import { Model } from "../../../src/model/Model.ts"
import { Host } from "../../../src/platform/Host.ts"
import * as NodeFiles from "../../../src/platform/NodeFiles.ts"
import * as NodeProcess from "../../../src/platform/NodeProcess.ts"
import * as NodeRipgrep from "../../../src/platform/NodeRipgrep.ts"
import * as Controls from "../../../src/session/Controls.ts"
import { FileMemory } from "../../../src/tools/FileMemory.ts"
import { Tasks } from "../../../src/tools/Tasks.ts"
import type { Tool, ToolOutput } from "../../../src/tools/Tool.ts"
import { Sandbox } from "../../../src/security/Sandbox.ts"
import { ToolCatalog } from "../../../src/tools/ToolCatalog.ts"
import { Workspace } from "../../../src/tools/Workspace.ts"
import type { Services } from "../../../src/tools/builtin/Source.ts"

export interface Place {
  readonly root: string
  readonly config: string
  readonly at: (...parts: ReadonlyArray<string>) => string
  readonly put: (name: string, content: string | Uint8Array, mode?: number) => string
  readonly text: (name: string) => string
  readonly bytes: (name: string) => Buffer
}

export const inWorkspace = <A, E>(
  test: (place: Place) => Effect.Effect<A, E, Services>,
  more: {
    readonly env?: Record<string, string>
    /** Who answers the questions of tools; nobody, unless told. */
    readonly model?: Model["Service"]
    readonly controls?: Controls.ControlsState
  } = {},
): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    Effect.sync(() => nodeFs.realpathSync(nodeFs.mkdtempSync(nodePath.join(os.tmpdir(), "troupe-tools-")))),
    (temp) => {
      const root = nodePath.join(temp, "work")
      const config = nodePath.join(temp, "config")
      nodeFs.mkdirSync(root)
      const at = (...parts: ReadonlyArray<string>) => nodePath.join(root, ...parts)
      const place: Place = {
        root,
        config,
        at,
        put: (name, content, mode) => {
          nodeFs.mkdirSync(nodePath.dirname(at(name)), { recursive: true })
          nodeFs.writeFileSync(at(name), content)
          if (mode !== undefined) nodeFs.chmodSync(at(name), mode)
          return at(name)
        },
        text: (name) => nodeFs.readFileSync(at(name), "utf8"),
        bytes: (name) => nodeFs.readFileSync(at(name)),
      }
      const env = { PATH: process.env.PATH, HOME: temp, ...more.env }
      const base = Layer.mergeAll(
        NodeFileSystem.layer,
        NodePath.layer,
        NodeFiles.layer,
        NodeProcess.layer,
        Host.layerTest({ env, cwd: root, home: temp, configDir: config }),
      )
      const layer = Layer.mergeAll(
        NodeRipgrep.layer,
        Tasks.layer,
        FileMemory.layer,
        ToolCatalog.layer(),
        Sandbox.layerOff,
      ).pipe(
        Layer.provideMerge(Workspace.layer({ cwd: root, sessionId: "session-1" })),
        Layer.provideMerge(ModelTable.layer()),
        Layer.provideMerge(Layer.succeed(Model, more.model ?? { stream: () => Stream.die("no model here") })),
        Layer.provideMerge(
          Layer.effect(
            Controls.Controls,
            Controls.make(more.controls ?? { model: "sonnet", permissionMode: "default" }),
          ),
        ),
        Layer.provideMerge(base),
      )
      return test(place).pipe(Effect.provide(layer))
    },
    (temp) => Effect.sync(() => nodeFs.rmSync(temp, { recursive: true, force: true })),
  )

let serial = 0

/** Decode, validate, run. */
export const call = Effect.fnUntraced(function* (
  tool: Tool<Services>,
  input: unknown,
  progress: (text: string) => void = () => {},
) {
  const invocation = yield* tool.decode(input)
  yield* invocation.validate
  return yield* invocation.run({
    toolUseId: `toolu_${++serial}`,
    progress: (text) => Effect.sync(() => progress(text)),
  })
})

/** The text of a call that works. */
export const said = (tool: Tool<Services>, input: unknown) =>
  Effect.map(call(tool, input), (output: ToolOutput) =>
    typeof output.content === "string" ? output.content : JSON.stringify(output.content),
  )

/** The words of a call that must fail. */
export const refusal = (tool: Tool<Services>, input: unknown) =>
  Effect.map(Effect.flip(call(tool, input)), (error) => error.message)
