/**
 * Owns the order of a replay: one record after the other, as they stand in the journal. What came from outside is told to the session when
 * its place has come; what the session works out again is held back until its place has come, and compared with what stands there.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { BudgetExceeded } from "../kernel/Budget.ts"
import type { DurableEvent } from "../protocol/Event.ts"
import { JournalError } from "../session/JournalError.ts"
import * as Compare from "./Compare.ts"
import { roleOf } from "./Roles.ts"
import * as Score from "./Score.ts"
import { type Entry, laneOf, loopOf, type Tape } from "./Tape.ts"
import type { VirtualTime } from "./VirtualTime.ts"

/** A place at which the replay does not do what was recorded. */
export interface Difference {
  readonly seq: number
  readonly agent: string
  readonly kind: DurableEvent["_tag"]
  /** Other details, something else altogether, or nothing at all. What follows the last two cannot be compared up to the turn's end. */
  readonly what: "changed" | "instead" | "missing"
  readonly expected: DurableEvent
  readonly actual: DurableEvent | undefined
  readonly changes: ReadonlyArray<Compare.FieldChange>
}

/** One opening of the session on stage. */
export interface Stage {
  readonly life: number
  isOpen: boolean
  /** What it waits for; all of it fails when the stage is closed. */
  readonly waits: Set<Deferred.Deferred<void, JournalError>>
}

/** What the session can be told. */
export interface Player {
  readonly tell: (entry: Entry) => Effect.Effect<void, JournalError>
  readonly isThere: () => boolean
  /** Hands over a letter; returns when it was taken or waits behind a turn. */
  readonly send: (entry: Entry) => Effect.Effect<void>
  readonly interrupt: (kind: "abort" | "stop") => Effect.Effect<void>
  /** The budget that an agent's turn works on is spent. */
  readonly spend: (agent: string, spent: BudgetExceeded) => Effect.Effect<void>
  /** How much has been said that no request contains. */
  readonly said: () => number
  /** There is an agent that works the next record out. */
  readonly ready: (entry: Entry) => Effect.Effect<void, JournalError>
}

/** The recording goes no further, or is not followed any more. */
const over = new JournalError({ operation: "append", path: "", detail: "the replay ends here" })

export class Conductor {
  readonly tape: Tape
  readonly differences: Array<Difference> = []
  /** Records that were worked out again and stand where they stood. */
  compared = 0
  /** Which record a request stands for, by the id it has in the replay. */
  readonly requests = new Map<string, Entry>()
  /** The next record. */
  cursor = 0

  private readonly time: VirtualTime
  private readonly watch: (entry: Entry, event: DurableEvent) => void
  private readonly gates = new Map<number, Deferred.Deferred<void, JournalError>>()
  private readonly done = new Map<number, Deferred.Deferred<void>>()
  private readonly offered = new Set<number>()
  private settled: Array<Deferred.Deferred<void, JournalError>> = []
  private arrivals: Array<{ readonly agent: string; readonly there: Deferred.Deferred<void, JournalError> }> = []
  /** What the replay waits for: a record that has to be worked out, or that nothing moves. */
  private awaited: Entry | undefined
  private stillness: Deferred.Deferred<void> | undefined
  private lost: Deferred.Deferred<void> = Deferred.makeUnsafe()
  private closing = 0
  /** Turns that end here have been ended from outside already. */
  private readonly cut = new Set<number>()

  constructor(tape: Tape, time: VirtualTime, watch: (entry: Entry, event: DurableEvent) => void) {
    this.tape = tape
    this.time = time
    this.watch = watch
    time.onIdle = () => this.idle()
  }

  /** Whether a record may be reached that was to be worked out and never came. */
  get isLost(): boolean {
    return Deferred.isDoneUnsafe(this.lost)
  }

  /** Puts what a session wants to record where it belongs. */
  offer(
    stage: Stage,
    agent: string,
    event: DurableEvent,
    options: { readonly system: boolean },
    record: (event: DurableEvent) => Effect.Effect<void, JournalError>,
  ): Effect.Effect<void, JournalError> {
    return Effect.suspend(() => {
      if (!stage.isOpen) return Effect.void
      const letter = this.tape.letter(event)
      // What is told stands in the recording already.
      if (letter === undefined && roleOf(event) === "world") return Effect.void
      const entry = letter ?? this.tape.head(laneOf(agent, event), this.cursor, stage.life)
      if (entry === undefined) return this.wait(stage, Deferred.makeUnsafe())
      if (!Compare.isSameStep(event, entry.event)) {
        this.lose(entry, "instead", event)
        return this.wait(stage, Deferred.makeUnsafe())
      }
      this.offered.add(entry.at)
      return this.wait(stage, this.gate(entry)).pipe(
        Effect.andThen(Effect.suspend(() => record(this.compare(entry, event, options)))),
        Effect.andThen(
          Effect.suspend(() => {
            const settled = Deferred.makeUnsafe<void, JournalError>()
            // Before the conductor hears of it, who goes on at once.
            if (letter === undefined) this.settled.push(settled)
            Deferred.doneUnsafe(this.end(entry), Effect.void)
            return letter === undefined ? this.wait(stage, settled) : Effect.void
          }),
        ),
      )
    })
  }

  /** Waits until the loop of an agent is what goes on next: everything that was said before has been told. */
  arrive(stage: Stage, agent: string): Effect.Effect<void, JournalError> {
    return Effect.suspend(() => {
      const there = Deferred.makeUnsafe<void, JournalError>()
      if (this.awaited?.lane === loopOf(agent)) return Effect.void
      this.arrivals.push({ agent, there })
      return this.wait(stage, there)
    })
  }

  /** Waits until a record has been told. */
  passed(stage: Stage, at: number): Effect.Effect<void, JournalError> {
    return Effect.suspend(() => {
      if (this.cursor > at) return Effect.void
      const entry = this.tape.entries[at]
      if (entry === undefined) return this.wait(stage, Deferred.makeUnsafe())
      return Effect.andThen(this.wait(stage, Deferred.makeUnsafe(), this.end(entry)), Effect.void)
    })
  }

  /** What comes next in a lane. */
  head(stage: Stage, lane: string): Entry | undefined {
    return this.tape.head(lane, this.cursor, stage.life)
  }

  /** Plays one record. Answers whether it could. */
  readonly step = Effect.fnUntraced(function* (this: Conductor, player: Player, entry: Entry) {
    this.time.reach(entry.time)
    if (Score.isStopBefore(this.tape, entry)) yield* player.interrupt("stop")
    if (entry.plays === "told") {
      yield* player.tell(entry)
      this.pass(entry)
      return true
    }
    yield* player.ready(entry)
    if (entry.plays === "letter") {
      const next = this.tape.head(loopOf(entry.agent), entry.at, entry.life)
      if (next !== undefined && Score.isLate(this.tape, entry, next, player.said())) {
        this.arrived(entry.agent)
        if (!this.offered.has(next.at)) yield* this.still
      }
      Deferred.doneUnsafe(this.gate(entry), Effect.void)
      // An agent that is about to begin begins first; whoever ends a turn is told of a letter that came just then.
      if (!player.isThere()) this.settle()
      yield* player.send(entry)
    }
    while (!(yield* this.until(entry))) {
      if (this.isLost) return false
      // Nothing goes on, and nothing will: a person or a budget ended it, or somebody went another way.
      const cut = Score.cutOf(this.tape, entry)
      if (cut === undefined || this.cut.has(cut.end)) {
        this.lose(entry, "missing", undefined)
        return false
      }
      this.cut.add(cut.end)
      yield* cut.spent === undefined ? player.interrupt("abort") : player.spend(cut.agent, cut.spent)
    }
    this.pass(entry)
    return true
  })

  /** Ends what the stage still does. */
  close(stage: Stage, closing: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      stage.isOpen = false
      this.closing++
      this.awaited = undefined
      for (const wait of stage.waits) Deferred.doneUnsafe(wait, Effect.fail(over))
      stage.waits.clear()
      this.arrivals = []
      this.settled = []
      this.gates.clear()
      this.offered.clear()
      this.lost = Deferred.makeUnsafe()
      return Effect.ensuring(
        closing,
        Effect.sync(() => {
          this.closing--
        }),
      )
    })
  }

  /** It stands where it stood: what comes after it is next. */
  pass(entry: Entry): void {
    this.cursor = entry.at + 1
    this.offered.delete(entry.at)
    this.gates.delete(entry.at)
    const end = this.done.get(entry.at)
    if (end !== undefined) Deferred.doneUnsafe(end, Effect.void)
    this.done.delete(entry.at)
    const next = this.tape.entries[this.cursor]
    if (next !== undefined) this.time.reach(next.time)
  }

  private compare(entry: Entry, event: DurableEvent, options: { readonly system: boolean }): DurableEvent {
    if (event._tag === "RequestSent") this.requests.set(event.requestId, entry)
    const actual = Compare.adopt(event, entry.event, options)
    const changes = Compare.changes(entry.event, actual)
    this.compared++
    this.watch(entry, actual)
    if (changes.length === 0) return entry.event
    const { agent, event: expected, seq } = entry
    this.differences.push({ seq, agent, kind: expected._tag, what: "changed", expected, actual, changes })
    return actual
  }

  private lose(entry: Entry, what: "instead" | "missing", actual: DurableEvent | undefined): void {
    if (this.isLost) return
    const { agent, event: expected, seq } = entry
    this.differences.push({ seq, agent, kind: expected._tag, what, expected, actual, changes: [] })
    Deferred.doneUnsafe(this.lost, Effect.void)
  }

  /** Waits until it has been worked out: `true`, or nothing goes on, or it cannot come any more. */
  private until(entry: Entry): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      this.awaited = entry
      // Those first that were let through before: who is let through now waits until its record has been passed.
      this.settle()
      Deferred.doneUnsafe(this.gate(entry), Effect.void)
      if (entry.plays === "decided" && entry.lane === loopOf(entry.agent)) this.arrived(entry.agent)
      const stuck = Deferred.makeUnsafe<void>()
      this.stillness = stuck
      const done = Effect.as(Deferred.await(this.end(entry)), true)
      return Effect.raceAllFirst([
        done,
        Effect.as(Deferred.await(this.lost), false),
        Effect.as(Deferred.await(stuck), false),
      ])
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          this.awaited = undefined
          this.stillness = undefined
        }),
      ),
    )
  }

  /** Whoever was let through goes on: everything that stands behind it has been told. */
  settle(): void {
    const { settled } = this
    this.settled = []
    for (const one of settled) Deferred.doneUnsafe(one, Effect.void)
  }

  private arrived(agent: string): void {
    const here = this.arrivals.filter((one) => one.agent === agent)
    this.arrivals = this.arrivals.filter((one) => one.agent !== agent)
    for (const { there } of here) Deferred.doneUnsafe(there, Effect.void)
  }

  /** Until nothing goes on by itself. */
  private readonly still: Effect.Effect<void> = Effect.suspend(() => {
    this.settle()
    this.stillness = Deferred.makeUnsafe()
    return Deferred.await(this.stillness)
  })

  /** Answers whether that set something going. */
  private idle(): boolean {
    if (this.closing > 0) return this.time.skip()
    const { awaited, stillness } = this
    if (stillness === undefined || this.isLost) return false
    if (awaited !== undefined && Score.isTimed(this.tape, awaited) && this.time.skip()) return true
    this.stillness = undefined
    Deferred.doneUnsafe(stillness, Effect.void)
    return true
  }

  private wait(
    stage: Stage,
    own: Deferred.Deferred<void, JournalError>,
    other?: Deferred.Deferred<void>,
  ): Effect.Effect<void, JournalError> {
    if (!stage.isOpen) return Effect.fail(over)
    stage.waits.add(own)
    const waiting =
      other === undefined ? Deferred.await(own) : Effect.raceFirst(Deferred.await(own), Deferred.await(other))
    return Effect.ensuring(
      waiting,
      Effect.sync(() => stage.waits.delete(own)),
    )
  }

  private gate(entry: Entry): Deferred.Deferred<void, JournalError> {
    const known = this.gates.get(entry.at) ?? Deferred.makeUnsafe<void, JournalError>()
    this.gates.set(entry.at, known)
    return known
  }

  private end(entry: Entry): Deferred.Deferred<void> {
    const known = this.done.get(entry.at) ?? Deferred.makeUnsafe<void>()
    this.done.set(entry.at, known)
    return known
  }
}
