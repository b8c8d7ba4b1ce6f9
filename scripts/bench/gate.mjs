// The gate of a session on the real machine, but with a journal that keeps nothing: what is measured behind it is the gate and its tools,
// not the disk under the journal.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Permissions from "../../dist/lib/permissions/Permissions.js"
import * as RuleBook from "../../dist/lib/permissions/RuleBook.js"
import { Git } from "../../dist/lib/platform/Git.js"
import { Host } from "../../dist/lib/platform/Host.js"
import * as Controls from "../../dist/lib/session/Controls.js"
import * as History from "../../dist/lib/session/History.js"
import * as Recorder from "../../dist/lib/session/Recorder.js"
import { ToolCatalog } from "../../dist/lib/tools/ToolCatalog.js"
import { ToolRunner } from "../../dist/lib/tools/ToolRunner.js"
import { Workspace } from "../../dist/lib/tools/Workspace.js"
import { TroupeNode } from "../../dist/lib/node/index.js"

const sessionId = "00000000-0000-4000-8000-000000000000"

const recorder = Effect.suspend(() => {
  let seq = 0
  const append = (agent, event) => Effect.sync(() => ({ seq: ++seq, time: 0, agent, event }))
  return Recorder.make({
    agent: "bench",
    journal: { sessionId, path: "", records: [], problems: [], append, sync: Effect.void },
    transcript: { path: "", write: () => Effect.void },
    history: History.from([]),
  })
})

const permissions = (rules) =>
  Effect.gen(function* () {
    const { cwd, roots } = yield* Workspace
    const { home } = yield* Host
    const book = RuleBook.make({ cwd: cwd(), home, own: rules, settings: RuleBook.noSettings })
    return yield* Permissions.make(book, { home, roots, cwd })
  })

/** What a tool call passes through, with these tools behind it. */
export const gate = ({ cwd, tools, permissionMode = "default", rules = [] }) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const catalog = yield* ToolCatalog
      for (const tool of tools) yield* catalog.register(tool)
    }),
  ).pipe(
    Layer.provideMerge(ToolRunner.layer),
    Layer.provideMerge(Layer.effect(Permissions.Permissions, permissions(rules))),
    Layer.provideMerge(Layer.effect(Recorder.Recorder, recorder)),
    Layer.provideMerge(Layer.effect(Controls.Controls, Controls.make({ model: "bench", permissionMode }))),
    Layer.provideMerge(Layer.mergeAll(ToolCatalog.layer(), Workspace.layer({ sessionId, cwd }), Git.layer)),
    Layer.provideMerge(TroupeNode.layer),
  )

/** Lets the session hear a reply with these calls, as it would before they run. */
export const hear = Effect.fnUntraced(function* (requestId, calls) {
  const { emit } = yield* Recorder.Recorder
  for (const [index, call] of calls.entries()) {
    const place = { uuid: call.id, messageId: requestId, requestId, model: "bench", index }
    yield* emit({ _tag: "BlockReceived", ...place, block: { type: "tool_use", ...call } })
  }
})
