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
import { type Event, isDurable } from "../protocol/Event.ts"
import * as CacheLog from "./CacheLog.ts"
import type { CacheRecent } from "./CacheRecent.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as History from "./History.ts"
import type { Journal } from "./Journal.ts"
import { JournalError } from "./JournalError.ts"
import type { Reader } from "./JournalReading.ts"
import * as Transcript from "./Transcript.ts"
import * as Undone from "./Undone.ts"

/** How far a watcher may lag before it loses ephemeral events. */
const patience = 10_000

export interface RecorderShape {
  readonly sessionId: string
  readonly journal: Journal
  readonly transcript: Transcript.Transcript
  /** The fold of everything recorded so far. */
  readonly history: History.History
  /** What its requests found in the service's cache. */
  readonly cache: CacheLog.CacheLog
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
  readonly transcript: Transcript.Transcript
  readonly history: History.History
  /** The requests before, as far as its cache log wants to know them. */
  readonly requests?: CacheRecent
  /** Hears of each record when it is in all of them. */
  readonly recorded?: (record: JournalRecord) => Effect.Effect<void>
}) {
  const { agent, journal, transcript, history, recorded, requests } = options
  const one = yield* Semaphore.make(1)
  const watchers = new Set<Queue.Queue<Event, Cause.Done>>()
  const cache = requests?.log(textsOf(journal)) ?? new CacheLog.CacheLog(textsOf(journal))

  const publish = (event: Event) => {
    for (const watcher of watchers) {
      if (isDurable(event) || Queue.sizeUnsafe(watcher) < patience) Queue.offerUnsafe(watcher, event)
    }
  }

  /** Going back is rare, and what was said before may have been compacted since: only the journal has it. */
  const refold = Effect.suspend(() => {
    const folding = History.folding(agent)
    const trail = transcript.retrace()
    let isUndone = Undone.of([])
    const reader: Reader = {
      restart: (landmarks) => {
        isUndone = Undone.of(landmarks.filter((record) => record.agent === agent))
        return folding.restart(landmarks)
      },
      take: (record) => {
        folding.take(record)
        if (record.agent === agent && !isUndone(record.seq)) trail.take(record)
      },
    }
    return Effect.map(journal.replay(reader), () => {
      history.become(folding.current())
      trail.land()
    })
  })

  yield* Effect.addFinalizer(() => Effect.sync(() => watchers.forEach(Queue.endUnsafe)))

  return Recorder.of({
    sessionId: journal.sessionId,
    journal,
    transcript,
    history,
    cache,
    emit: (event) => {
      if (!isDurable(event)) return Effect.sync(() => publish(event))
      // One at a time and to the end: journal, history and watchers must agree on the order.
      return one
        .withPermit(
          Effect.flatMap(journal.append(agent, event), (record) =>
            Effect.andThen(
              event._tag === "Rewound" ? refold : Effect.sync(() => history.apply(event)),
              Effect.suspend(() => {
                cache.apply(event, record.time)
                publish(event)
                const written = transcript.write(record)
                return recorded === undefined
                  ? written
                  : Effect.andThen(
                      written,
                      Effect.suspend(() => recorded(record)),
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

const texts = new WeakMap<Journal, Map<string, string>>()

/** What the layers of prompts said, by their hash: the agents of a session keep each once. */
const textsOf = (journal: Journal): Map<string, string> => {
  const known = texts.get(journal) ?? new Map<string, string>()
  texts.set(journal, known)
  return known
}

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
  transcript: Transcript.none,
  history: History.from([]),
  cache: new CacheLog.CacheLog(),
  emit: () => Effect.void,
  show: () => Effect.void,
  watch: Effect.succeed(Stream.empty),
})
