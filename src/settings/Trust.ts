/**
 * Owns which settings of a folder are executable configuration, and their content hash.
 *
 * A repository may ship `.claude/` files; what in them makes something run, opens a permission or sends data elsewhere
 * is in force only for the very content a person has agreed to. What tightens, and plain data, needs no trust.
 */
import { canonical, get, isObject, type Json, type JsonObject, mergeAll, only, without } from "./Merge.ts"
import type { Source } from "./SettingsLayer.ts"

/** What asks for trust: one file, what of it, and the hash that an approval is for. */
export interface Review {
  readonly source: Source
  readonly keys: ReadonlyArray<string>
  readonly hash: string
}

const always: ReadonlyArray<ReadonlyArray<string>> = [
  ["hooks"],
  ["env"],
  ["apiKeyHelper"],
  ["awsAuthRefresh"],
  ["awsCredentialExport"],
  ["gcpAuthRefresh"],
  ["otelHeadersHelper"],
  ["proxyAuthHelper"],
  ["statusLine"],
  ["subagentStatusLine"],
  ["fileSuggestion"],
  ["mcpServers"],
  ["enabledPlugins"],
  ["extraKnownMarketplaces"],
  ["pluginConfigs"],
  ["enableAllProjectMcpServers"],
  ["enabledMcpjsonServers"],
  ["permissions", "allow"],
  ["permissions", "additionalDirectories"],
  ["allowedHttpHookUrls"],
  ["httpHookAllowedEnvVars"],
  ["autoMemoryDirectory"],
  ["plansDirectory"],
  ["sandbox", "autoAllowBashIfSandboxed"],
  ["sandbox", "excludedCommands"],
  ["sandbox", "allowUnsandboxedCommands"],
  ["sandbox", "enableWeakerNestedSandbox"],
  ["sandbox", "ignoreViolations"],
  ["sandbox", "network"],
  ["sandbox", "filesystem", "allowWrite"],
  ["sandbox", "filesystem", "allowRead"],
  // Another system prompt, other tools and a first prompt of its own: who the session is, the person says.
  ["agent"],
  // What a model costs is what a budget is kept by, and another name for it is another bill.
  ["modelOverrides"],
  ["troupe", "models"],
  // Not code, but a foreign folder must not have old sessions deleted.
  ["cleanupPeriodDays"],
  ["skipDangerousModePermissionPrompt"],
]

/** Modes that ask less than the default one. */
export const loose: ReadonlySet<Json | undefined> = new Set(["acceptEdits", "auto", "bypassPermissions"])

const agentOpens = (agent: Json): boolean =>
  isObject(agent) &&
  (["hooks", "mcpServers", "memory"].some((key) => Object.hasOwn(agent, key)) || loose.has(agent["permissionMode"]))

const conditional: ReadonlyArray<{ readonly path: ReadonlyArray<string>; readonly opens: (value: Json) => boolean }> = [
  { path: ["permissions", "defaultMode"], opens: (value) => loose.has(value) },
  { path: ["disableSkillShellExecution"], opens: (value) => value !== true },
  // Off, hooks that a person's own settings guard with are gone; on, they are back where somebody did not want them.
  { path: ["disableAllHooks"], opens: () => true },
  // Remembering takes requests of its own: only the person may want that back who switched it off.
  { path: ["autoMemoryEnabled"], opens: (value) => value !== false },
  // On, it stands for approvals; off, it takes a fence away.
  { path: ["sandbox", "enabled"], opens: () => true },
  { path: ["sandbox", "failIfUnavailable"], opens: (value) => value !== true },
  { path: ["agents"], opens: (value) => isObject(value) && Object.values(value).some(agentOpens) },
]

const isEmpty = (value: Json): boolean =>
  value === null ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

const executablePaths = (value: JsonObject): ReadonlyArray<ReadonlyArray<string>> => [
  ...always.filter((path) => {
    const found = get(value, path)
    return found !== undefined && !isEmpty(found)
  }),
  ...conditional.flatMap(({ path, opens }) => {
    const found = get(value, path)
    return found !== undefined && opens(found) ? [path] : []
  }),
]

/** Splits a folder's settings into what may apply at once and what waits for trust. */
export const divide = (
  value: JsonObject,
): { readonly harmless: JsonObject; readonly executable: JsonObject; readonly keys: ReadonlyArray<string> } => {
  const paths = executablePaths(value)
  const rest = paths.reduce<Json>(without, value)
  return {
    harmless: isObject(rest) ? rest : {},
    executable: mergeAll(paths.map((path) => only(value, path))),
    keys: paths.map((path) => path.join(".")),
  }
}

/** The hash is over the meaning, not the text: a comment or another order of keys does not ask again. */
export const review = (source: Source, value: JsonObject, hash: (text: string) => string): Review | undefined => {
  const { executable, keys } = divide(value)
  return keys.length === 0 ? undefined : { source, keys, hash: hash(canonical(executable)) }
}
