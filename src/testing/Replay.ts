/** Owns replays in tests: a recording, exported from a session that really was, has to go as it went. */
import * as Effect from "effect/Effect"
import * as Fixture from "../replay/Fixture.ts"
import { type ReplayOptions, run } from "../replay/Replay.ts"

export type { Difference, ReplayOptions, ReplayReport } from "../replay/Replay.ts"
export { NotReplayable } from "../replay/Replay.ts"

/** Runs records again, as `Journal` has them. */
export const records = run

/** Runs a recording of `troupe replay export` again: the JSON of its file. */
export const fixture = (recording: unknown, options?: ReplayOptions) =>
  Effect.flatMap(Fixture.records(recording), (found) => run(found, options))
