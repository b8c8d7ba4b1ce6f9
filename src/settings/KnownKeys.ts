/** Owns the names of the settings that exist, so that a mistyped one can be pointed at. Data; values belong to their owners. */
import { nearest } from "../platform/Near.ts"
import { isObject, type JsonObject } from "./Merge.ts"

const top = [
  "$schema",
  "agent",
  "agents",
  "allowManagedHooksOnly",
  "allowManagedMcpServersOnly",
  "allowManagedPermissionRulesOnly",
  "allowedHttpHookUrls",
  "allowedMcpServers",
  "alwaysThinkingEnabled",
  "apiKeyHelper",
  "attribution",
  "autoCompactEnabled",
  "autoCompactWindow",
  "autoMemoryDirectory",
  "autoMemoryEnabled",
  "autoUpdatesChannel",
  "availableModels",
  "awsAuthRefresh",
  "awsCredentialExport",
  "blockedMarketplaces",
  "claudeMd",
  "claudeMdExcludes",
  "cleanupPeriodDays",
  "companyAnnouncements",
  "deniedMcpServers",
  "disableAllHooks",
  "disableAutoMode",
  "disableSkillShellExecution",
  "disableWorkflows",
  "disabledMcpjsonServers",
  "editorMode",
  "effortLevel",
  "enableAllProjectMcpServers",
  "enabledMcpjsonServers",
  "enabledPlugins",
  "env",
  "extraKnownMarketplaces",
  "fallbackModel",
  "fastMode",
  "fileCheckpointingEnabled",
  "fileSuggestion",
  "forceLoginMethod",
  "forceLoginOrgUUID",
  "gcpAuthRefresh",
  "hooks",
  "httpHookAllowedEnvVars",
  "includeCoAuthoredBy",
  "includeGitInstructions",
  "language",
  "mcpServers",
  "minimumVersion",
  "model",
  "modelOverrides",
  "otelHeadersHelper",
  "outputStyle",
  "permissions",
  "plansDirectory",
  "pluginConfigs",
  "prefersReducedMotion",
  "proxyAuthHelper",
  "respectGitignore",
  "sandbox",
  "showTurnDuration",
  "skillListingBudgetFraction",
  "skillOverrides",
  "skipDangerousModePermissionPrompt",
  "skipWebFetchPreflight",
  "spinnerTipsEnabled",
  "spinnerVerbs",
  "statusLine",
  "strictKnownMarketplaces",
  "strictPluginOnlyCustomization",
  "subagentStatusLine",
  "teammateMode",
  "theme",
  "troupe",
  "verbose",
  "workflowSizeGuideline",
  "worktree",
] as const

/** Only where a slip would silently open or close something. */
const nested: Readonly<Record<string, ReadonlyArray<string>>> = {
  permissions: [
    "allow",
    "ask",
    "deny",
    "additionalDirectories",
    "defaultMode",
    "disableBypassPermissionsMode",
    "disableAutoMode",
  ],
}

export interface Unknown {
  readonly path: ReadonlyArray<string>
  readonly suggestion?: string
}

const among = (
  value: JsonObject,
  known: ReadonlyArray<string>,
  prefix: ReadonlyArray<string>,
): ReadonlyArray<Unknown> =>
  Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const suggestion = nearest(key, known)
      const path = [...prefix, key]
      return suggestion === undefined ? { path } : { path, suggestion: [...prefix, suggestion].join(".") }
    })

export const unknownKeys = (value: JsonObject): ReadonlyArray<Unknown> => [
  ...among(value, top, []),
  ...Object.entries(nested).flatMap(([key, known]) => {
    const inner = Object.hasOwn(value, key) ? value[key] : undefined
    return isObject(inner) ? among(inner, known, [key]) : []
  }),
]

/** Variables that stand for one setting each. A number is read as one; the rest is text. */
export const environmentPairs: Readonly<Record<string, { readonly key: string; readonly type: "text" | "number" }>> = {
  ANTHROPIC_MODEL: { key: "model", type: "text" },
  CLAUDE_CODE_EFFORT_LEVEL: { key: "effortLevel", type: "text" },
  CLAUDE_CODE_AUTO_COMPACT_WINDOW: { key: "autoCompactWindow", type: "number" },
}
