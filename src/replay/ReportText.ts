/** Owns how a replay is reported to people: what was the same, and for each difference where, what was expected and what came. */
import type { Message } from "../protocol/Message.ts"
import * as History from "../session/History.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import * as Compare from "./Compare.ts"
import type { Difference, ReplayReport } from "./Replay.ts"

/** How many differences are shown in full. */
const most = 10

export const text = (report: ReplayReport, recorded: ReadonlyArray<JournalRecord>): string => {
  const { counts, differences, edited, reached, records, sessionId, skipped } = report
  const { attempts, requests, transitions, turns } = counts
  const last = recorded.at(-1)?.seq ?? 0
  const lines = [
    `Session ${sessionId}: ${records} records${reached < last ? `, up to #${reached}` : ""}`,
    `Worked out again: ${requests} requests, ${transitions} transitions, ${attempts} attempts at tools, ${turns} turns`,
    ...(edited.length > 0 ? [`Edited: ${edited.map((seq) => `#${seq}`).join(", ")}`] : []),
  ]
  if (differences.length === 0) return [...lines, "Identical.", ""].join("\n")
  const first = differences[0]
  return [
    ...lines,
    `${differences.length} ${differences.length === 1 ? "difference" : "differences"}, the first at #${first?.seq ?? 0}${skipped === 0 ? "" : `; ${skipped} records could not be compared`}`,
    ...differences.slice(0, most).flatMap((one) => ["", ...described(one, report, recorded)]),
    ...(differences.length > most ? ["", `… and ${differences.length - most} more (--json has all of them)`] : []),
    "",
  ].join("\n")
}

/** One difference: where, what, and the two beside each other. */
export const described = (
  difference: Difference,
  report: Pick<ReplayReport, "journal" | "differences">,
  recorded: ReadonlyArray<JournalRecord>,
): ReadonlyArray<string> => {
  const { actual, agent, changes, expected, kind, seq, what } = difference
  const head = `#${seq} ${kind}${agent === "main" ? "" : ` of ${agent}`}: ${titles[what]}`
  const both = [
    `  recorded: ${Compare.brief(expected)}`,
    `  replayed: ${actual === undefined ? "nothing" : `${actual._tag === kind ? "" : `${actual._tag} `}${Compare.brief(actual)}`}`,
  ]
  if (kind === "RequestSent" && changes.some(({ field }) => field === "ledger")) {
    return [head, ...both, ...requestChange(difference, report, recorded).map((line) => `  ${line}`)]
  }
  return [head, ...both, ...changes.flatMap(Compare.diff).map((line) => `  ${line}`)]
}

const titles: Readonly<Record<Difference["what"], string>> = {
  changed: "other details",
  instead: "something else happened",
  missing: "it did not happen",
}

/** What of a request is not what was sent: its first message that is another one. */
const requestChange = (
  { agent, seq }: Difference,
  { journal, differences }: Pick<ReplayReport, "journal" | "differences">,
  recorded: ReadonlyArray<JournalRecord>,
): ReadonlyArray<string> => {
  const sent = messagesBefore(recorded, agent, seq)
  const built = messagesBefore(journal, agent, seq)
  const place = sent.findIndex((message, index) => JSON.stringify(message) !== JSON.stringify(built[index]))
  const at = place === -1 ? sent.length : place
  if (at === sent.length && at === built.length) {
    const same = recorded.filter(
      (one) => one.event._tag === "RequestSent" && one.seq < seq && !differences.some((two) => two.seq === one.seq),
    )
    const since = same.at(-1)?.seq
    return [
      "its hash is not that of what is recorded before it:",
      `a record ${since === undefined ? "before it" : `between #${since} and #${seq}`} has been changed since it was written`,
    ]
  }
  return Compare.diff({ field: `message ${at + 1} of ${sent.length}`, expected: sent[at], actual: built[at] })
}

const messagesBefore = (records: ReadonlyArray<JournalRecord>, agent: string, seq: number): ReadonlyArray<Message> =>
  History.fold(records.filter((one) => one.agent === agent && one.seq < seq)).messages()

/** The session as it stands: what the next request would say, which calls are open, what it came to so far. */
export const state = ({ history, reached }: ReplayReport): string => {
  const { costUsd, turns, usage } = history.totals
  const pending = history.pending()
  return [
    `At #${reached}: ${history.messages().length} messages, ${turns} replies, ${usage.output_tokens} tokens of output, $${costUsd.toFixed(4)}`,
    ...history.messages().flatMap(({ content, role }) => {
      const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content
      return blocks.map((block) => `  ${role.padEnd(9)} ${Compare.shortly(blockText(block))}`)
    }),
    pending.length === 0 ? "No call is open." : "Open calls:",
    ...pending.map(
      ({ input, started, tool }) =>
        `  ${tool} ${Compare.shortly(input)} (${started === undefined ? "not begun" : "begun, without a result"})`,
    ),
    "",
  ].join("\n")
}

const blockText = (block: Exclude<Message["content"], string>[number]): unknown => {
  switch (block.type) {
    case "text":
      return block.text
    case "tool_use":
      return `calls ${block.name} ${JSON.stringify(block.input)}`
    case "tool_result":
      return `answers ${block.tool_use_id}: ${typeof block.content === "string" ? block.content : JSON.stringify(block.content)}`
    default:
      return block.type
  }
}

/** The same for programs. */
export const json = (report: ReplayReport, withState: boolean): unknown => {
  const { compared, counts, differences, edited, history, reached, records, sessionId, skipped } = report
  return {
    identical: differences.length === 0,
    sessionId,
    records,
    reached,
    compared,
    skipped,
    ...counts,
    edited,
    first: differences[0]?.seq ?? null,
    differences: differences.map(({ actual, agent, changes, expected, kind, seq, what }) => ({
      seq,
      agent,
      kind,
      what,
      fields: changes.map(({ field }) => field),
      expected,
      actual: actual ?? null,
    })),
    ...(withState && {
      state: { messages: history.messages(), pending: history.pending(), totals: history.totals },
    }),
  }
}
