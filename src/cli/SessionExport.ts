/** Owns the way from a session on disk to a document: reading it, and which format a name asks for. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { isAbsolute, join } from "node:path"
import { Files } from "../platform/Files.ts"
import type { Host } from "../platform/Host.ts"
import * as SecretText from "../security/SecretText.ts"
import * as Conversation from "../session/Conversation.ts"
import * as History from "../session/History.ts"
import * as Import from "../session/Import.ts"
import * as Journal from "../session/Journal.ts"
import { type JournalError, journalError } from "../session/JournalError.ts"
import * as Redaction from "../session/Redaction.ts"
import * as RegularFile from "../session/RegularFile.ts"
import type { Located } from "../session/Sessions.ts"
import { html } from "./ExportHtml.ts"
import { type Exported, markdown } from "./ExportMarkdown.ts"
import { type ExportFormat, pretty } from "./SessionsView.ts"

export interface Read extends Exported {
  readonly costUsd: number
  readonly replies: number
  readonly problems: ReadonlyArray<string>
}

/** Reads it without taking it: it may be in use. */
export const read: (found: Located) => Effect.Effect<Read, JournalError, Files | FileSystem.FileSystem | Host> =
  Effect.fnUntraced(function* (found) {
    const { sessionId } = found
    if (found.kind === "own") {
      const { problems, records } = yield* Journal.read(sessionId)
      const own = records.filter(({ agent }) => agent === "main")
      const { controls, cwd, firstPrompt, tags, title, totals } = History.fold(own)
      return {
        sessionId,
        title: title ?? firstPrompt?.split("\n")[0]?.slice(0, 200) ?? sessionId,
        tags,
        cwd,
        model: controls?.model,
        began: own[0]?.time,
        items: Conversation.of(own),
        costUsd: totals.costUsd,
        replies: totals.turns,
        problems,
      }
    }
    const bytes = yield* Effect.mapError(RegularFile.read(found.path), journalError("read", found.path))
    const { cwd, events, model, problems, title } = Import.events(bytes)
    const items = Conversation.of(events.map((event, seq) => ({ seq, event, time: undefined })))
    const first = items.flatMap((item) => (item.kind === "prompt" ? [item.text] : []))[0]
    return {
      sessionId,
      title: title ?? first?.split("\n")[0]?.slice(0, 200) ?? sessionId,
      tags: [],
      cwd,
      model,
      began: undefined,
      items,
      costUsd: 0,
      replies: items.filter(({ kind }) => kind === "reply").length,
      problems,
    }
  })

/** As the name of the file says, where nobody says more. */
export const formatOf = (format: ExportFormat | undefined, output: string | undefined): ExportFormat => {
  if (format !== undefined) return format
  if (output !== undefined && /\.html?$/i.test(output)) return "html"
  return output !== undefined && /\.json$/i.test(output) ? "json" : "markdown"
}

const json = ({ began, items, ...session }: Read): string => {
  const iso = (time: number | undefined) => (time === undefined ? null : DateTime.formatIso(DateTime.makeUnsafe(time)))
  return pretty({ ...session, began: iso(began), items: items.map((item) => ({ ...item, time: iso(item.time) })) })
}

/** It is made to be shown to others: without the secrets that were said in it. */
export const render = (given: Read, format: ExportFormat): string => {
  const session = { ...given, title: struck(given.title), items: given.items.map(withoutSecrets) }
  return format === "html" ? html(session) : format === "json" ? json(session) : markdown(session)
}

const struck = (text: string): string => SecretText.redact(text).text

const withoutSecrets = (item: Conversation.Item): Conversation.Item => {
  if (item.kind !== "call") return { ...item, text: struck(item.text) }
  const { input, result } = item
  return {
    ...item,
    input: Redaction.make(struck).value(input),
    ...(result !== undefined && { result: struck(result) }),
  }
}

/** Writes it, for its reader alone: what was said in a session may be private. Answers the file's path. */
export const save = Effect.fnUntraced(function* (found: Located, cwd: string, output: string | undefined) {
  const files = yield* Files
  const named = output ?? `session-${found.sessionId.slice(0, 8)}.md`
  const path = isAbsolute(named) ? named : join(cwd, named)
  yield* files.writeAtomic(path, render(yield* read(found), formatOf(undefined, path)), { mode: 0o600 })
  return path
})
