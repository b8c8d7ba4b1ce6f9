/**
 * Owns what a recording says, taken apart for those who play it back: which records are told and which are worked out, in whose work each
 * of these stands, what every request was answered with, and how every call went.
 *
 * Work that goes on by itself is a lane: the loop of an agent, or one call. Within a lane records follow each other as the code does;
 * between lanes only their order in the journal says what came first.
 */
import type { DurableEvent, EventOf } from "../protocol/Event.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import { roleOf } from "./Roles.ts"

export interface Entry {
  readonly at: number
  readonly seq: number
  readonly time: number
  readonly agent: string
  readonly event: DurableEvent
  /** As it was recorded, where something else was put in its place. */
  readonly original?: DurableEvent
  readonly plays: "told" | "letter" | "decided"
  /** Of what is decided: in whose work. */
  readonly lane: string
  /** Which opening of the session it belongs to. */
  readonly life: number
}

/** The agent of a session itself. */
export const main = "main"

export const loopOf = (agent: string): string => `loop ${agent}`
export const callOf = (agent: string, toolUseId: string): string => `call ${agent} ${toolUseId}`

/** In whose work an event stands that the loop of an agent, or one of its calls, records. */
export const laneOf = (agent: string, event: DurableEvent): string => {
  switch (event._tag) {
    case "PermissionDecided":
    case "ToolStarted":
    case "ToolEnded":
    case "SubagentStarted":
    case "SubagentEnded":
      return callOf(agent, event.toolUseId)
    default:
      return loopOf(agent)
  }
}

export class Tape {
  readonly entries: ReadonlyArray<Entry>
  private readonly lanes = new Map<string, Array<Entry>>()
  private readonly letters = new Map<string, Entry>()
  /** Calls that the model made: whatever else is called so was sent out by something else. */
  private readonly made = new Set<string>()

  constructor(records: ReadonlyArray<JournalRecord>, edits: ReadonlyMap<number, DurableEvent> = new Map()) {
    const states = new Map<string, State>()
    let life = 0
    this.entries = records.map(({ agent, event: recorded, seq, time }, at): Entry => {
      const edited = edits.get(seq)
      const event = edited ?? recorded
      if (event._tag === "SessionStarted" && agent === main) life++
      if (event._tag === "BlockReceived" && event.block.type === "tool_use")
        this.made.add(callOf(agent, event.block.id))
      const state = states.get(agent) ?? { prompts: new Set(), inTurn: false, inRound: false }
      states.set(agent, state)
      const plays = playsOf(agent, event, state)
      follow(state, event, plays)
      const entry: Entry = {
        at,
        seq,
        time,
        agent,
        event,
        ...(edited !== undefined && { original: recorded }),
        plays,
        lane: plays === "decided" ? laneOf(agent, event) : plays === "letter" ? `letters ${agent}` : "",
        life,
      }
      if (plays === "decided") this.add(entry)
      if (event._tag === "PromptReceived" && plays === "letter") this.letters.set(event.uuid, entry)
      return entry
    })
  }

  private add(entry: Entry): void {
    const lane = this.lanes.get(entry.lane)
    if (lane === undefined) this.lanes.set(entry.lane, [entry])
    else lane.push(entry)
  }

  letter(event: DurableEvent): Entry | undefined {
    return event._tag === "PromptReceived" ? this.letters.get(event.uuid) : undefined
  }

  /** The model made this call; anything else that is called so was sent out from elsewhere. */
  isCall(agent: string, toolUseId: string): boolean {
    return this.made.has(callOf(agent, toolUseId))
  }

  /** What stands in a lane from a place on, as far as a life goes. */
  rest(lane: string, from: number, life: number): ReadonlyArray<Entry> {
    const all = this.lanes.get(lane) ?? []
    const found: Array<Entry> = []
    for (let i = firstFrom(all, from); i < all.length; i++) {
      const entry = all[i]
      if (entry === undefined || entry.life !== life) break
      found.push(entry)
    }
    return found
  }

  /** The first of them. */
  head(lane: string, from: number, life: number): Entry | undefined {
    const all = this.lanes.get(lane) ?? []
    const entry = all[firstFrom(all, from)]
    return entry?.life === life ? entry : undefined
  }

  /** What stood in the lane before. */
  before(entry: Entry): Entry | undefined {
    const all = this.lanes.get(entry.lane) ?? []
    return all[firstFrom(all, entry.at) - 1]
  }

  /** What the running turn of an agent still has before it. */
  turn(agent: string, from: number, life: number): ReadonlyArray<Entry> {
    const lane = this.lanes.get(loopOf(agent)) ?? []
    const found: Array<Entry> = []
    for (let i = firstFrom(lane, from); i < lane.length; i++) {
      const entry = lane[i]
      if (entry === undefined || entry.life !== life) break
      found.push(entry)
      if (entry.event._tag === "TurnEnded") break
    }
    return found
  }

  /** How the running turn ended, if it did. */
  ending(agent: string, from: number, life: number): EventOf<"TurnEnded"> | undefined {
    const last = this.turn(agent, from, life).at(-1)?.event
    return last?._tag === "TurnEnded" ? last : undefined
  }
}

const firstFrom = (all: ReadonlyArray<Entry>, from: number): number => {
  let low = 0
  let high = all.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((all[middle]?.at ?? 0) < from) low = middle + 1
    else high = middle
  }
  return low
}

/** Where an agent stands. */
interface State {
  readonly prompts: Set<string>
  inTurn: boolean
  /** The newest reply made calls, and the loop has not gone on from them. */
  inRound: boolean
}

const playsOf = (agent: string, event: DurableEvent, { inRound, inTurn, prompts }: State): Entry["plays"] => {
  const role = roleOf(event)
  if (event._tag !== "PromptReceived") return role === "decision" ? "decided" : "told"
  const { harness, promptId, toolUseId } = event
  // What an agent is sent out for comes with it.
  if (harness !== true) return agent === main ? "letter" : "told"
  // A notice comes with a prompt of its own.
  if (!prompts.has(promptId)) return "letter"
  // The words of a tool or of its hooks, and of tasks that an earlier life left; all else is said by the loop.
  return toolUseId !== undefined || inRound || !inTurn ? "told" : "decided"
}

const follow = (state: State, event: DurableEvent, plays: Entry["plays"]): void => {
  switch (event._tag) {
    case "PromptReceived":
      state.prompts.add(event.promptId)
      state.inTurn ||= plays === "letter" || event.harness !== true
      return
    case "RequestSent":
      state.inTurn = true
      state.inRound = false
      return
    case "BlockReceived":
      state.inRound ||= event.block.type === "tool_use"
      return
    case "TransitionTaken":
      state.inRound &&= event.transition === "stream_sealed"
      return
    case "TurnEnded":
    case "SessionStarted":
      state.inTurn = false
      state.inRound = false
      return
    default:
      return
  }
}
