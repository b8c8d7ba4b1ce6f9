/**
 * Owns the text a session begins with, put together once: what everybody shares, then, behind the boundary, the facts, how git is
 * used, memory, language, what was appended, the output style, and last what people's files ask for. The order never varies.
 *
 * Nothing here can fail: what cannot be read is left out and named.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { boundary } from "../model/CachePlan.ts"
import { text, type TextBlock } from "../protocol/Content.ts"
import type { Review } from "../settings/Trust.ts"
import * as ContextSettings from "./ContextSettings.ts"
import * as GitText from "./GitText.ts"
import { renderAll } from "./InstructionFragment.ts"
import type { Diagnostic } from "./InstructionLoader.ts"
import * as Instructions from "./Instructions.ts"
import * as Memory from "./Memory.ts"
import * as MemoryDirectory from "./MemoryDirectory.ts"
import { paragraph } from "./MemoryText.ts"
import * as OutputStyles from "./OutputStyles.ts"
import * as SystemPrompt from "./SystemPrompt.ts"

export interface SessionTextOptions extends SystemPrompt.SystemPromptOptions {
  /** Nobody's files count unless told. */
  readonly settings?: ContextSettings.ContextSettings | undefined
  /** The model's full name, for what is written under commits. */
  readonly model?: string | undefined
  /** What git says about the repository, if somebody has asked already; it takes longer than everything else here. */
  readonly gitState?: Effect.Effect<string | undefined> | undefined
  readonly plugins?: OutputStyles.StylesOptions["plugins"]
  readonly trusted?: ((review: Review) => boolean) | undefined
  /** A permission rule denies reading it. */
  readonly hides?: ((path: string) => boolean) | undefined
  /** Origins of instructions the model was told in an earlier life of the session. */
  readonly injected?: Iterable<string> | undefined
}

export interface SessionText {
  readonly system: ReadonlyArray<TextBlock>
  /** The parts behind the boundary, for whoever is to be told some of them: a subagent has no style and no memory of the session. */
  readonly parts: Parts
  readonly instructions: Instructions.Instructions
  /** Absent when nothing is remembered. */
  readonly memory: Memory.Memory | undefined
  readonly style: OutputStyles.OutputStyle
  /** For people, one line each. */
  readonly diagnostics: ReadonlyArray<string>
  /** What waits for a person to agree to it. */
  readonly reviews: ReadonlyArray<Review>
}

/** In the order the model reads them; empty where there is nothing to say. */
export interface Parts {
  readonly facts: string
  readonly git: string
  readonly memory: string
  readonly language: string
  readonly appended: string
  readonly style: string
  readonly instructions: string
}

export const make = Effect.fn("SessionText.make")(function* (options: SessionTextOptions) {
  const { cwd, settings = ContextSettings.none } = options
  const [facts, state, instructions, remembered, chosen] = yield* Effect.all(
    [
      SystemPrompt.facts(options),
      settings.gitInstructions ? (options.gitState ?? GitText.state(cwd)) : Effect.undefined,
      Instructions.make({ ...options, settings }),
      remember(cwd, settings),
      OutputStyles.choose({ cwd, settings, plugins: options.plugins, hides: options.hides }),
    ],
    { concurrency: "unbounded" },
  )
  const { style } = chosen
  const parts: Parts = {
    facts: [boundary, facts, ...(state === undefined ? [] : [state])].join("\n"),
    git: settings.gitInstructions ? GitText.instructions(settings.attribution, options.model) : "",
    memory: remembered.text,
    language: languageText(settings.language ?? ""),
    appended: options.appendSystemPrompt ?? "",
    style: style.body === "" ? "" : `Output style: ${style.name}\n\n${style.body}`,
    instructions: renderAll(instructions.start),
  }
  const { instructions: asked, ...session } = parts
  const shared =
    options.systemPrompt !== undefined
      ? [options.systemPrompt]
      : [SystemPrompt.everyone, ...(style.keepsCoding ? [SystemPrompt.coding] : [])]
  const blocks = [...shared, joined(Object.values(session)), ...(asked === "" ? [] : [asked])]
  const { diagnostics, reviews } = instructions.report()
  const result: SessionText = {
    system: blocks.map(text),
    parts,
    instructions,
    memory: remembered.memory,
    style,
    diagnostics: [...settings.problems, ...remembered.problems, ...[...diagnostics, ...chosen.diagnostics].map(render)],
    reviews,
  }
  return result
})

const remember = Effect.fnUntraced(function* (cwd: string, settings: ContextSettings.ContextSettings) {
  if (!settings.autoMemory) return { memory: undefined, text: "", problems: [] }
  const directory = yield* MemoryDirectory.ofProject(cwd, settings)
  if (Result.isFailure(directory)) return { memory: undefined, text: "", problems: [directory.failure] }
  return { ...(yield* told(directory.success)), problems: [] }
})

const told = Effect.fnUntraced(function* (directory: MemoryDirectory.MemoryDirectory) {
  const memory = yield* Memory.make(directory)
  const text = paragraph(directory, yield* memory.index, yield* memory.hasTeam)
  return { memory, text }
})

/** The memory of an agent that has one of its own: its paragraph of the agent's system text, and the memories. */
export const agentMemory = Effect.fnUntraced(function* (
  agent: string,
  scope: MemoryDirectory.AgentMemoryScope,
  cwd: string,
) {
  const directory = yield* MemoryDirectory.ofAgent(agent, scope, cwd)
  return Result.isSuccess(directory) ? Result.succeed(yield* told(directory.success)) : Result.fail(directory.failure)
})

const languageText = (language: string): string =>
  language === ""
    ? ""
    : `Language: always answer in ${language}, unless the user asks for another one. Code, names and quotations stay as they are.`

const joined = (parts: ReadonlyArray<string>): string => parts.filter((part) => part !== "").join("\n\n")

/** `file:line: what is wrong` */
export const render = ({ line, message, path }: Diagnostic): string =>
  `${path}${line === undefined ? "" : `:${line}`}: ${message}`
