/** Owns `troupe sessions`: finds the sessions that are meant, does what is asked with them, and answers the exit code. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { isAbsolute, join } from "node:path"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { DurableEvent } from "../protocol/Event.ts"
import * as Retention from "../session/Retention.ts"
import * as SessionIndex from "../session/SessionIndex.ts"
import * as SessionNotes from "../session/SessionNotes.ts"
import * as SessionPaths from "../session/SessionPaths.ts"
import * as SessionRef from "../session/SessionRef.ts"
import * as SessionRemoval from "../session/SessionRemoval.ts"
import * as SessionSearch from "../session/SessionSearch.ts"
import type { LineReader } from "./LineReader.ts"
import { visible } from "./Reveal.ts"
import * as SessionExport from "./SessionExport.ts"
import * as SessionNamed from "./SessionNamed.ts"
import * as SessionsView from "./SessionsView.ts"
import type { Stdio } from "./Stdio.ts"
import { count } from "./ToolView.ts"

interface Job {
  readonly ask: SessionsView.SessionsAsk
  readonly json: boolean
}

export interface Door {
  readonly stdio: Pick<Stdio, "out" | "err" | "columns" | "outputIsTerminal">
  /** A person to ask, where there is one. */
  readonly reader: LineReader | undefined
  readonly version: string
}

export const sessionsCommand = ({ ask, json }: Job, door: Door) =>
  Effect.gen(function* () {
    switch (ask.what) {
      case "list":
        return yield* list(ask, json, door)
      case "search":
        return yield* search(ask, json, door)
      case "show":
        return yield* show(ask.which, json, door)
      case "rename": {
        if (SessionNotes.titleOf(ask.title) === "") return yield* refuse(door, "the title is empty.")
        return yield* note(ask.which, door, () => SessionNotes.titled(ask.title, "person"))
      }
      case "tag":
      case "untag": {
        const tags = SessionNotes.tagsOf(ask.tags)
        if (tags.length === 0) return yield* refuse(door, "the tag is empty.")
        return yield* note(ask.which, door, (now) => {
          const others = now.tags.filter((tag) => !tags.includes(tag))
          return SessionNotes.tagged(ask.what === "tag" ? [...others, ...tags] : others, "person")
        })
      }
      case "export":
        return yield* exportTo(ask, door)
      case "delete":
        return yield* remove(ask, json, door)
      case "cleanup":
        return yield* cleanup(ask.dryRun, json, door)
    }
  }).pipe(
    Effect.catchTags({
      SessionUnknown: ({ message }) => refuse(door, message.replace(/^There/, "there")),
      SessionBusy: (error) => refuse(door, busy(error)),
    }),
  )

const refuse = ({ stdio }: Door, why: string) => Effect.as(stdio.err.write(`troupe: ${visible(why)}\n`), 1)

const busy = ({ holder, sessionId }: { readonly holder?: number; readonly sessionId: string }): string =>
  `session ${sessionId} is in use by ${holder === undefined ? "another process" : `process ${holder}`}. At its own prompt there are /rename, /tag and /export; to change it from here, end it first.`

const lookOf = Effect.fnUntraced(function* ({ stdio }: Door) {
  const { cwd, home } = yield* Host
  const columns = stdio.outputIsTerminal ? stdio.columns() : 200
  return { columns, cwd, home, now: yield* Clock.currentTimeMillis } satisfies SessionsView.Look
})

/** The session that is meant; also one in which nothing was said, by its whole id. */
const meant = Effect.fnUntraced(function* (reference: string) {
  const all = yield* SessionIndex.list
  const id = yield* SessionNamed.idOf(reference)
  return yield* Effect.fromResult(SessionRef.resolve(id, all))
})

/** Those of a directory, and how many there are elsewhere. */
const here = Effect.fnUntraced(function* (all: boolean) {
  const { cwd } = yield* Host
  const everything = yield* SessionIndex.list
  const sessions = all ? everything : everything.filter((one) => belongs(one, cwd))
  return { sessions, elsewhere: everything.length - sessions.length }
})

/** A transcript of another program may say no directory; then it is the one it lies in. */
const belongs = (one: SessionIndex.SessionSummary, cwd: string): boolean =>
  one.cwd === undefined ? SessionPaths.isProjectName(one.path.split("/").at(-2) ?? "", cwd) : one.cwd === cwd

const list = Effect.fnUntraced(function* (
  { all, tag, words }: Extract<Job["ask"], { what: "list" }>,
  json: boolean,
  door: Door,
) {
  const { elsewhere, sessions } = yield* here(all)
  const wanted = (words ?? "").toLowerCase().split(/\s+/)
  const fits = (one: SessionIndex.SessionSummary) => {
    const said = `${one.title}\n${one.tags.join("\n")}\n${one.sessionId}`.toLowerCase()
    return wanted.every((word) => said.includes(word)) && (tag === undefined || one.tags.includes(tag))
  }
  const scope = { all, elsewhere }
  yield* door.stdio.out.write(SessionsView.listed(sessions.filter(fits), json, yield* lookOf(door), scope))
  return 0
})

const mostFound = 50

const search = Effect.fnUntraced(function* (
  { all, words }: Extract<Job["ask"], { what: "search" }>,
  json: boolean,
  door: Door,
) {
  const { sessions } = yield* here(all)
  const found = yield* SessionSearch.search(words, sessions)
  yield* door.stdio.out.write(SessionsView.found(found.slice(0, mostFound), json, yield* lookOf(door), all))
  if (found.length > mostFound) {
    yield* door.stdio.err.write(
      `troupe: ${found.length - mostFound} more sessions hold these words; give more of them.\n`,
    )
  }
  return found.length === 0 ? 1 : 0
})

const show = Effect.fnUntraced(function* (which: string, json: boolean, door: Door) {
  const session = yield* meant(which)
  const { began, costUsd, items, model, problems, replies } = yield* SessionExport.read(session)
  const details = { session, items, model, costUsd, replies, began, problems }
  yield* door.stdio.out.write(SessionsView.shown(details, json, yield* lookOf(door)))
  return 0
})

const note = Effect.fnUntraced(function* (
  which: string,
  door: Door,
  eventOf: (now: { readonly tags: ReadonlyArray<string> }) => DurableEvent,
) {
  const session = yield* meant(which)
  const event = yield* SessionNotes.note(session, eventOf, door.version)
  const now =
    event._tag === "SessionTagged"
      ? event.tags.map((tag) => `#${tag}`).join(" ") || "no tags"
      : event._tag === "SessionTitled"
        ? event.title
        : ""
  yield* door.stdio.out.write(`${session.sessionId.slice(0, 8)}  ${visible(now, true)}\n`)
  return 0
})

const exportTo = Effect.fnUntraced(function* (
  { format, output, which }: Extract<Job["ask"], { what: "export" }>,
  door: Door,
) {
  const session = yield* meant(which)
  const text = SessionExport.render(yield* SessionExport.read(session), SessionExport.formatOf(format, output))
  if (output === undefined) {
    yield* door.stdio.out.write(text)
    return 0
  }
  const files = yield* Files
  const path = isAbsolute(output) ? output : join((yield* Host).cwd, output)
  yield* files.writeAtomic(path, text, { mode: 0o600 })
  yield* door.stdio.err.write(`troupe: written to ${visible(path, true)}\n`)
  return 0
})

const remove = Effect.fnUntraced(function* (
  { which, yes }: Extract<Job["ask"], { what: "delete" }>,
  json: boolean,
  door: Door,
) {
  // All of them first: a slip in the last name must not cost the first session.
  const sessions = [...new Map((yield* Effect.forEach(which, meant)).map((one) => [one.sessionId, one])).values()]
  if (!yes) {
    const { reader } = door
    if (reader === undefined) {
      return yield* refuse(door, "a session is deleted for good, and nobody is here to be asked: add --yes.")
    }
    const look = yield* lookOf(door)
    yield* door.stdio.out.write(SessionsView.listed(sessions, false, look, { all: true, elsewhere: 0 }))
    const read = yield* reader.read(`Delete ${count(sessions.length, "session")} for good? [y]es, [n]o: `, {
      fresh: true,
    })
    if (read._tag !== "Line" || !/^y(es)?$/i.test(read.text.trim())) return yield* refuse(door, "nothing was deleted.")
  }
  for (const { sessionId } of sessions) yield* SessionRemoval.remove(sessionId)
  const said = `Deleted ${count(sessions.length, "session")}.\n`
  yield* door.stdio.out.write(json ? SessionsView.pretty(sessions.map(SessionsView.row)) : said)
  return 0
})

const cleanup = Effect.fnUntraced(function* (dryRun: boolean, json: boolean, door: Door) {
  const days = yield* Retention.period
  if (Result.isFailure(days)) return yield* refuse(door, `nothing is deleted: ${days.failure}.`)
  const outcome = yield* Retention.clean({ days: days.success, dryRun })
  yield* door.stdio.out.write(SessionsView.cleaned(outcome, dryRun, json, yield* lookOf(door)))
  return 0
})
