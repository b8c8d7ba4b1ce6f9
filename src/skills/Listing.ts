/**
 * Owns the listing of skills that the model is told: a line each, within a budget. Every name is always there; when there is not room
 * for all descriptions, those of the least important skills go first.
 */
import type { Skill } from "./Skill.ts"

/** `skillOverrides` of the settings. */
export const visibilities = ["on", "name-only", "user-invocable-only", "off"] as const
export type Visibility = (typeof visibilities)[number]

/** Description and `when_to_use` together. */
export const maxDescriptionChars = 1_536

export interface ListingOptions {
  readonly budgetChars: number
  readonly maxDescriptionChars?: number
  readonly visibility: (skill: Skill) => Visibility
  /** How often it was used. */
  readonly uses: (skill: Skill) => number
}

export interface Listing {
  readonly text: string
  /** What is said of each, by name; the description is missing where there was no room. */
  readonly lines: ReadonlyMap<string, string>
  /** Names of those whose description is cut or left out for want of room. */
  readonly shortened: ReadonlyArray<string>
}

/** Plugins manage the visibility of their skills themselves. */
export const visibilityBy =
  (overrides: Readonly<Record<string, Visibility>>) =>
  ({ name, source }: Skill): Visibility =>
    source.origin === "plugin" || !Object.hasOwn(overrides, name) ? "on" : (overrides[name] ?? "on")

/** 1 % of a context window, in characters. */
export const budgetOf = (contextWindow: number, fraction = 0.01): number => Math.floor(contextWindow * fraction * 4)

const concern: ReadonlyArray<Skill["source"]["origin"]> = [
  "nested",
  "project",
  "managed",
  "user",
  "added",
  "plugin",
  "bundled",
  "mcp",
]

export const aboutOf = ({ description, whenToUse }: Skill, most: number): string => {
  const about = [description, whenToUse].filter((part) => part !== undefined && part !== "").join(" ")
  return shortened(about, most)
}

/** Cut at a word. */
const shortened = (text: string, most: number): string => {
  if (text.length <= most) return text
  const head = text.slice(0, Math.max(0, most - 1))
  const space = head.lastIndexOf(" ")
  return `${(space > most / 2 ? head.slice(0, space) : head).replace(/[\uD800-\uDBFF]$/, "")}…`
}

const line = (name: string, about: string): string => (about === "" ? `- ${name}` : `- ${name}: ${about}`)

/** Not worth a line. */
const leastChars = 40

export const make = (skills: ReadonlyArray<Skill>, options: ListingOptions): Listing => {
  const shown = skills.filter((skill) => {
    const visibility = options.visibility(skill)
    return skill.modelInvocable && (visibility === "on" || visibility === "name-only")
  })
  const byImportance = shown.toSorted(
    (a, b) =>
      options.uses(b) - options.uses(a) ||
      concern.indexOf(a.source.origin) - concern.indexOf(b.source.origin) ||
      (a.name < b.name ? -1 : 1),
  )
  let room = options.budgetChars - shown.reduce((sum, { name }) => sum + line(name, "").length + 1, 0)
  const about = new Map<string, string>()
  const shortenedNames: Array<string> = []
  for (const skill of byImportance) {
    if (options.visibility(skill) === "name-only") continue
    const whole = aboutOf(skill, options.maxDescriptionChars ?? maxDescriptionChars)
    if (whole === "") continue
    const fits = whole.length + 2 <= room ? whole : room - 2 >= leastChars ? shortened(whole, room - 2) : ""
    if (fits !== whole) shortenedNames.push(skill.name)
    if (fits === "") {
      room = 0
      continue
    }
    room -= fits.length + 2
    about.set(skill.name, fits)
  }
  const lines = new Map(
    shown
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name }) => [name, line(name, about.get(name) ?? "")] as const),
  )
  return { text: [...lines.values()].join("\n"), lines, shortened: shortenedNames }
}

/** Everything about a skill, whatever the budget. */
export const fullLine = (skill: Skill, most = maxDescriptionChars): string => line(skill.name, aboutOf(skill, most))

const gone = "no longer available"

/** Shortened or without its description it is still the same news. */
const saysTheSame = (told: string, full: string, name: string): boolean =>
  told === full || told === line(name, "") || (told.endsWith("…") && full.startsWith(told.slice(0, -1)))

/** What a model that was told `before` must know now; nothing where nothing has changed. */
export const announce = (before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string | undefined => {
  const isNews = ([name, full]: readonly [string, string]) => {
    const told = before.get(name)
    return told === undefined || !saysTheSame(told, full, name)
  }
  const fresh = [...now].filter(isNews).map(([, text]) => text)
  const removed = [...before.keys()].filter((name) => !now.has(name)).map((name) => `- ${name} (${gone})`)
  if (fresh.length + removed.length === 0) return undefined
  return ["The skills you can use have changed:", ...fresh, ...removed].join("\n")
}

/** What a model was told, read back from the texts it was told in, the oldest first: a resumed session knows no more than these. */
export const told = (texts: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const lines = new Map<string, string>()
  for (const text of texts.flatMap((one) => one.split("\n"))) {
    const [, name, removed] = /^- (\S+?)(?::(?= )| \((no longer available)\)|$)/.exec(text) ?? []
    if (name === undefined) continue
    if (removed === undefined) lines.set(name, text)
    else lines.delete(name)
  }
  return lines
}
