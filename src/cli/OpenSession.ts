/** Owns the way from a checked command line to an open session. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { readFile, stat } from "node:fs/promises"
import { resolve } from "node:path"
import type { Agents } from "../agents/Agents.ts"
import * as Toolset from "../agents/Toolset.ts"
import type { SessionHook } from "../agents/SessionHook.ts"
import type { Initialize } from "./ControlWire.ts"
import type { SessionArgs, Source } from "./SessionArgs.ts"

/** Whatever opens sessions. */
export type Opener = Pick<Agents["Service"], "open" | "resume" | "fork" | "latest">

/** The command line is well-formed, but the world does not fit it. */
export class CannotStart extends Schema.TaggedError<CannotStart>()("CannotStart", {
  message: Schema.String,
}) {}

/** Opens, resumes or forks, as the flags say, and as a client that starts us wants it. */
export const openSession = Effect.fnUntraced(function* (
  agents: Opener,
  args: SessionArgs,
  cwd: string,
  asked?: Initialize,
  hooks: ReadonlyArray<SessionHook> = [],
) {
  const options = { ...(yield* openOptions(args, cwd)), ...(asked && askedOptions(asked, args)), hooks }
  const { which } = args
  switch (which._tag) {
    case "New":
      return yield* agents.open(options)
    case "Resume":
      return yield* which.fork ? agents.fork(which.id, options) : agents.resume(which.id, options)
    case "Latest": {
      const id = yield* agents.latest(cwd)
      if (id === undefined) {
        return yield* new CannotStart({
          message: `There is no session in ${cwd} to go on with. Start one without --continue, or name one with --resume.`,
        })
      }
      return yield* which.fork ? agents.fork(id, options) : agents.resume(id, options)
    }
  }
})

const openOptions = Effect.fnUntraced(function* (args: SessionArgs, cwd: string) {
  const addDirs = yield* Effect.forEach(args.addDirs, (dir) => directory(dir, cwd))
  return {
    cwd,
    tools: offered(args.tools),
    model: args.model,
    fallbackModel: args.fallbackModel,
    permissionMode: args.permissionMode,
    effort: args.effort,
    setup: args.setup,
    agent: args.agent,
    agents: yield* textOf(args.agents, "--agents", cwd),
    maxTurns: args.maxTurns,
    systemPrompt: yield* textOf(args.systemPrompt, "--system-prompt-file", cwd),
    appendSystemPrompt: yield* textOf(args.appendSystemPrompt, "--append-system-prompt-file", cwd),
    allowedTools: args.allowedTools,
    disallowedTools: args.disallowedTools,
    addDirs,
    jsonSchema: args.jsonSchema,
    // Where nobody sits who could go back, whoever wants it says so.
    checkpoints: args.print ? undefined : true,
    sessionId: args.which.sessionId,
  }
})

/** Of the built-in tools, those that were named; all unless told. */
const offered = (names: ReadonlyArray<string> | undefined) =>
  names === undefined ? Toolset.all : Toolset.all.filter((tool) => names.includes(tool.name))

/** What a client asks for counts more than the flags it gave, as it says it later. */
const askedOptions = (asked: Initialize, args: SessionArgs) => ({
  ...systemPrompt(asked),
  ...(asked.appendSystemPrompt != null && { appendSystemPrompt: asked.appendSystemPrompt }),
  ...(asked.jsonSchema != null && { jsonSchema: asked.jsonSchema }),
  ...(asked.agents != null && { agents: JSON.stringify(asked.agents) }),
  ...(asked.disallowedTools != null && { disallowedTools: [...args.disallowedTools, ...asked.disallowedTools] }),
})

/** An empty one is how clients say "no preset": a session without any would not even know its tools' manners. */
const systemPrompt = ({ systemPrompt: said }: Initialize) => {
  const text = typeof said === "string" ? said : said?.join("\n\n")
  return text === undefined || text.trim() === "" ? {} : { systemPrompt: text }
}

const textOf = Effect.fnUntraced(function* (source: Source | undefined, flag: string, cwd: string) {
  if (source === undefined) return undefined
  if ("text" in source) return source.text
  const path = resolve(cwd, source.file)
  return yield* Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) => new CannotStart({ message: `${flag}: ${path} cannot be read: ${reasonOf(error)}` }),
  })
})

const directory = Effect.fnUntraced(function* (dir: string, cwd: string) {
  const path = resolve(cwd, dir)
  const found = yield* Effect.option(Effect.tryPromise(() => stat(path)))
  if (found._tag === "Some" && found.value.isDirectory()) return path
  return yield* new CannotStart({
    message:
      `--add-dir: ${path} is no directory. ` +
      "The flag takes every word up to the next flag; if that is the prompt, put it first or behind --.",
  })
})

const reasonOf = (error: unknown): string => {
  if (error instanceof Error && "code" in error) {
    if (error.code === "ENOENT") return "it does not exist"
    if (error.code === "EISDIR") return "it is a directory"
    if (error.code === "EACCES") return "permission denied"
  }
  return error instanceof Error ? error.message : String(error)
}
