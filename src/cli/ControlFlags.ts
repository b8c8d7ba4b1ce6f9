/**
 * Owns the flags that clients of the control protocol give and people hardly do: each is accepted, and one without effect says
 * so. Pure, and without Effect.
 */
import { InvalidArgumentError, Option } from "commander"

/** As commander collects them. */
export interface ClientFlags {
  readonly permissionPromptTool?: string
  readonly permissionPrompts?: "host" | "none"
  readonly tools?: string
  readonly sessionPersistence?: boolean
  readonly includeHookEvents?: boolean
  readonly rewindFiles?: string
}

/** Flags of clients that nothing reads yet, by what they take. */
const silent: ReadonlyArray<string> = [
  "--thinking <mode>",
  "--max-thinking-tokens <n>",
  "--thinking-display <kind>",
  "--task-budget <tokens>",
  "--betas <list>",
  "--channels <name>",
  "--mcp-config <file-or-json>",
  "--strict-mcp-config",
  "--replay-user-messages",
  "--session-mirror",
  "--project-config-root <dir>",
  "--plugin-dir <dir>",
  "--plugin-dir-no-mcp <dir>",
  "--resume-session-at <uuid>",
  "--resume-drops-turn <value>",
  "--no-session-persistence",
  "--initialize-fields <list>",
  "--managed-settings <json>",
  "--managed-settings-in-initialize",
  "--workload <name>",
  "--debug-to-stderr",
  "--sdk-url <url>",
  "--bare",
  "--ide",
]

/** Flags that ask for what is the case anyway. */
const granted: ReadonlyArray<string> = ["--await-initialize", "--allow-dangerously-skip-permissions"]

const prompts = (text: string): "host" | "none" => {
  if (text === "host" || text === "none") return text
  throw new InvalidArgumentError("It must be one of host, none.")
}

/** Not shown in the help: whoever needs them knows them. */
export const options = (): ReadonlyArray<Option> =>
  [
    new Option("--permission-prompt-tool <tool>", "stdio: ask the client over the control protocol"),
    new Option("--permission-prompts <who>", "none: deny what would have to be asked").argParser(prompts),
    new Option("--include-hook-events", "with stream-json: a line when a hook starts, and one with its end"),
    new Option("--rewind-files <prompt>", "with --resume: files go back to before this prompt, and that is all"),
    new Option("--tools <list>", "the built-in tools to offer, by commas; default: all"),
    ...silent.map((flags) => new Option(flags, "has no effect yet")),
    ...granted.map((flags) => new Option(flags, "is always the case")),
  ].map((option) => option.hideHelp())

/** What was typed that has no effect yet, one sentence each. */
export const idle = (flags: ClientFlags & { readonly inputFormat?: string }): ReadonlyArray<string> => {
  const given = new Map(Object.entries(flags))
  const named = silent.flatMap((text) => {
    const option = new Option(text)
    const value = given.get(option.attributeName())
    const typed = option.negate ? value === false : value !== undefined
    return typed ? [`${option.long} has no effect yet.`] : []
  })
  const tool = flags.permissionPromptTool
  if (tool === undefined) return named
  if (tool !== "stdio") return [...named, "--permission-prompt-tool has no effect yet, except with stdio."]
  return flags.inputFormat === "stream-json"
    ? named
    : [...named, "--permission-prompt-tool stdio has no effect without --input-format stream-json."]
}

export const asksClient = (flags: ClientFlags): boolean =>
  flags.permissionPromptTool === "stdio" && flags.permissionPrompts !== "none"

/** `default` is all of them; an empty list none. */
export const tools = ({ tools }: ClientFlags): ReadonlyArray<string> | undefined =>
  tools === undefined || tools.trim() === "default" ? undefined : tools.split(",").map((name) => name.trim())
