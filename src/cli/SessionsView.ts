/** Owns how `troupe sessions` shows sessions: lists, what was found in them, one of them, what was deleted. */
import * as DateTime from "effect/DateTime"
import stringWidth from "string-width"
import type * as Conversation from "../session/Conversation.ts"
import type { Cleaned } from "../session/Retention.ts"
import type { SessionSummary } from "../session/SessionIndex.ts"
import { mostHits, type Found } from "../session/SessionSearch.ts"
import { oneLine, plain } from "./Plain.ts"
import { visible, visibleJson } from "./Reveal.ts"
import { count, describe, truncate } from "./ToolView.ts"

/** What is asked of it. A session is named by its id, the beginning of it, or its title. */
export type SessionsAsk =
  | {
      readonly what: "list"
      readonly all: boolean
      readonly words: string | undefined
      readonly tag: string | undefined
    }
  | { readonly what: "search"; readonly all: boolean; readonly words: ReadonlyArray<string> }
  | { readonly what: "show"; readonly which: string }
  | { readonly what: "rename"; readonly which: string; readonly title: string }
  | { readonly what: "tag" | "untag"; readonly which: string; readonly tags: ReadonlyArray<string> }
  | {
      readonly what: "export"
      readonly which: string
      readonly format: ExportFormat | undefined
      readonly output: string | undefined
    }
  | { readonly what: "delete"; readonly which: ReadonlyArray<string>; readonly yes: boolean }
  | { readonly what: "cleanup"; readonly dryRun: boolean }

export const exportFormats = ["markdown", "html", "json"] as const
export type ExportFormat = (typeof exportFormats)[number]

/** How wide the terminal is, and where its reader stands. */
export interface Look {
  readonly columns: number
  readonly cwd: string
  readonly home: string
  readonly now: number
}

export const pretty = (value: unknown): string => `${visibleJson(JSON.stringify(value, undefined, 2))}\n`

const isoOf = (time: number): string => DateTime.formatIso(DateTime.makeUnsafe(time))

/** A session for programs. */
export const row = (one: SessionSummary) => ({
  id: one.sessionId,
  title: one.title,
  named: one.isNamed,
  tags: one.tags,
  cwd: one.cwd ?? null,
  modified: isoOf(one.modified),
  prompts: one.prompts ?? null,
  bytes: one.size,
  source: one.kind === "own" ? "troupe" : "other",
  path: one.path,
})

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** `5 min ago`, and the date of what is longer ago than a week. */
export const ago = (time: number, now: number): string => {
  const past = Math.max(0, now - time)
  if (past < minute) return "just now"
  if (past < hour) return `${Math.floor(past / minute)} min ago`
  if (past < day) return `${Math.floor(past / hour)} h ago`
  return past < 7 * day ? `${count(Math.floor(past / day), "day")} ago` : isoOf(time).slice(0, 10)
}

const short = (path: string, home: string): string =>
  path === home ? "~" : path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path

const pad = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - stringWidth(text)))

/** Its id as far as it is needed, when it was used, what it is about. */
const line = (one: SessionSummary, look: Look, withPlace: boolean): string => {
  const begin = `${one.sessionId.slice(0, 8)}  ${pad(ago(one.modified, look.now), 10)}  `
  const tags = one.tags.map((tag) => `#${visible(tag, true)}`).join(" ")
  const place = withPlace && one.cwd !== undefined ? visible(short(one.cwd, look.home), true) : ""
  const end = [tags, place].filter((part) => part !== "").join("  ")
  const room = look.columns - begin.length - (end === "" ? 0 : stringWidth(end) + 2)
  const title = truncate(oneLine(visible(one.title, true)), Math.max(20, room))
  return `${begin}${title}${end === "" ? "" : `  ${end}`}`
}

export const listed = (
  sessions: ReadonlyArray<SessionSummary>,
  asJson: boolean,
  look: Look,
  scope: { readonly all: boolean; readonly elsewhere: number },
): string => {
  if (asJson) return pretty(sessions.map(row))
  const hint = scope.elsewhere > 0 ? `${count(scope.elsewhere, "session")} in other directories: add --all.` : ""
  if (sessions.length === 0)
    return `There are no sessions ${scope.all ? "" : `of ${look.cwd} `}to show. ${hint}`.trimEnd() + "\n"
  const lines = sessions.map((one) => line(one, look, scope.all))
  return `${[...lines, ...(hint === "" ? [] : ["", hint])].join("\n")}\n`
}

export const found = (results: ReadonlyArray<Found>, asJson: boolean, look: Look, all: boolean): string => {
  if (asJson) return pretty(results.map(({ count: matches, hits, session }) => ({ ...row(session), matches, hits })))
  if (results.length === 0)
    return `Nothing was found${all ? "" : " in the sessions of this directory; add --all to look in every one"}.\n`
  const lines = results.flatMap(({ count: matches, hits, session }) => [
    line(session, look, all),
    ...hits.map(({ by, line: text }) =>
      truncate(`    ${by === "person" ? "›" : "●"} ${oneLine(visible(text, true))}`, look.columns),
    ),
    ...(matches > mostHits ? [`    … ${count(matches - mostHits, "more message")}`] : []),
  ])
  return `${lines.join("\n")}\n`
}

const lastShown = 12
const mostShown = 400

/** A few words for each thing that was said or done. */
export const inBrief = (item: Conversation.Item, cwd: string): string => {
  switch (item.kind) {
    case "prompt":
      return `› ${oneLine(item.text) || "[attachment]"}`
    case "reply":
      return `● ${oneLine(item.text)}`
    case "thinking":
      return `  (thought) ${oneLine(item.text)}`
    case "call":
      return `  ${item.outcome === undefined || item.outcome === "completed" ? "⚒" : "✗"} ${describe(item.tool, item.input, cwd)}`
    case "note":
      return `  ${oneLine(item.text)}`
  }
}

export interface Details {
  readonly session: SessionSummary
  readonly items: ReadonlyArray<Conversation.Item>
  readonly model: string | undefined
  readonly costUsd: number
  readonly replies: number
  readonly began: number | undefined
  readonly problems: ReadonlyArray<string>
}

export const shown = (details: Details, asJson: boolean, look: Look): string => {
  const { began, costUsd, items, model, problems, replies, session } = details
  if (asJson) {
    const calls = items.filter(({ kind }) => kind === "call").length
    const facts = { model: model ?? null, began: began === undefined ? null : isoOf(began), replies, calls, costUsd }
    return pretty({ ...row(session), ...facts, problems, last: items.slice(-lastShown) })
  }
  const facts: ReadonlyArray<readonly [string, string | undefined]> = [
    ["id", session.sessionId],
    ["title", session.isNamed ? visible(session.title, true) : undefined],
    ["tags", session.tags.map((tag) => `#${visible(tag, true)}`).join(" ")],
    ["place", session.cwd === undefined ? undefined : visible(short(session.cwd, look.home), true)],
    ["model", model],
    ["used", `${ago(session.modified, look.now)}${began === undefined ? "" : `, begun ${ago(began, look.now)}`}`],
    [
      "size",
      `${count(session.prompts ?? items.filter(({ kind }) => kind === "prompt").length, "prompt")}, ${count(replies, "reply").replace("replys", "replies")}, ${kilobytes(session.size)}`,
    ],
    ["cost", costUsd > 0 ? `$${costUsd.toFixed(4)}` : undefined],
    ["file", session.path],
  ]
  const lines = [
    ...facts.flatMap(([name, value]) => (value === undefined || value === "" ? [] : [`${name.padEnd(6)} ${value}`])),
    ...problems.map((problem) => `!      ${visible(problem, true)}`),
    "",
    ...items
      .slice(-lastShown)
      .map((item) => truncate(inBrief(item, session.cwd ?? look.cwd), Math.min(mostShown, look.columns))),
    "",
    `To go on: troupe --resume ${session.sessionId}`,
  ]
  return plain(`${lines.join("\n")}\n`)
}

const kilobytes = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`

export const cleaned = (outcome: Cleaned, dryRun: boolean, asJson: boolean, look: Look): string => {
  const { days, kept, removed } = outcome
  if (asJson) {
    return pretty({
      days,
      dryRun,
      removed: removed.map(row),
      kept: kept.map(({ session, why }) => ({ ...row(session), why })),
    })
  }
  const freed = removed.reduce((sum, { size }) => sum + size, 0)
  const what = `${count(removed.length, "session")} not used for ${count(days, "day")}`
  return `${[
    ...removed.map((one) => line(one, look, true)),
    ...kept.map(({ session, why }) => `kept ${session.sessionId.slice(0, 8)}: ${visible(why, true)}`),
    removed.length === 0
      ? `No session is older than ${count(days, "day")}.`
      : `${dryRun ? "Would delete" : "Deleted"} ${what} (${kilobytes(freed)}).`,
  ].join("\n")}\n`
}
