/** Owns what the status line of a session at the terminal is made of: settings, the model table, the repository, the terminal's size. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { join } from "node:path"
import process from "node:process"
import type { Agent } from "../agents/Agent.ts"
import { ModelTable } from "../cost/ModelTable.ts"
import { Git } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import { Process } from "../platform/Process.ts"
import { Settings } from "../settings/Settings.ts"
import { repoOf, type StatusFacts } from "./StatusInput.ts"
import * as StatusLine from "./StatusLine.ts"
import type { Stdio } from "./Stdio.ts"

export interface StatusSessionOptions {
  readonly stdio: Stdio
  readonly version: string
  readonly color: boolean
  readonly addDirs: ReadonlyArray<string>
}

/** The status line of an agent, where settings want one. */
export const statusLine = Effect.fnUntraced(function* (options: StatusSessionOptions) {
  const settings = yield* Settings
  const host = yield* Host
  const git = yield* Git
  const runner = yield* Process
  const table = yield* ModelTable
  const fs = yield* FileSystem.FileSystem
  const { columns } = options.stdio

  const factsOf = Effect.fnUntraced(function* (agent: Agent) {
    const { value } = yield* settings.current
    const own = yield* git.own(agent.cwd)
    const facts: StatusFacts = {
      sessionId: agent.sessionId,
      transcriptPath: agent.transcriptPath,
      cwd: agent.cwd,
      addedDirs: options.addDirs,
      version: options.version,
      outputStyle: typeof value["outputStyle"] === "string" ? value["outputStyle"] : "default",
      startedAt: yield* Clock.currentTimeMillis,
      repo: own === undefined ? undefined : repoOf(own.texts.join("\n")),
      worktree: yield* worktreeOf(agent.cwd),
    }
    return facts
  })

  /** The name git knows a linked worktree by. */
  const worktreeOf = Effect.fnUntraced(function* (cwd: string) {
    const root = yield* git.root(cwd)
    if (root === undefined) return undefined
    const dot = yield* Effect.orElseSucceed(fs.readFileString(join(root, ".git")), () => "")
    return /^gitdir: .*[/\\]worktrees[/\\]([^/\\\r\n]+)\s*$/.exec(dot)?.[1]
  })

  return Effect.fnUntraced(function* (agent: Agent) {
    const setting = yield* StatusLine.configured(settings)
    if (setting === undefined) return undefined
    return yield* StatusLine.make({
      setting,
      process: runner,
      env: host.allEnv,
      facts: yield* factsOf(agent),
      model: Effect.map(agent.controls, ({ model }) => {
        const { id, spec } = table.resolve(model)
        return { id, contextWindow: spec.contextWindow, thinks: spec.alwaysThinks }
      }),
      columns,
      rows: () => process.stdout.rows || 24,
      color: options.color,
    })
  })
})
