/** Owns what one run of a hook is given. */
import type { HookEventName } from "../HookEvents.ts"

export interface HookRun {
  readonly event: HookEventName
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  /** The same as text. */
  readonly json: string
  readonly seconds: number
  readonly toolUseId: string | undefined
  readonly cwd: string
  readonly projectDir: string
  /** Variables that hooks find on top of the shell's own. */
  readonly variables: Readonly<Record<string, string>>
}
