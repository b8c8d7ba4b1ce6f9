/**
 * Owns the completion scripts for shells, generated from the one description of commands and flags.
 *
 * Everything that does not change is written into the script, so that a key press starts no process. Only session ids are asked
 * for (`troupe __complete sessions`).
 */
import type { Command } from "commander"
import { bash } from "./CompletionBash.ts"
import { fish } from "./CompletionFish.ts"
import { zsh } from "./CompletionZsh.ts"
import { debugCategories } from "./DebugFilter.ts"
import { describe } from "./Describe.ts"
import type { Shell } from "./Options.ts"

/** The script for a shell, to be read by it at its start. */
export const completion = (shell: Shell, program: Command): string => {
  const described = describe(program, debugCategories)
  switch (shell) {
    case "bash":
      return bash(described)
    case "zsh":
      return zsh(described)
    case "fish":
      return fish(described)
  }
}
