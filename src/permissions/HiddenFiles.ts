/** Owns which files searches leave out: those that a rule keeps from being read. */
import * as Context from "effect/Context"

export interface HiddenFilesShape {
  /** Whether there are such rules at all. */
  readonly any: () => boolean
  readonly hides: (path: string) => boolean
}

export const HiddenFiles = Context.Reference<HiddenFilesShape>("troupe/permissions/HiddenFiles", {
  defaultValue: () => ({ any: () => false, hides: () => false }),
})
