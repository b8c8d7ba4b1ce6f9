/** Owns which skill counts when several have one name, and what each is finally called. */
import type { Problem, Skill, Source } from "./Skill.ts"

/** A file that is no skill, and why. */
export interface Failed {
  readonly file: string
  readonly source?: Source
  readonly problems: ReadonlyArray<Problem>
}

export interface Listed {
  readonly skill: Skill
  /** The file of the one that counts instead. */
  readonly shadowedBy?: string
}

export interface Catalog {
  /** Those that count, by name. */
  readonly active: ReadonlyArray<Skill>
  /** Also those that another one of the same name hides. */
  readonly all: ReadonlyArray<Listed>
  readonly failed: ReadonlyArray<Failed>
}

export const empty: Catalog = { active: [], all: [], failed: [] }

const order: Readonly<Record<Skill["source"]["origin"], number>> = {
  managed: 0,
  user: 1,
  project: 2,
  added: 3,
  nested: 4,
  plugin: 5,
  bundled: 20,
  mcp: 30,
}

/** A skill of any place goes before a command of any place; what was not asked for goes last. */
const rank = ({ source }: Skill): number => order[source.origin] + (source.form === "command" ? 10 : 0)

/** `identity` tells files apart: one that is reached by two ways counts once. */
export const resolve = (
  skills: ReadonlyArray<Skill>,
  failed: ReadonlyArray<Failed>,
  identity: (source: Source) => string | undefined,
): Catalog => {
  const byName = new Map<string, Skill>()
  const seen = new Map<string, Skill>()
  const all: Array<Listed> = []
  for (const skill of skills.toSorted((a, b) => rank(a) - rank(b))) {
    const id = identity(skill.source)
    const twin = id === undefined ? undefined : seen.get(id)
    if (twin !== undefined && twin.source.origin !== skill.source.origin) continue
    if (twin !== undefined && twin.name === skill.name) continue
    if (id !== undefined) seen.set(id, skill)
    const called = placed(skill, byName)
    const before = byName.get(called.name)
    if (before === undefined) byName.set(called.name, called)
    all.push({ skill: called, ...(before !== undefined && { shadowedBy: before.source.file }) })
  }
  return { active: [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), all, failed }
}

/** A skill of a directory below that would be hidden is called by its directory too. */
const placed = (skill: Skill, taken: ReadonlyMap<string, Skill>): Skill => {
  const { below } = skill.source
  if (below === undefined || !taken.has(skill.name)) return skill
  return {
    ...skill,
    name: `${below}:${skill.name}`,
    description: `${skill.description} (for files in ${below})`.trim(),
  }
}

/** By name, else by an alias that nobody else answers to, else whatever its letters' case. */
export const find = (active: ReadonlyArray<Skill>, name: string): Skill | undefined => {
  const wanted = name.normalize("NFC").replace(/^\//, "")
  const folded = wanted.toLowerCase()
  const only = (fits: (skill: Skill) => boolean) => {
    const found = active.filter(fits)
    return found.length === 1 ? found[0] : undefined
  }
  return (
    active.find((skill) => skill.name === wanted) ??
    only((skill) => skill.alias === wanted) ??
    only((skill) => skill.name.toLowerCase() === folded)
  )
}

/** Those of directories below that have the name of this one. */
export const variants = (active: ReadonlyArray<Skill>, { name }: Skill): ReadonlyArray<Skill> =>
  active.filter(({ name: other, source }) => source.below !== undefined && other === `${source.below}:${name}`)
