/** Owns what hooks leave behind in a session's directory: words too long for the model, and variables for later shells. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { Files } from "../platform/Files.ts"
import type { HookEventName } from "./HookEvents.ts"
import type { Reply } from "./Reply.ts"

/** Of what a hook says to the model or to a person. */
export const maxChars = 10_000
const previewChars = 2_000

/** Whose variables come first: a later one may build on an earlier one. */
const order: ReadonlyArray<HookEventName> = ["Setup", "SessionStart", "CwdChanged", "FileChanged"]
/** What was left there belongs to the directory that was left. */
const ofDirectory: ReadonlySet<HookEventName> = new Set<HookEventName>(["CwdChanged", "FileChanged"])

export interface HookMemory {
  /** The same reply with nothing in it that is too long. */
  readonly boundedReply: (reply: Reply, id: string) => Effect.Effect<Reply>
  /** A file for the variables of one hook, empty; nothing when it cannot be made. */
  readonly envFile: (event: HookEventName, id: string) => Effect.Effect<string | undefined>
  /** Takes over what a hook has written there. */
  readonly keep: (event: HookEventName, path: string) => Effect.Effect<void>
  /** The shell has moved: what hooks said about the old directory is over. */
  readonly moved: () => void
  /** Shell lines to run before a command. */
  readonly preamble: () => string
}

/** All that a hook may say at length, to the model or to the person. */
const words = ["text", "blocked", "stopped", "told", "shown"] as const
const outputWords = ["systemMessage", "reason", "stopReason"] as const
const specificWords = ["additionalContext", "permissionDecisionReason"] as const
/** What their files are called, where it is not the field's name. */
const names: Readonly<Record<string, string>> = {
  text: "stdout",
  additionalContext: "context",
  systemMessage: "message",
}

export const make = Effect.fnUntraced(function* (directory: string) {
  const files = yield* Files
  const fs = yield* FileSystem.FileSystem
  const left = new Map<string, { readonly event: HookEventName; readonly text: string }>()

  /** Long words go to a file that the model can read, with a preview. */
  const bounded = Effect.fnUntraced(function* (text: string, id: string, what: string) {
    if (text.length <= maxChars) return text
    const path = `${directory}/outputs/hook-${id}-${what}.txt`
    const saved = yield* Effect.result(files.writeAtomic(path, text, { mode: 0o600, makeParents: true }))
    const rest =
      saved._tag === "Success" ? `The whole text is in ${path}` : `The rest is lost: ${saved.failure.message}`
    return `[${text.length} characters, more than fit here. ${rest}]\n${text.slice(0, previewChars)}…`
  })

  const memory: HookMemory = {
    boundedReply: Effect.fnUntraced(function* (reply: Reply, id: string) {
      const { output } = reply
      const { specific } = output
      const all = [
        ...words.map((field) => reply[field]),
        ...outputWords.map((field) => output[field]),
        ...specificWords.map((field) => specific[field]),
      ]
      if (!all.some((each) => each !== undefined && each.length > maxChars)) return reply
      const shorter = Effect.fnUntraced(function* <F extends string>(
        fields: ReadonlyArray<F>,
        of: { readonly [field in F]?: string | undefined },
      ) {
        const bound: { [field in F]?: string } = {}
        for (const field of fields) {
          const each = of[field]
          if (each !== undefined) bound[field] = yield* bounded(each, id, names[field] ?? field)
        }
        return bound
      })
      return {
        ...reply,
        ...(yield* shorter(words, reply)),
        output: {
          ...output,
          ...(yield* shorter(outputWords, output)),
          specific: { ...specific, ...(yield* shorter(specificWords, specific)) },
        },
      }
    }),
    envFile: Effect.fnUntraced(function* (event: HookEventName, id: string) {
      const path = `${directory}/env/${event}-${id}.sh`
      const made = yield* Effect.result(files.writeAtomic(path, "", { mode: 0o600, makeParents: true }))
      return made._tag === "Success" ? path : undefined
    }),
    keep: Effect.fnUntraced(function* (event: HookEventName, path: string) {
      const text = yield* Effect.orElseSucceed(fs.readFileString(path), () => "")
      yield* Effect.ignore(fs.remove(path))
      if (text.trim() !== "") left.set(path, { event, text })
    }),
    moved: () => {
      for (const [path, { event }] of left) if (ofDirectory.has(event)) left.delete(path)
    },
    preamble: (): string =>
      order.flatMap((event) => [...left.values()].flatMap((one) => (one.event === event ? [one.text] : []))).join("\n"),
  }
  return memory
})
