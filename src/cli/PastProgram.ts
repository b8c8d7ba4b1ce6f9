/**
 * Owns what may be typed about a session that is recorded: running it again, what its requests consist of, going back in it. Finding,
 * naming and deleting sessions is `SessionsProgram`.
 *
 * Nothing here loads Effect, as in `Program`.
 */
import { type Command, Option } from "commander"
import type { ContextAsk } from "./ContextCommand.ts"
import { type Add, type CommandFlags, sharedOptions, viewOptions, whole } from "./Options.ts"

/** What is asked for, before it is checked. */
export type Wanted =
  | { readonly _tag: "Replay"; readonly session: string; readonly flags: ReplayFlags }
  | { readonly _tag: "ReplayExport"; readonly session: string; readonly flags: ExportFlags }
  | { readonly _tag: "Context"; readonly ask: ContextAsk; readonly flags: CommandFlags }
  | { readonly _tag: "Rewind"; readonly session: string | undefined; readonly flags: RewindFlags }

export interface ReplayFlags extends CommandFlags {
  readonly until?: number
  readonly forkAt?: number
  readonly model?: string
  readonly liveTools?: boolean
  readonly edit?: ReadonlyArray<string>
}

export interface ExportFlags extends CommandFlags {
  readonly output: string
}

export interface RewindFlags extends CommandFlags {
  readonly to?: string
  readonly code?: boolean
  readonly conversation?: boolean
  readonly dryRun?: boolean
  readonly force?: boolean
}

type Want = (wanted: Wanted) => void

export const registerReplay = (program: Command, add: Add, want: Want): void => {
  const replay = add(program, "replay <session>", "run a recorded session again, offline, and compare", [
    new Option("--until <n>", "stop behind record n and show the conversation there").argParser(whole),
    new Option(
      "--edit <n=value>",
      "put another observation in the place of record n: text, JSON, or @file (repeatable)",
    ).argParser((text: string, before: ReadonlyArray<string> | undefined) => [...(before ?? []), text]),
    new Option("--fork-at <n>", "go on from record n with another model (costs money), and show both").argParser(whole),
    new Option("--model <name>", "with --fork-at: which one"),
    new Option(
      "--live-tools",
      "with --fork-at: in a copy of the session, and tools really run (default: recorded results)",
    ),
    ...viewOptions(),
  ])
  replay.action((session: string) => want({ _tag: "Replay", session, flags: replay.opts<ReplayFlags>() }))
  const exported = add(replay, "export <session>", "make a test fixture of a session, without secrets", [
    new Option("--output <dir>", "where to: recording, playbook and test").makeOptionMandatory(),
    new Option("--json", "as JSON"),
    ...sharedOptions(),
  ])
  exported.action((session: string) => want({ _tag: "ReplayExport", session, flags: exported.opts<ExportFlags>() }))
}

export const registerContext = (program: Command, add: Add, want: Want): void => {
  const context = add(program, "context", "see what a session's requests consist of, and what they cost", [])
  const room = add(context, "show [session]", "how full the conversation is, and of what", viewOptions(), {
    isDefault: true,
  })
  room.action((id: unknown) => {
    const session = typeof id === "string" ? id : undefined
    want({ _tag: "Context", ask: { what: "health", session }, flags: room.opts<CommandFlags>() })
  })
  const cache = add(
    context,
    "cache [session]",
    "what each request found in the prompt cache, and why not more",
    viewOptions(),
  )
  cache.action((id: unknown) => {
    const session = typeof id === "string" ? id : undefined
    want({ _tag: "Context", ask: { what: "cache", session }, flags: cache.opts<CommandFlags>() })
  })
}

export const registerRewind = (program: Command, add: Add, want: Want): void => {
  const rewind = add(
    program,
    "rewind [session]",
    "go back to before a prompt of a session (the latest here): its files, its conversation, or both; without --to, list the prompts",
    [
      new Option("--to <prompt>", "before which: its number in the list, or its id"),
      new Option("--code", "only files"),
      new Option("--conversation", "only the conversation"),
      new Option("--dry-run", "say what would happen"),
      new Option("--force", "also where somebody else has changed the same files"),
      ...viewOptions(),
    ],
  )
  rewind.action((session: string | undefined) => want({ _tag: "Rewind", session, flags: rewind.opts<RewindFlags>() }))
}
