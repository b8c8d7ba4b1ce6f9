/**
 * Owns which patterns could mean a protected file, and which removals are asked about in every mode: those that take away a system, a
 * home or the work itself.
 */
import { protectedNames } from "../security/Sensitive.ts"
import type { Call } from "./Call.ts"
import * as GlobOverlap from "./GlobOverlap.ts"

const hiddenNames = protectedNames.filter((name) => name.startsWith(".")).map(GlobOverlap.segments)

/** Whether a shell pattern could match a protected name; those without a dot are left to what is on the disk. */
export const mayBeProtected = (pattern: string): boolean =>
  GlobOverlap.segments(pattern).some(
    (segment) =>
      segment.literal === undefined &&
      !segment.deep &&
      hiddenNames.some((name) => GlobOverlap.overlaps([segment], name, false)),
  )

export interface Grounds {
  readonly cwd: string
  readonly home: string
  readonly roots?: ReadonlyArray<string>
}

const parentsOf = (path: string): ReadonlyArray<string> => {
  const parts = path.split("/").filter((part) => part !== "")
  return parts.map((_, index) => `/${parts.slice(0, index).join("/")}`)
}

/** What an `rm` or `rmdir` of the call would take away that nobody wants gone by mistake. */
export const criticalRemoval = (call: Call, { cwd, home, roots }: Grounds): string | undefined => {
  const removers = (call.bash?.commands ?? []).filter((command) =>
    [command.text, ...command.variants].some((text) => /^(?:\S*\/)?rm(?:dir)?(?: |$)/.test(text)),
  )
  if (removers.length === 0) return undefined
  const own = new Set(["/", home, cwd, ...parentsOf(cwd), ...parentsOf(home)])
  const isTop = (path: string) => /^\/[^/]+$/.test(path)
  const critical = (path: string): boolean => {
    const plain = path.length > 1 ? path.replace(/\/+$/, "") : path
    if (own.has(plain) || isTop(plain)) return true
    // All of a directory's content is the directory.
    const content = /^(.*)\/(?:\*+|\.\*|\{[^}]*\})$/.exec(plain)?.[1]
    if (content === undefined) return false
    const directory = content === "" ? "/" : content
    return (
      own.has(directory) ||
      isTop(directory) ||
      (roots ?? []).some((root) => root === directory || root.startsWith(`${directory}/`))
    )
  }
  for (const touch of call.touches) {
    if (touch._tag === "Writes" && touch.how === "delete" && critical(touch.path)) return touch.path
  }
  // An empty variable makes the root of it.
  const open = removers
    .map(({ text }) => / ("?\$(?:\w+|\{\w+\})"?\/?\*?)(?: |$)/.exec(text)?.[1])
    .find((word) => word !== undefined && /[/*]$/.test(word))
  return open
}
