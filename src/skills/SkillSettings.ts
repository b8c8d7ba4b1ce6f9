/** Owns what settings and environment say about skills. A policy that cannot be read counts as the strictest one. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Host } from "../platform/Host.ts"
import { Settings } from "../settings/Settings.ts"
import * as Listing from "./Listing.ts"
import { defaultThreshold } from "./TaskMatcher.ts"

export interface SkillSettings {
  readonly overrides: Readonly<Record<string, Listing.Visibility>>
  /** Commands in skills do not run, except those of the machine's policy and of the product. */
  readonly shellDisabled: boolean
  readonly bundled: boolean
  /** Only skills of plugins, of the machine's policy and of the product count. */
  readonly locked: boolean
  /** The share of the context window that the listing may take. */
  readonly listingFraction: number | undefined
  /** The same in characters; it goes before the share. */
  readonly listingChars: number | undefined
  readonly maxDescriptionChars: number
  /** From this score on a skill is suggested. */
  readonly threshold: number
}

const positive = Schema.Finite.check(Schema.isGreaterThan(0))
const Locked = Schema.Union([Schema.Boolean, Schema.Array(Schema.String)])

const strictest: SkillSettings = {
  overrides: {},
  shellDisabled: true,
  bundled: false,
  locked: true,
  listingFraction: undefined,
  listingChars: undefined,
  maxDescriptionChars: Listing.maxDescriptionChars,
  threshold: defaultThreshold,
}

const read = Effect.gen(function* () {
  const { slice } = yield* Settings
  const { env } = yield* Host
  const { value: overrides = {} } = yield* slice(
    "skillOverrides",
    Schema.Record(Schema.String, Schema.Literals(Listing.visibilities)),
  )
  const { value: shellDisabled = false } = yield* slice("disableSkillShellExecution", Schema.Boolean)
  const { value: noBundled = false } = yield* slice("disableBundledSkills", Schema.Boolean)
  const { value: locked = false } = yield* slice("strictPluginOnlyCustomization", Locked)
  const { value: listingFraction } = yield* slice("skillListingBudgetFraction", positive)
  const { value: maxDescriptionChars } = yield* slice("skillListingMaxDescChars", positive)
  const { value: threshold } = yield* slice("troupe.skills.threshold", positive)
  const chars = Number(env("SLASH_COMMAND_TOOL_CHAR_BUDGET"))
  const settings: SkillSettings = {
    overrides,
    shellDisabled,
    bundled: !noBundled && env("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS") !== "1",
    locked: typeof locked === "boolean" ? locked : locked.includes("skills"),
    listingFraction,
    listingChars: Number.isFinite(chars) && chars > 0 ? chars : undefined,
    maxDescriptionChars: maxDescriptionChars ?? Listing.maxDescriptionChars,
    threshold: threshold ?? defaultThreshold,
  }
  return settings
})

/** As they are now; without a settings service, as nobody has said anything. */
export const current: Effect.Effect<SkillSettings, never, Host> = Effect.gen(function* () {
  const settings = yield* Effect.serviceOption(Settings)
  const layer = Option.getOrElse(settings, () => undefined)
  if (layer === undefined) return { ...strictest, shellDisabled: false, bundled: true, locked: false }
  return yield* read.pipe(
    Effect.provideService(Settings, layer),
    Effect.catch((error) => Effect.as(Effect.logWarning(error.message), strictest)),
  )
})
