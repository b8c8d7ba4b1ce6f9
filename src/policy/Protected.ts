/**
 * Owns which files no rule and no mode but `bypassPermissions` lets anybody write unasked, and which removals are asked about even there.
 *
 * Protected files change how tools, shells or this program behave. Critical removals take away a system, a home or the work itself.
 */
import type { Call } from "./Call.ts"
import * as GlobOverlap from "./GlobOverlap.ts"

const directories = new Set(
  ".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude .ssh .gnupg .aws".split(" "),
)
const files = new Set(
  (
    ".gitconfig .gitmodules .gitattributes .bashrc .bash_profile .bash_login .bash_aliases .bash_logout .zshrc .zprofile .zshenv .zlogin " +
    ".zlogout .profile .inputrc config.fish .envrc .netrc .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs bunfig.toml " +
    ".bunfig.toml .bazelrc .bazelversion .bazeliskrc .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml " +
    "gradle-wrapper.properties maven-wrapper.properties .devcontainer.json .ripgreprc pyrightconfig.json .mcp.json .claude.json"
  ).split(" "),
)

/** By the names below a root of the workspace: a workspace inside `.claude/worktrees` is not protected as a whole. */
export const isProtected = (path: string, roots: ReadonlyArray<string>): boolean => {
  const folded = path.normalize("NFC").toLowerCase()
  const base = roots
    .map((root) => root.normalize("NFC").toLowerCase())
    .filter((root) => folded === root || folded.startsWith(`${root}/`))
    .sort((a, b) => b.length - a.length)[0]
  const parts = (base === undefined ? folded : folded.slice(base.length)).split("/").filter((part) => part !== "")
  return (
    files.has(parts.at(-1) ?? "") ||
    parts.some(
      (part, index) =>
        (directories.has(part) &&
          !(part === ".claude" && parts[index + 1] === "worktrees" && parts.length > index + 2)) ||
        (part === ".config" && parts[index + 1] === "git"),
    )
  )
}

const hiddenNames = [...directories, ...files].filter((name) => name.startsWith(".")).map(GlobOverlap.segments)

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
