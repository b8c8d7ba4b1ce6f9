/** Owns what a status line's command is told about the session: the fields its users know, from the events so far. Pure. */
import * as Schema from "effect/Schema"
import { shortName } from "../cost/ModelName.ts"
import type { Event } from "../protocol/Event.ts"
import * as Usage from "../protocol/Usage.ts"

/** What does not change while the session is open. */
export interface StatusFacts {
  readonly sessionId: string
  readonly transcriptPath: string
  readonly cwd: string
  readonly addedDirs: ReadonlyArray<string>
  readonly version: string
  readonly outputStyle: string
  readonly startedAt: number
  readonly repo?: Repo | undefined
  readonly worktree?: string | undefined
}

export interface Repo {
  readonly host: string
  readonly owner: string
  readonly name: string
}

export interface StatusState {
  readonly promptId: string | undefined
  readonly costUsd: number
  readonly apiMs: number
  readonly added: number
  readonly removed: number
  /** Of the newest reply. */
  readonly usage: Usage.Usage | undefined
}

export const empty: StatusState = {
  promptId: undefined,
  costUsd: 0,
  apiMs: 0,
  added: 0,
  removed: 0,
  usage: undefined,
}

const isPatched = Schema.is(
  Schema.Struct({ structuredPatch: Schema.Array(Schema.Struct({ lines: Schema.Array(Schema.String) })) }),
)

export const hear = (state: StatusState, event: Event): StatusState => {
  switch (event._tag) {
    case "PromptReceived":
      return { ...state, promptId: event.promptId }
    case "ReplyEnded": {
      const { costUsd, durationMs, usage } = event
      return { ...state, usage, costUsd: state.costUsd + (costUsd ?? 0), apiMs: state.apiMs + durationMs }
    }
    case "ToolEnded": {
      if (!isPatched(event.structured)) return state
      const lines = event.structured.structuredPatch.flatMap((hunk) => hunk.lines)
      const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length
      return { ...state, added: state.added + count("+"), removed: state.removed + count("-") }
    }
    default:
      return state
  }
}

/** The command is run again after these. */
export const matters = (event: Event): boolean => event._tag === "ReplyEnded" || event._tag === "ControlsChanged"

export interface StatusModel {
  readonly id: string
  readonly contextWindow: number
  readonly thinks: boolean
}

/** The JSON on the command's stdin. */
export const encode = (facts: StatusFacts, state: StatusState, model: StatusModel, now: number): string => {
  const { usage } = state
  const input = usage === undefined ? 0 : Usage.promptTokens(usage)
  const output = usage?.output_tokens ?? 0
  const used = usage === undefined ? null : Math.min(100, Math.round((input / model.contextWindow) * 100))
  return JSON.stringify({
    cwd: facts.cwd,
    session_id: facts.sessionId,
    ...(state.promptId !== undefined && { prompt_id: state.promptId }),
    transcript_path: facts.transcriptPath,
    model: { id: model.id, display_name: shortName(model.id) ?? model.id },
    workspace: {
      current_dir: facts.cwd,
      project_dir: facts.cwd,
      added_dirs: facts.addedDirs,
      ...(facts.worktree !== undefined && { git_worktree: facts.worktree }),
      ...(facts.repo !== undefined && { repo: facts.repo }),
    },
    version: facts.version,
    output_style: { name: facts.outputStyle },
    cost: {
      total_cost_usd: state.costUsd,
      total_duration_ms: now - facts.startedAt,
      total_api_duration_ms: state.apiMs,
      total_lines_added: state.added,
      total_lines_removed: state.removed,
    },
    context_window: {
      total_input_tokens: input,
      total_output_tokens: output,
      context_window_size: model.contextWindow,
      used_percentage: used,
      remaining_percentage: used === null ? null : 100 - used,
      current_usage:
        usage === undefined
          ? null
          : {
              input_tokens: usage.input_tokens,
              output_tokens: usage.output_tokens,
              cache_creation_input_tokens: usage.cache_creation_input_tokens,
              cache_read_input_tokens: usage.cache_read_input_tokens,
            },
    },
    exceeds_200k_tokens: input + output > 200_000,
    fast_mode: false,
    thinking: { enabled: model.thinks },
  })
}

/** Who and where, from the text of a repository's configuration: `git@github.com:a/b.git`, `https://host/a/b`. */
export const repoOf = (config: string): Repo | undefined => {
  const section = /^\[remote "origin"\]\s*\n((?:(?!\[).*\n?)*)/m.exec(config)?.[1] ?? ""
  const url = /^\s*url\s*=\s*(.+?)\s*$/m.exec(section)?.[1] ?? ""
  const found =
    /^(?:[a-z+]+:\/\/)?(?:[^@/]+@)?(?<host>[^/:]+)(?::\d+)?[/:](?<owner>.+)\/(?<name>[^/]+?)(?:\.git)?\/?$/i.exec(url)
  const { host, name, owner } = found?.groups ?? {}
  return host === undefined || owner === undefined || name === undefined ? undefined : { host, owner, name }
}
