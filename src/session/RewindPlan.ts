/** Owns what the journal says about going back: the points there are, and what has become of each file since one of them. Pure. */
import { plainText } from "../protocol/Content.ts"
import type { EventOf, FileState } from "../protocol/Event.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as Undone from "./Undone.ts"

/** Something to go back to before: a prompt, or an earlier going back. */
export interface Checkpoint {
  /** The prompt's id; of a going back, its own. */
  readonly id: string
  /** The message's id, as clients know it. */
  readonly uuid: string
  readonly kind: "prompt" | "rewind"
  readonly seq: number
  /** Milliseconds. */
  readonly time: number
  readonly text: string
  /** The files that were changed for it. */
  readonly files: ReadonlyArray<string>
  /** It is a part of the conversation as it stands; otherwise that has gone back to before it. */
  readonly current: boolean
}

/** What has become of a file since a point. */
export interface Drift {
  readonly path: string
  /** As it was at the point; absent: it was not there. */
  readonly was: FileState | undefined
  /** As the session left it. */
  readonly left: FileState | undefined
  /** Somebody else changed it in between, and going back loses that. */
  readonly interrupted: boolean
}

type Records = ReadonlyArray<JournalRecord>

const main = "main"

/** In their order. */
export const points = (records: Records): ReadonlyArray<Checkpoint> => {
  const isUndone = Undone.of(records)
  // What the harness does itself is typed, too, and is nothing that was said.
  const done = new Set(
    records.flatMap(({ event }) => (event._tag === "PromptRefused" && event.done === true ? [event.promptId] : [])),
  )
  const files = new Map<string, Set<string>>()
  for (const { event } of records) {
    if (event._tag !== "Checkpointed") continue
    const owner = ownerOf(event)
    const paths = files.get(owner) ?? new Set()
    for (const { path } of event.changes) paths.add(path)
    files.set(owner, paths)
  }
  const point = (
    record: JournalRecord,
    id: string,
    uuid: string,
    kind: Checkpoint["kind"],
    text: string,
  ): Checkpoint => {
    const { seq, time } = record
    return { id, uuid, kind, seq, time, text, files: [...(files.get(id) ?? [])].toSorted(), current: !isUndone(seq) }
  }
  return records.flatMap((record) => {
    const { agent, event } = record
    if (agent !== main) return []
    if (event._tag === "PromptReceived" && event.harness !== true && !done.has(event.promptId)) {
      return [point(record, event.promptId, event.uuid, "prompt", plainText(event.content).trim())]
    }
    if (event._tag === "Rewound") return [point(record, event.uuid, event.uuid, "rewind", "the conversation went back")]
    if (event._tag === "Checkpointed" && event.cause === "rewind") {
      return [point(record, event.uuid, event.uuid, "rewind", "files went back")]
    }
    return []
  })
}

const ownerOf = (event: EventOf<"Checkpointed">): string => (event.cause === "rewind" ? event.uuid : event.promptId)

/** The files that were changed since a point, by path. */
export const since = (records: Records, from: Checkpoint): ReadonlyArray<Drift> => {
  const begun = new Map(points(records).map(({ id, seq }) => [id, seq]))
  const drifts = new Map<string, Drift>()
  for (const { event, seq } of records) {
    if (event._tag !== "Checkpointed" || (begun.get(ownerOf(event)) ?? seq) < from.seq) continue
    for (const { after, before, path } of event.changes) {
      const known = drifts.get(path)
      drifts.set(path, {
        path,
        was: known === undefined ? before : known.was,
        left: after,
        interrupted: known !== undefined && (known.interrupted || !isSameState(known.left, before)),
      })
    }
  }
  return [...drifts.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/** As far as it can be told: what was not kept is only measured. */
export const isSameState = (a: FileState | undefined, b: FileState | undefined): boolean => {
  if (a === undefined || b === undefined) return a === b
  if (a.size !== b.size) return false
  const isComparable = isHash(a.content) && isHash(b.content)
  return isComparable ? a.content === b.content : true
}

const isHash = (content: string): boolean => content !== "" && !content.startsWith("git:")

/** The point that a person or a program names: its number in the list from 1, or one of its ids, or the beginning of one. */
export const find = (all: ReadonlyArray<Checkpoint>, named: string): Checkpoint | undefined => {
  if (/^\d{1,6}$/.test(named)) return all[Number(named) - 1]
  const exact = all.find(({ id, uuid }) => id === named || uuid === named)
  if (exact !== undefined || named.length < 6) return exact
  const beginning = all.filter(({ id }) => id.startsWith(named))
  return beginning.length === 1 ? beginning[0] : undefined
}
