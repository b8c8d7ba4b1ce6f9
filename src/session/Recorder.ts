/**
 * Owns the one way something becomes part of a session: journaled first, then folded into the history, then shown.
 *
 * Whoever watches is never waited for. A watcher gets every durable event; one that falls far behind loses streamed
 * chunks and progress, whose content a durable event repeats.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { type DurableEvent, type Event, isDurable } from "../protocol/Event.ts"
import * as History from "./History.ts"
import type { Journal } from "./Journal.ts"
import { JournalError } from "./JournalError.ts"
import type { Transcript } from "./Transcript.ts"

/** How far a watcher may lag before it loses ephemeral events. */
const patience = 10_000

export interface RecorderShape {
  readonly sessionId: string
  readonly journal: Journal
  readonly transcript: Transcript
  /** The fold of everything recorded so far. */
  readonly history: History.History
  /** Returns once the event cannot be lost any more to the end of this process. */
  readonly emit: (event: Event) => Effect.Effect<void, JournalError>
  /** Shows an event that cannot be journaled: the one that says so. */
  readonly show: (event: Event) => Effect.Effect<void>
  /** Everything from now on; the stream ends with the session. */
  readonly watch: Effect.Effect<Stream.Stream<Event>, never, Scope.Scope>
}

export class Recorder extends Context.Service<Recorder, RecorderShape>()("troupe/session/Recorder") {}

export const make = Effect.fnUntraced(function* (options: {
  readonly agent: string
  readonly journal: Journal
  readonly transcript: Transcript
  readonly history: History.History
  /** Hears of each event when it is in all of them. */
  readonly recorded?: (event: DurableEvent) => Effect.Effect<void>
}) {
  const { agent, journal, transcript, history, recorded } = options
  const one = yield* Semaphore.make(1)
  const watchers = new Set<Queue.Queue<Event, Cause.Done>>()

  const publish = (event: Event) => {
    for (const watcher of watchers) {
      if (isDurable(event) || Queue.sizeUnsafe(watcher) < patience) Queue.offerUnsafe(watcher, event)
    }
  }

  /** Going back is rare, and what was said before may have been compacted since: only the journal has it. */
  const refold = Effect.suspend(() => {
    const folding = History.folding(agent)
    return Effect.map(journal.replay(folding), () => history.become(folding.current()))
  })

  yield* Effect.addFinalizer(() => Effect.sync(() => watchers.forEach(Queue.endUnsafe)))

  return Recorder.of({
    sessionId: journal.sessionId,
    journal,
    transcript,
    history,
    emit: (event) => {
      if (!isDurable(event)) return Effect.sync(() => publish(event))
      // One at a time and to the end: journal, history and watchers must agree on the order.
      return one
        .withPermit(
          Effect.flatMap(journal.append(agent, event), (record) =>
            Effect.andThen(
              event._tag === "Rewound" ? refold : Effect.sync(() => history.apply(event)),
              Effect.suspend(() => {
                publish(event)
                const written = transcript.write(record)
                return recorded === undefined
                  ? written
                  : Effect.andThen(
                      written,
                      Effect.suspend(() => recorded(event)),
                    )
              }),
            ),
          ),
        )
        .pipe(Effect.uninterruptible)
    },
    show: (event) => Effect.sync(() => publish(event)),
    watch: Effect.gen(function* () {
      const queue = yield* Queue.unbounded<Event, Cause.Done>()
      yield* Effect.acquireRelease(
        Effect.sync(() => watchers.add(queue)),
        () => Effect.sync(() => watchers.delete(queue)),
      )
      return Stream.fromQueue(queue)
    }),
  })
})

/** Nothing is kept and nobody watches: for a look at what a session would do. */
export const nowhere = (sessionId: string): RecorderShape => ({
  sessionId,
  journal: {
    sessionId,
    path: "",
    isEmpty: true,
    problems: [],
    replay: () => Effect.void,
    position: () => undefined,
    reread: Effect.succeed({ path: "", records: [], problems: [] }),
    append: () => Effect.fail(new JournalError({ operation: "append", path: "", detail: "nothing is recorded here" })),
    sync: Effect.void,
  },
  transcript: { path: "", write: () => Effect.void },
  history: History.from([]),
  emit: () => Effect.void,
  show: () => Effect.void,
  watch: Effect.succeed(Stream.empty),
})
