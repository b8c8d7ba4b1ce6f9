/** Owns what kind of value a known setting takes, so that a wrong one is refused where it is typed. Data; meaning belongs to the owners. */
import { isObject, type Json } from "./Merge.ts"

interface Kind {
  readonly says: string
  readonly fits: (value: Json) => boolean
}

const text: Kind = { says: "text", fits: (value: Json) => typeof value === "string" }
const flag: Kind = { says: "true or false", fits: (value: Json) => typeof value === "boolean" }
const number: Kind = { says: "a number", fits: (value: Json) => typeof value === "number" }
const object: Kind = { says: 'an object: {"key": …}', fits: (value: Json) => isObject(value) }
const texts: Kind = {
  says: 'a list of text: ["…"]',
  fits: (value: Json) => Array.isArray(value) && value.every((item) => typeof item === "string"),
}
const among = (...known: ReadonlyArray<string>): Kind => ({
  says: `one of ${known.join(", ")}`,
  fits: (value: Json) => typeof value === "string" && known.includes(value),
})

const table: ReadonlyArray<readonly [Kind, ReadonlyArray<string>]> = [
  [text, ["agent", "apiKeyHelper", "autoMemoryDirectory", "awsAuthRefresh", "awsCredentialExport", "env.*"]],
  [text, ["gcpAuthRefresh", "language", "model", "otelHeadersHelper", "outputStyle", "plansDirectory", "theme"]],
  [flag, ["allowManagedHooksOnly", "allowManagedMcpServersOnly", "allowManagedPermissionRulesOnly"]],
  [flag, ["alwaysThinkingEnabled", "autoCompactEnabled", "autoMemoryEnabled", "disableAllHooks", "fastMode"]],
  [flag, ["disableSkillShellExecution", "enableAllProjectMcpServers", "fileCheckpointingEnabled", "verbose"]],
  [flag, ["includeCoAuthoredBy", "includeGitInstructions", "prefersReducedMotion", "respectGitignore"]],
  [number, ["autoCompactWindow", "cleanupPeriodDays", "skillListingBudgetFraction"]],
  [texts, ["allowedHttpHookUrls", "availableModels", "claudeMdExcludes", "httpHookAllowedEnvVars"]],
  [texts, ["disabledMcpjsonServers", "enabledMcpjsonServers", "permissions.additionalDirectories"]],
  [texts, ["permissions.allow", "permissions.ask", "permissions.deny"]],
  [object, ["agents", "attribution", "enabledPlugins", "env", "hooks", "mcpServers", "modelOverrides", "permissions"]],
  [object, ["sandbox", "troupe", "worktree"]],
  [among("low", "medium", "high", "xhigh", "max"), ["effortLevel"]],
  [among("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"), ["permissions.defaultMode"]],
]

const kinds: ReadonlyMap<string, Kind> = new Map(
  table.flatMap(([kind, keys]) => keys.map((key) => [key, kind] as const)),
)

const kindOf = (path: ReadonlyArray<string>): Kind | undefined =>
  kinds.get(path.join(".")) ?? kinds.get([...path.slice(0, -1), "*"].join("."))

/** What is typed for such a key is meant as text, even if it looks like a number. */
export const isText = (path: ReadonlyArray<string>): boolean => kindOf(path) === text

/** What is wrong with a value, if anything is known to be. */
export const complaint = (path: ReadonlyArray<string>, value: Json): string | undefined => {
  const kind = kindOf(path)
  if (kind !== undefined && !kind.fits(value)) return `${path.join(".")} must be ${kind.says}`
  if (!isObject(value)) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const found = complaint([...path, key], inner)
    if (found !== undefined) return found
  }
  return undefined
}
