/** Owns which services a command stands on: the settings that its flags say, over this machine, or the whole runtime over both. */
import * as Layer from "effect/Layer"
import { TroupeNode } from "../node/index.ts"
import * as Runtime from "../Runtime.ts"
import { Settings, type SettingsOptions } from "../settings/Settings.ts"
import type { Common } from "./SessionArgs.ts"

export const settingsOptions = (flags: Common): SettingsOptions => ({
  ...(flags.settings !== undefined && { settings: flags.settings }),
  ...(flags.settingSources !== undefined && { sources: flags.settingSources }),
  ...(flags.trust && { trusted: () => true }),
})

/** For what looks at files and starts no session. */
export const settings = (flags: Common) =>
  Settings.layer(settingsOptions(flags)).pipe(Layer.provideMerge(TroupeNode.layer))

export const runtime = (flags: Common) =>
  Runtime.layer({ settings: settingsOptions(flags) }).pipe(Layer.provideMerge(TroupeNode.layer))
