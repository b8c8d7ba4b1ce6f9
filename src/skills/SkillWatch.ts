/** Owns keeping a session's skills in step with their files: every change is seen at once, unless a hook keeps it out. */
import * as Effect from "effect/Effect"
import type * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { type Change, Watch, type WatchError } from "../platform/Watch.ts"

/** A save is one or two events: waiting longer would only be felt. */
const settleMs = 20

export interface Watched {
  /** Where skills are looked for now. */
  readonly directories: () => ReadonlyArray<string>
  /** What plugins bring; the first of it is known. */
  readonly registrations: Stream.Stream<unknown>
  /** Other directories count from now on. */
  readonly moved: Queue.Dequeue<void>
  readonly reload: Effect.Effect<unknown>
  /** Whether a change of this file stays out of the session; nobody asks unless told. */
  readonly keepsOut: ((file: string) => Effect.Effect<boolean>) | undefined
}

/** Until interrupted. */
export const follow = ({ directories, keepsOut, moved, registrations, reload }: Watched) =>
  Effect.gen(function* () {
    const watch = yield* Watch
    const bursts = yield* watch.open(directories(), { recursive: true, settleMs })
    // What changed before the watch began.
    yield* reload
    // All of them are asked about; what came together is looked at together, or not at all.
    const counts = (burst: ReadonlyArray<Change>) =>
      keepsOut === undefined
        ? Effect.succeed(true)
        : Effect.map(Effect.forEach(subjectsOf(burst), keepsOut), (out) => !out.includes(true))
    const registered = Stream.drop(registrations, 1)
    const changes: Stream.Stream<unknown, WatchError> = Stream.merge(Stream.filterEffect(bursts, counts), registered)
    const reloads = Stream.mapEffect(changes, () => Effect.as(reload, true))
    const elsewhere = Stream.map(Stream.fromQueue(moved), () => false)
    yield* Stream.runDrain(Stream.takeWhile(Stream.merge(reloads, elsewhere), (stays) => stays))
  }).pipe(
    Effect.scoped,
    Effect.forever,
    Effect.catch((error) => Effect.logWarning(error.message)),
  )

/** A change of branch is no reason to ask about hundreds of files one by one. */
const mostAsked = 20

/** What a burst is about, for people: the skills rather than their directories. */
const subjectsOf = (burst: ReadonlyArray<Change>): ReadonlyArray<string> => {
  const paths = burst.map(({ path }) => path)
  const skills = paths.filter((path) => /\.md$/i.test(path)).slice(0, mostAsked)
  return skills.length > 0 ? skills : paths.slice(0, 1)
}
