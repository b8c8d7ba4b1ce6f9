/**
 * Owns which of the two families of list tools a session has, if any: the four Task tools, or TodoWrite.
 *
 * Newer models keep track without a written list, so only those that profit from one are offered it, unless somebody asks for it
 * (`CLAUDE_CODE_ENABLE_TODO_TOOLS=1`). `CLAUDE_CODE_ENABLE_TASKS=0` chooses TodoWrite.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ModelTable } from "../../cost/ModelTable.ts"
import { Host } from "../../platform/Host.ts"
import { Controls } from "../../session/Controls.ts"

/** Whether there are list tools; `auto` goes by the model. A session whose flags name one of the tools has them. */
export const ListTools = Context.Reference<"auto" | "present" | "absent">("troupe/tools/ListTools", {
  defaultValue: () => "auto",
})

/** Claude 3, Opus 4 to 4.7, Sonnet 4 to 4.6, Haiku 4.5. */
const keepsLists = /^claude-(3|instant|opus-4(?!-[89])|sonnet-4(?!-[789])|haiku-4|haiku-3|sonnet-3|opus-3)/

/** The family of this session. */
export const family = Effect.gen(function* () {
  const { env } = yield* Host
  const on = (name: string) => /^(1|true)$/i.test(env(name) ?? "")
  const off = /^(0|false)$/i.test(env("CLAUDE_CODE_ENABLE_TASKS") ?? "")
  const wanted = yield* ListTools
  const kind = off ? "todos" : "tasks"
  if (wanted !== "auto") return wanted === "present" ? kind : "none"
  if (on("CLAUDE_CODE_ENABLE_TODO_TOOLS")) return kind
  const { model } = yield* (yield* Controls).current
  const resolved = (yield* ModelTable).resolve(model)
  return keepsLists.test(resolved.spec.id) ? kind : "none"
})
