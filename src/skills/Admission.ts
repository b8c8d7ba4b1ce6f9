/** Owns who may use which skill: the model or a person, and how often. Pure. */
import * as Schema from "effect/Schema"
import type { Visibility } from "./Listing.ts"
import type { Skill } from "./Skill.ts"
import { nearestOf } from "./SlashPrompt.ts"

/** A skill that is not used, and why, in words for whoever wanted it. */
export class SkillRefused extends Schema.TaggedError<SkillRefused>()("SkillRefused", {
  name: Schema.String,
  reason: Schema.Literals(["Unknown", "NotForModel", "NotForPeople", "Off", "Recursive", "Unreadable", "Shell"]),
  message: Schema.String,
}) {}

export type User = "model" | "person"

/** The same skill so often in one turn is a circle. */
export const mostInTurn = 8

export const unknown = (name: string, names: ReadonlyArray<string>): SkillRefused => {
  const near = nearestOf(name, names)
  const hint = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`
  return new SkillRefused({ name, reason: "Unknown", message: `There is no skill ${name}.${hint}` })
}

export interface Circumstances {
  readonly by: User
  readonly visibility: Visibility
  /** Skills that the one who asks is at work in. */
  readonly within: ReadonlyArray<string>
  /** How often the model has used it in this turn. */
  readonly times: number
}

/** Why not; nothing where it may be used. */
export const refusal = (skill: Skill, { by, times, visibility, within }: Circumstances): SkillRefused | undefined => {
  const { name } = skill
  const because = (reason: SkillRefused["reason"], message: string) => new SkillRefused({ name, reason, message })
  if (visibility === "off")
    return because("Off", `The skill ${name} is switched off by skillOverrides in the settings.`)
  if (by === "person") {
    return skill.userInvocable
      ? undefined
      : because("NotForPeople", `/${name} is for the model only (user-invocable: false). Ask for what it does.`)
  }
  if (!skill.modelInvocable || visibility === "user-invocable-only") {
    return because(
      "NotForModel",
      `Only the user can start the skill ${name}. Do not carry out its steps some other way; suggest that they type /${name}.`,
    )
  }
  if (within.includes(name)) {
    return because(
      "Recursive",
      `You are at work in the skill ${name} already: its instructions are your task. Carry them out; do not start it again.`,
    )
  }
  if (times >= mostInTurn) {
    return because(
      "Recursive",
      `The skill ${name} was used ${mostInTurn} times in this turn. Go on with what it said; do not use it again before the user has spoken.`,
    )
  }
  return undefined
}
