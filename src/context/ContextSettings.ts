/** Owns what settings and environment say about the text a session begins with: whose files count, style, language, memory, git. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Host } from "../platform/Host.ts"
import { Settings, type Snapshot } from "../settings/Settings.ts"
import { render } from "../settings/SettingsLayer.ts"
import { slice } from "../settings/Slice.ts"
import { usual, type Wishes } from "./compaction/Thresholds.ts"

export interface ContextSettings {
  /** Whose files count, beside the machine's. */
  readonly scopes: Snapshot["scopes"]
  /** Where the machine's own files are. */
  readonly managedDirectory?: string | undefined
  /** Instructions that the machine's policy states in place. */
  readonly managedText?: string | undefined
  readonly claudeMdExcludes: ReadonlyArray<string>
  /** Instructions of added directories count too. */
  readonly fromAddedDirectories: boolean
  readonly autoMemory: boolean
  readonly autoMemoryDirectory?: string | undefined
  readonly outputStyle?: string | undefined
  readonly language?: string | undefined
  readonly attribution: Attribution
  /** When a conversation is put shorter. */
  readonly compaction: Wishes
  /** How to write commits and pull requests, and the state of the repository. */
  readonly gitInstructions: boolean
  /** What of it could not be used, and why. */
  readonly problems: ReadonlyArray<string>
}

/** What goes under commits and pull requests: the usual text where nothing is said, none where the text is empty. */
export interface Attribution {
  readonly commit?: string | undefined
  readonly pr?: string | undefined
}

/** Nobody's files count: what an embedder gets that asks for nothing. */
export const none: ContextSettings = {
  scopes: [],
  claudeMdExcludes: [],
  fromAddedDirectories: false,
  autoMemory: false,
  attribution: {},
  compaction: usual,
  gitInstructions: false,
  problems: [],
}

const AttributionSetting = Schema.Struct({
  commit: Schema.optionalKey(Schema.String),
  pr: Schema.optionalKey(Schema.String),
  sessionUrl: Schema.optionalKey(Schema.Boolean),
})

/** A name of a language, not a place for instructions of a foreign folder. */
const longestLanguage = 60

/** Everything of it is data: a value that does not fit is left out and named. */
export const read = Effect.gen(function* () {
  const { env } = yield* Host
  const { layers, managedDirectory, scopes } = yield* (yield* Settings).current
  const problems: Array<string> = []
  const get = <S extends Schema.ConstraintDecoder<unknown>>(key: string, schema: S) => {
    const found = slice(layers, key, schema)
    problems.push(...found.diagnostics.map(render))
    return found
  }
  const memory = get("autoMemoryEnabled", Schema.Boolean).value ?? true
  const disabled = flag(env("CLAUDE_CODE_DISABLE_AUTO_MEMORY"))
  const git = get("includeGitInstructions", Schema.Boolean).value ?? true
  const gitDisabled = flag(env("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS"))
  const written = get("attribution", AttributionSetting).value ?? {}
  const coAuthored = get("includeCoAuthoredBy", Schema.Boolean).value ?? true
  const isSaid = written.commit !== undefined || written.pr !== undefined
  // Without files there is nowhere to remember anything either.
  const any = scopes.length > 0
  const settings: ContextSettings = {
    scopes,
    managedDirectory,
    managedText: get("claudeMd", Schema.String).parts.findLast(({ source }) => source.kind === "managed")?.value,
    claudeMdExcludes: get("claudeMdExcludes", Schema.Array(Schema.String)).value ?? [],
    fromAddedDirectories: flag(env("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD")) === true,
    autoMemory: any && (disabled === undefined ? memory : !disabled),
    autoMemoryDirectory: get("autoMemoryDirectory", Schema.String).value,
    outputStyle: get("outputStyle", Schema.String).value,
    language: get("language", Schema.String).value?.replace(/\s+/g, " ").trim().slice(0, longestLanguage),
    attribution: !coAuthored && !isSaid ? { commit: "", pr: "" } : { commit: written.commit, pr: written.pr },
    compaction: {
      auto:
        (get("autoCompactEnabled", Schema.Boolean).value ?? true) &&
        flag(env("DISABLE_COMPACT")) !== true &&
        flag(env("DISABLE_AUTO_COMPACT")) !== true,
      manual: flag(env("DISABLE_COMPACT")) !== true,
      window: get("autoCompactWindow", Schema.Finite).value,
      percent: numberOf(env("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE")),
    },
    gitInstructions: any && (gitDisabled === undefined ? git : !gitDisabled),
    problems,
  }
  return settings
})

const numberOf = (text: string | undefined): number | undefined => {
  const number = Number(text)
  return text === undefined || text.trim() === "" || !Number.isFinite(number) ? undefined : number
}

/** What a variable that switches something says, if anything. */
const flag = (text: string | undefined): boolean | undefined => {
  if (text === undefined) return undefined
  return !["0", "false", "no", "off"].includes(text.toLowerCase())
}
