/** Owns the hooks that settings define: read once for each state of the settings, with what all hooks are limited to. Pure. */
import { get, mergeAll } from "../settings/Merge.ts"
import type { SettingsLayer, SourceKind } from "../settings/SettingsLayer.ts"
import type { Place } from "./Condition.ts"
import { describe, type Handler, type HookScope, type Origin } from "./Handler.ts"
import * as HookConfig from "./HookConfig.ts"
import type { HttpLimits } from "./run/RunHttp.ts"

export interface HookSettings extends HookConfig.Found {
  /** Why a hook of this origin must not run; nothing when it may. */
  readonly barred: (origin: Origin) => string | undefined
  readonly http: HttpLimits
  /** What is wrong with hooks that wait for a person's agreement: for who looks at them, not for a session. */
  readonly waiting: ReadonlyArray<HookConfig.Problem>
}

const scopeOf: Readonly<Record<SourceKind, HookScope>> = {
  user: "user",
  project: "project",
  local: "local",
  arguments: "flags",
  environment: "flags",
  flags: "flags",
  managed: "managed",
}

export const untrusted = "it waits for your agreement: look at it with `troupe config trust`"

export const read = (layers: ReadonlyArray<SettingsLayer>, place: Place): HookSettings => {
  const found = layers.map((layer) => {
    const origin = originOf(layer)
    const inForce = HookConfig.read(layer.value["hooks"], origin, place)
    const waiting = HookConfig.read(layer.withheld["hooks"], origin, place)
    const withheld = waiting.handlers.map((handler) => refusedAs(handler, untrusted))
    const refused = [...inForce.refused, ...withheld, ...waiting.refused]
    return { ...inForce, refused, waiting: waiting.problems }
  })
  const value = limitsIn(layers)
  const policy = limitsIn(layers.filter(({ source }) => source.kind === "managed"))
  const urls = textsIn(get(value, ["allowedHttpHookUrls"]))
  const variables = textsIn(get(value, ["httpHookAllowedEnvVars"]))
  return {
    handlers: found.flatMap(({ handlers }) => handlers),
    refused: found.flatMap(({ refused }) => refused),
    problems: found.flatMap(({ problems }) => problems),
    waiting: found.flatMap(({ waiting }) => waiting),
    barred: barring(
      policy["disableAllHooks"] === true,
      value["disableAllHooks"] === true,
      policy["allowManagedHooksOnly"] === true,
    ),
    http: { ...(urls !== undefined && { urls }), ...(variables !== undefined && { variables }) },
  }
}

const limits = ["disableAllHooks", "allowManagedHooksOnly", "allowedHttpHookUrls", "httpHookAllowedEnvVars"]

/** What settings say about all hooks; to merge the hooks too would take longer than all the rest. */
const limitsIn = (layers: ReadonlyArray<SettingsLayer>) =>
  mergeAll(
    layers.map(({ value }) =>
      Object.fromEntries(
        limits.flatMap((key) => {
          const said = get(value, [key])
          return said === undefined ? [] : [[key, said]]
        }),
      ),
    ),
  )

/** The policy's own hooks, and functions of the program that runs us, are out of reach of other settings. */
const barring =
  (nothingRuns: boolean, disabled: boolean, managedOnly: boolean) =>
  ({ managed, scope }: Origin): string | undefined => {
    if (nothingRuns) return "the machine's policy switches all hooks off (disableAllHooks)"
    if (scope === "managed" || managed === true || scope === "embedder") return undefined
    if (disabled) return "hooks are switched off (disableAllHooks)"
    return managedOnly ? "the machine's policy allows only its own hooks (allowManagedHooksOnly)" : undefined
  }

const originOf = ({ locate, source }: SettingsLayer): Origin => ({
  scope: scopeOf[source.kind],
  name: source.name,
  ...(source.directory !== undefined && { file: source.name }),
  ...(source.directory !== undefined &&
    (source.kind === "user" || source.kind === "project") && { base: source.directory }),
  locate: (path) => locate(["hooks", ...path]),
})

export const refusedAs = ({ action, event, matcher, origin, position }: Handler, why: string): HookConfig.Refused => ({
  event,
  matcher: matcher.text,
  what: describe({ action }),
  origin,
  ...(position !== undefined && { line: position.line }),
  why,
})

const textsIn = (value: unknown): ReadonlyArray<string> | undefined =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : undefined
