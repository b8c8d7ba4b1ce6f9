/** Owns how a person sees how full a conversation is: a bar, and what takes the room. */
import type { Health } from "../protocol/Compaction.ts"
import type { Tone, ViewLine } from "./ToolView.ts"

const width = 50

/** One letter a part of what fits. */
const bar = (health: Health): string => {
  const parts: ReadonlyArray<readonly [letter: string, tokens: number]> = [
    ["s", health.systemTokens],
    ["t", health.toolTokens],
    ["p", health.preservedTokens],
    ["c", health.compressibleTokens],
    ["e", health.ephemeralTokens],
  ]
  const counted = parts.reduce((sum, [, tokens]) => sum + tokens, 0)
  // The parts are estimates; their share is of what the service counts.
  const scale = counted === 0 ? 0 : health.totalTokens / counted
  const cells = parts.map(([letter, tokens]) =>
    letter.repeat(Math.round((tokens * scale * width) / Math.max(1, health.windowTokens))),
  )
  return cells.join("").slice(0, width).padEnd(width, "·")
}

export const view = (health: Health): ReadonlyArray<ViewLine> => {
  const { drift, stalenessDistribution: age } = health
  const tone: Tone = health.totalTokens >= health.compactsAt ? "bad" : health.freePercent < 30 ? "warning" : "quiet"
  return [
    { tone, text: `[${bar(health)}] ${health.freePercent} % free` },
    quiet(
      `about ${tokens(health.totalTokens)} of ${tokens(health.windowTokens)} tokens; put shorter at ${tokens(health.compactsAt)}`,
    ),
    quiet(
      `s system text ${tokens(health.systemTokens)}, t tools ${tokens(health.toolTokens)}, messages ${tokens(health.messageTokens)}:`,
    ),
    quiet(
      `p kept ${tokens(health.preservedTokens)}, c may be put shorter ${tokens(health.compressibleTokens)}, e of use only once ${tokens(health.ephemeralTokens)}`,
    ),
    quiet(
      `last come back to: just now ${age.fresh}, lately ${age.recent}, long ago ${age.stale}, never since ${age.old}`,
    ),
    quiet(
      health.cacheHitRate === null
        ? "nothing has been asked yet"
        : `read from the cache: ${Math.round(health.cacheHitRate * 1_000) / 10} % of what was sent`,
    ),
    ...(drift === null
      ? []
      : [
          quiet(
            `estimated ${tokens(drift.estimated)}, counted by the service ${tokens(drift.reported)} (${drift.percent > 0 ? "+" : ""}${drift.percent} %)`,
          ),
        ]),
  ]
}

const quiet = (text: string): ViewLine => ({ tone: "quiet", text })

const tokens = (count: number): string => (count < 1_000 ? String(count) : `${(count / 1_000).toFixed(1)}k`)
