/**
 * Owns what a session that travels says of its hooks: which there were, in which file, and the hash of what they do. They are not taken
 * along: what runs where it arrives is what the files there say, and what a person there has agreed to.
 */
import * as Schema from "effect/Schema"
import * as Section from "../session/TeleportSection.ts"
import type { Explained } from "./HookIndex.ts"

const Hook = Schema.Struct({
  event: Schema.String,
  kind: Schema.String,
  matcher: Schema.String,
  scope: Schema.String,
  source: Schema.String,
  hash: Schema.String,
  runs: Schema.Boolean,
})

/** `here`: the hooks of the place it leaves, or of the one it arrives at. */
export const hooks = (here: ReadonlyArray<Explained>, hash: (text: string) => string): Section.Section => {
  const described = here.map(({ event, kind, matcher, runs, scope, source, what }) => ({
    event,
    kind,
    matcher,
    scope,
    source,
    hash: hash(JSON.stringify([event, kind, matcher, what])),
    runs,
  }))
  return Section.make("hooks", Schema.Array(Hook), {
    pack: () => described,
    arrived: (there) => {
      const known = new Map(described.map((hook) => [hook.hash, hook]))
      return there
        .filter(({ runs }) => runs)
        .flatMap(({ event, hash, kind, source }) => {
          const own = known.get(hash)
          const what = `The ${kind} hook of ${event} (${source})`
          if (own === undefined) return [`${what} is not there here and does not run.`]
          return own.runs ? [] : [`${what} waits for your agreement here: troupe config trust`]
        })
    },
  })
}
