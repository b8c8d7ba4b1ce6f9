/**
 * Owns what the files of a folder want to run or open, and nobody has agreed to yet: its settings, agents, skills, commands and
 * instructions. Each with the very text that agreeing puts in force.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Definition from "../agents/Definition.ts"
import { Definitions } from "../agents/Definitions.ts"
import * as ContextSettings from "../context/ContextSettings.ts"
import * as Instructions from "../context/Instructions.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { MarkdownIndex } from "../platform/MarkdownIndex.ts"
import { Settings } from "../settings/Settings.ts"
import type { Review } from "../settings/Trust.ts"
import * as TrustStore from "../settings/TrustStore.ts"
import { isFolders } from "../skills/Skill.ts"
import { SkillLibrary } from "../skills/SkillLibrary.ts"
import * as SkillSettings from "../skills/SkillSettings.ts"
import * as SkillTrust from "../skills/SkillTrust.ts"
import type { SettingSource } from "./Options.ts"
import { wish, wishes } from "./ConfigView.ts"
import type { Wish } from "./TrustDialogue.ts"

export interface Asked {
  readonly settingSources: ReadonlyArray<SettingSource> | undefined
  /** Everything counts this once, so nothing waits. */
  readonly trust: boolean
}

export const folderWishes = Effect.fnUntraced(function* ({ settingSources, trust }: Asked) {
  if (trust) return []
  const ofSettings = wishes(yield* (yield* Settings).current)
  if (settingSources !== undefined && !settingSources.includes("project")) return ofSettings
  const agreed = yield* TrustStore.approved
  const found = yield* Effect.all([agents, skills(settingSources), instructions], { concurrency: "unbounded" })
  return [...ofSettings, ...found.flat().filter(({ review }) => !agreed(review))]
}, Effect.provide(libraries()))

function libraries() {
  // As if everything were trusted: otherwise what waits would not be there to be shown.
  const definitions = Definitions.layer({ trusted: () => true })
  return Layer.merge(definitions, SkillLibrary.layer).pipe(Layer.provideMerge(MarkdownIndex.layer))
}

const agents = Effect.gen(function* () {
  const { hash } = yield* Files
  const { all } = yield* (yield* Definitions).current
  return all.flatMap(({ definition }): ReadonlyArray<Wish> => {
    if (Definition.trustOf(definition.origin) !== "review") return []
    const review = Definition.review(definition, hash)
    return review === undefined ? [] : [wish(review, Definition.executable(definition))]
  })
})

const skills = Effect.fnUntraced(function* (sources: Asked["settingSources"]) {
  const { hash } = yield* Files
  const library = yield* SkillLibrary
  const { cwd } = yield* Host
  const { bundled, locked } = yield* SkillSettings.current
  const { active } = yield* library.load({ cwd, bundled, locked, ...(sources !== undefined && { sources }) })
  const ofFolder = active.filter(({ source }) => isFolders(source))
  const found = yield* Effect.forEach(ofFolder, (skill) =>
    library.body(skill).pipe(
      Effect.map((body): ReadonlyArray<Wish> => {
        const review = SkillTrust.review(skill, body, hash)
        return review === undefined ? [] : [wish(review, SkillTrust.executable(skill, body))]
      }),
      // What cannot be read cannot run either; whoever uses it hears why.
      Effect.orElseSucceed((): ReadonlyArray<Wish> => []),
    ),
  )
  return found.flat()
})

const instructions = Effect.gen(function* () {
  const { cwd } = yield* Host
  const settings = yield* ContextSettings.read
  const read = yield* Instructions.make({ cwd, settings })
  return read.report().reviews.map(outside)
})

const outside = (review: Review): Wish => wish(review, { "files outside of this folder": review.keys })
