/** Owns turning "yesterday" into a date, for texts that are read on another day. Pure; English only. */
import * as DateTime from "effect/DateTime"

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
const words = new RegExp(`\\b(?:(today|yesterday|tomorrow)|(last|next) (${days.join("|")}))\\b`, "gi")
const near: Readonly<Record<string, number>> = { today: 0, yesterday: -1, tomorrow: 1 }

/** `fixed yesterday` → `fixed on 2026-11-17`. */
export const absolute = (text: string, now: DateTime.DateTime): string =>
  text
    .replace(/\bon (?=(?:today|yesterday|tomorrow|last|next)\b)/gi, "")
    .replace(words, (_, word: string | undefined, way: string | undefined, day: string | undefined) => {
      const shift = word === undefined ? weekdayShift(now, way ?? "", day ?? "") : (near[word.toLowerCase()] ?? 0)
      return `on ${DateTime.formatIsoDateUtc(DateTime.add(now, { days: shift }))}`
    })

const weekdayShift = (now: DateTime.DateTime, way: string, day: string): number => {
  const ahead = (days.indexOf(day.toLowerCase()) - DateTime.getPartUtc(now, "weekDay") + 7) % 7
  return way.toLowerCase() === "next" ? ahead || 7 : ahead - 7
}
