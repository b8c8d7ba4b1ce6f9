/**
 * Owns what a session is, beside what was said in it: its name and place, how it is controlled, what every request begins with, what it has
 * cost. A fold over records of which none is ever taken back.
 */
import type { TextBlock } from "../protocol/Content.ts"
import type { DurableEvent } from "../protocol/Event.ts"
import * as Usage from "../protocol/Usage.ts"
import type { ControlsState } from "./Controls.ts"

export interface Totals {
  readonly usage: Usage.Usage
  readonly costUsd: number
  /** Replies of the model. */
  readonly turns: number
}

/** The part of every request that comes before the messages. */
export interface Latched {
  readonly system: ReadonlyArray<TextBlock>
  /** What the descriptions of tools list, by the tool's name. */
  readonly listings: Readonly<Record<string, string>>
}

const nothing: Totals = { usage: Usage.none, costUsd: 0, turns: 0 }

export class About {
  sessionId: string | undefined
  /** The sessions that this one is a copy of, the first one first. */
  elders: ReadonlyArray<string> = []
  /** Where it was handed over to, if it is not here any more. */
  goneTo: string | undefined
  cwd: string | undefined
  /** Where the model believes to work: it was told so at the beginning, or when the session had moved. */
  toldCwd: string | undefined
  /** The same wherever the session goes on. */
  traceId: string | undefined
  controls: ControlsState | undefined
  title: string | undefined
  tags: ReadonlyArray<string> = []
  /** What every request begins with, if that has been settled. */
  latched: Latched | undefined
  /** Of this session alone, not of the one it was forked from. */
  totals: Totals = nothing

  /** What this record says about the session. */
  note(event: DurableEvent): void {
    switch (event._tag) {
      case "SessionHandedOver":
        this.goneTo = event.to
        return
      case "SessionStarted":
        this.goneTo = undefined
        if (event.forkedFrom !== undefined) this.elders = [...this.elders, event.forkedFrom.sessionId]
        // A copy has not spent what its original spent.
        if (this.sessionId !== event.sessionId) this.totals = nothing
        this.sessionId = event.sessionId
        this.cwd = event.cwd
        this.traceId ??= event.traceId ?? traceOf(event.sessionId)
        return
      case "SessionTitled":
        this.title = event.title
        return
      case "SessionTagged":
        this.tags = event.tags
        return
      case "ControlsChanged":
        this.controls = {
          model: event.model,
          permissionMode: event.permissionMode,
          ...(event.effort !== undefined && { effort: event.effort }),
        }
        return
      case "PromptLatched":
        this.toldCwd = this.cwd
        this.latched = { system: event.system, listings: event.listings }
        return
      case "ReplyEnded":
        this.totals = {
          usage: Usage.add(this.totals.usage, event.usage),
          costUsd: this.totals.costUsd + (event.costUsd ?? 0),
          turns: this.totals.turns + 1,
        }
        return
    }
  }
}

/** Of a session that began before there were any. */
export const traceOf = (sessionId: string): string => sessionId.replaceAll("-", "").toLowerCase()
