/**
 * Owns the waiting room of one actor: a bounded line of work, a fast lane for control, and the senders who wait for a place.
 */
import * as Effect from "effect/Effect"

/** Hears whether a letter that had to wait was let in (`false`: the mailbox closed first). */
export type Admission = (admitted: boolean) => void

const nothing = () => {}

/** One reader (the actor), many writers. Plain and synchronous: nothing can slip in between two of its steps. */
export class Mailbox<L> {
  readonly capacity: number
  state: "open" | "draining" | "closed" = "open"
  private readonly work: Array<L> = []
  private control: Array<L> | undefined
  private parked: Map<L, Admission> | undefined
  private wake: (() => void) | undefined

  constructor(capacity: number) {
    this.capacity = capacity
  }

  /** Takes the letter in, or answers `false` when it is full or no longer open. */
  offer(letter: L): boolean {
    return this.state === "open" && this.work.length < this.capacity && this.push(letter)
  }

  /** Takes the letter in even when full: for an actor that writes to itself and would otherwise wait for itself. */
  push(letter: L): boolean {
    if (this.state !== "open") return false
    this.work.push(letter)
    this.ring()
    return true
  }

  /** Takes the letter into the fast lane, which has no bound: control never waits. */
  pushControl(letter: L): boolean {
    if (this.state !== "open") return false
    ;(this.control ??= []).push(letter)
    this.ring()
    return true
  }

  /** Waits in line for a place. */
  park(letter: L, admission: Admission = nothing): void {
    if (this.state !== "open") admission(false)
    else if (this.offer(letter)) admission(true)
    else (this.parked ??= new Map()).set(letter, admission)
  }

  /** Takes back a letter that nobody has read yet. */
  withdraw(letter: L): void {
    if (this.parked?.delete(letter)) return
    for (const lane of [this.work, this.control]) {
      const at = lane?.indexOf(letter) ?? -1
      if (at >= 0) lane?.splice(at, 1)
    }
    this.admit()
  }

  /** The next letter, control first. */
  poll(): L | undefined {
    if (this.control !== undefined && this.control.length > 0) return this.control.shift()
    const letter = this.work.shift()
    this.admit()
    return letter
  }

  /** Waits until something happened; the reader polls again. It is woken by the scheduler, so no sender's stack runs it. */
  arrival(): Effect.Effect<void> {
    return Effect.withFiber((fiber) =>
      Effect.callback((resume) => {
        if (this.depth > 0 || this.state !== "open") return resume(Effect.void)
        this.wake = () => fiber.currentDispatcher.scheduleTask(() => resume(Effect.void), 0)
      }),
    )
  }

  /** Letters not yet read, those of waiting senders included. */
  get depth(): number {
    return this.work.length + (this.control?.length ?? 0) + (this.parked?.size ?? 0)
  }

  /** Lets nobody in any more; what was sent before is still read. */
  drain(): void {
    if (this.state !== "open") return
    this.state = "draining"
    this.ring()
  }

  /** Closes for good, turns waiting senders away and gives back the letters that were let in but will not be read. */
  close(): ReadonlyArray<L> {
    if (this.state === "closed") return []
    this.state = "closed"
    const parked = this.parked
    const unread = [...(this.control ?? []), ...this.work]
    this.work.length = 0
    this.control = this.parked = undefined
    parked?.forEach((admission) => admission(false))
    this.ring()
    return unread
  }

  private ring(): void {
    const wake = this.wake
    this.wake = undefined
    wake?.()
  }

  private admit(): void {
    if (this.parked === undefined) return
    for (const [letter, admission] of this.parked) {
      if (this.work.length >= this.capacity) return
      this.parked.delete(letter)
      this.work.push(letter)
      admission(true)
    }
  }
}
