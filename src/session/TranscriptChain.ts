/**
 * Owns the way through a foreign transcript: which of its lines are the conversation, and in which order.
 *
 * A transcript is a tree. The conversation is the path from the newest leaf back to a beginning; calls that ran side by
 * side hang beside that path and are put back. Where a parent is missing the line before takes its place: an order that
 * may be a little wrong is better than half a conversation.
 */
import { isChained, objectIn, stringIn, type TranscriptLine } from "./TranscriptFile.ts"

type Chained = TranscriptLine & { readonly uuid: string }

export interface Chain {
  readonly lines: ReadonlyArray<TranscriptLine>
  readonly problems: ReadonlyArray<string>
}

export const follow = (all: ReadonlyArray<TranscriptLine>): Chain => {
  const problems: Array<string> = []
  const chained = all.filter(isChained)
  const parents = new Parents(chained)
  const path: Array<Chained> = []
  const seen = new Set<string>()
  let here = chained.findLast((line) => line.type === "user" || line.type === "assistant")
  while (here !== undefined) {
    path.push(here)
    seen.add(here.uuid)
    const next = parents.of(here)
    if (next._tag === "Found" && !seen.has(next.line.uuid)) {
      here = next.line
      continue
    }
    if (next._tag === "Root") break
    const before = parents.before(here, seen)
    problems.push(
      `line ${here.line}: its parent ${next._tag === "Found" ? "comes after it" : `${next.uuid} is missing`}; ${before === undefined ? "the conversation begins here" : `went on with line ${before.line}`}`,
    )
    here = before
  }
  return { lines: besides(path.toReversed(), seen, chained), problems }
}

type Parent =
  | { readonly _tag: "Root" }
  | { readonly _tag: "Found"; readonly line: Chained }
  | { readonly _tag: "Missing"; readonly uuid: string }

class Parents {
  private readonly byUuid = new Map<string, Chained>()
  private readonly positions = new Map<string, number>()
  /** Where a compaction hung lines it kept. */
  private readonly moved = new Map<string, string>()
  private readonly chained: ReadonlyArray<Chained>

  constructor(chained: ReadonlyArray<Chained>) {
    this.chained = chained
    for (const [at, line] of chained.entries()) {
      this.byUuid.set(line.uuid, line)
      this.positions.set(line.uuid, at)
    }
    for (const line of chained) if (isBoundary(line)) this.keepSegment(line)
  }

  /** The kept lines stand before the boundary in the file and behind its summary in the conversation. */
  private keepSegment(boundary: Chained): void {
    const metadata = objectIn(boundary.value, "compactMetadata")
    const segment = metadata === undefined ? undefined : objectIn(metadata, "preservedSegment")
    if (segment === undefined) return
    const head = stringIn(segment, "headUuid")
    const anchor = stringIn(segment, "anchorUuid")
    const tail = stringIn(segment, "tailUuid")
    if (head === undefined || anchor === undefined || tail === undefined) return
    if (!this.byUuid.has(head) || !this.byUuid.has(anchor) || !this.byUuid.has(tail)) return
    for (const line of this.chained) if (line.parentUuid === anchor) this.moved.set(line.uuid, tail)
    this.moved.set(head, anchor)
  }

  of(line: Chained): Parent {
    const uuid = this.moved.get(line.uuid) ?? line.parentUuid
    if (uuid === undefined) return { _tag: "Root" }
    const found = this.byUuid.get(uuid)
    return found === undefined ? { _tag: "Missing", uuid } : { _tag: "Found", line: found }
  }

  before(line: Chained, seen: ReadonlySet<string>): Chained | undefined {
    return this.chained.slice(0, this.positions.get(line.uuid) ?? 0).findLast((other) => !seen.has(other.uuid))
  }
}

export const isBoundary = (line: TranscriptLine): boolean =>
  line.type === "system" && line.value["subtype"] === "compact_boundary"

/** Puts back the other lines of the same replies, and the results of their calls, behind the reply they belong to. */
const besides = (
  path: ReadonlyArray<Chained>,
  seen: ReadonlySet<string>,
  chained: ReadonlyArray<Chained>,
): ReadonlyArray<TranscriptLine> => {
  const siblings = new Map<string, Array<Chained>>()
  const results = new Map<string, Array<Chained>>()
  for (const line of chained) {
    if (seen.has(line.uuid)) continue
    const id = messageIdOf(line)
    if (id !== undefined) push(siblings, id, line)
    for (const call of idsOf(line, "tool_result", "tool_use_id")) push(results, call, line)
  }
  const ordered: Array<TranscriptLine> = []
  const placed = new Set<string>(seen)
  const answer = (line: TranscriptLine) => {
    for (const call of idsOf(line, "tool_use", "id")) {
      for (const result of results.get(call) ?? []) {
        if (placed.has(result.uuid)) continue
        placed.add(result.uuid)
        ordered.push(result)
      }
    }
  }
  for (const [at, line] of path.entries()) {
    ordered.push(line)
    const id = messageIdOf(line)
    const next = path[at + 1]
    const last = id === undefined || next === undefined || messageIdOf(next) !== id
    const others = last && id !== undefined ? (siblings.get(id) ?? []).filter((other) => !placed.has(other.uuid)) : []
    for (const other of others) {
      placed.add(other.uuid)
      ordered.push(other)
    }
    if (!last) continue
    // The results of the whole reply come behind all of its lines.
    for (let from = at; from >= 0; from--) {
      const mate = path[from]
      if (mate === undefined || (from !== at && messageIdOf(mate) !== id)) break
      answer(mate)
    }
    for (const other of others) answer(other)
  }
  return ordered
}

const push = (map: Map<string, Array<Chained>>, key: string, line: Chained): void => {
  const list = map.get(key)
  if (list === undefined) map.set(key, [line])
  else list.push(line)
}

const messageIdOf = (line: TranscriptLine): string | undefined => {
  const message = line.type === "assistant" ? objectIn(line.value, "message") : undefined
  return message === undefined ? undefined : stringIn(message, "id")
}

const idsOf = (line: TranscriptLine, type: string, key: string): ReadonlyArray<string> => {
  const content = objectIn(line.value, "message")?.["content"]
  if (!Array.isArray(content)) return []
  return content.flatMap((block: unknown) => {
    if (typeof block !== "object" || block === null || !("type" in block) || block.type !== type) return []
    const id: unknown = Object.getOwnPropertyDescriptor(block, key)?.value
    return typeof id === "string" ? [id] : []
  })
}
