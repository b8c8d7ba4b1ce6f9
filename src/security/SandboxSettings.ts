/** Owns the `sandbox` part of the settings: its form, what a path in it means, and what the sources say together. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Host } from "../platform/Host.ts"
import { Settings } from "../settings/Settings.ts"
import type { Diagnostic, Source } from "../settings/SettingsLayer.ts"

const Strings = Schema.Array(Schema.String)
const Port = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))
const on = Schema.optionalKey(Schema.Boolean)
const list = Schema.optionalKey(Strings)

/** As it is written in a settings file. */
export const SandboxSlice = Schema.Struct({
  enabled: on,
  /** A sandboxed command needs no approval (default true). */
  autoAllowBashIfSandboxed: on,
  /** Commands that run outside: `docker`, `git push:*`, `make *`. */
  excludedCommands: list,
  /** A call may ask to run outside, and is then approved like any other (default true). */
  allowUnsandboxedCommands: on,
  /** For containers that forbid a fresh /proc and nested namespaces: less isolation. */
  enableWeakerNestedSandbox: on,
  /** Refuse to run anything when the sandbox cannot be had. */
  failIfUnavailable: on,
  network: Schema.optionalKey(
    Schema.Struct({
      allowedDomains: list,
      deniedDomains: list,
      allowManagedDomainsOnly: on,
      allowUnixSockets: list,
      allowAllUnixSockets: on,
      /** Nothing to open on Linux: a sandbox has a loopback of its own, on which it may listen. */
      allowLocalBinding: on,
      httpProxyPort: Schema.optionalKey(Port),
      socksProxyPort: Schema.optionalKey(Port),
    }),
  ),
  filesystem: Schema.optionalKey(Schema.Struct({ allowWrite: list, denyWrite: list, denyRead: list, allowRead: list })),
})
export type SandboxSlice = typeof SandboxSlice.Type

/** With defaults filled in and paths absolute. */
export interface SandboxSettings {
  readonly enabled: boolean
  readonly autoAllow: boolean
  readonly excludedCommands: ReadonlyArray<string>
  readonly allowUnsandboxed: boolean
  readonly weakerNested: boolean
  readonly failIfUnavailable: boolean
  readonly allowedDomains: ReadonlyArray<string>
  readonly deniedDomains: ReadonlyArray<string>
  readonly unixSockets: ReadonlyArray<string> | "all"
  readonly httpProxyPort?: number
  readonly socksProxyPort?: number
  readonly allowWrite: ReadonlyArray<string>
  readonly denyWrite: ReadonlyArray<string>
  /** May contain `*`, which is looked for in the workspace. */
  readonly denyRead: ReadonlyArray<string>
  readonly allowRead: ReadonlyArray<string>
}

interface Part {
  readonly source: Source
  readonly value: SandboxSlice
}

/** `/x` and `//x` are absolute, `~/x` is in the home, the rest starts at the source's own directory. */
const resolver = (path: Path.Path, home: string, otherwise: string) => (source: Source, given: string) => {
  const plain = given.replace(/\/\*{1,2}$/, "")
  if (plain === "~" || plain.startsWith("~/")) return path.join(home, plain.slice(1))
  return path.resolve(source.directory ?? otherwise, plain.replace(/^\/\//, "/"))
}

/** One value of all sources. Lists add up; a path is read where it is written. */
export const combine = (
  value: SandboxSlice | undefined,
  parts: ReadonlyArray<Part>,
  at: (source: Source, given: string) => string,
): SandboxSettings => {
  const paths = (pick: (slice: SandboxSlice) => ReadonlyArray<string> | undefined) => [
    ...new Set(parts.flatMap((part) => (pick(part.value) ?? []).map((given) => at(part.source, given)))),
  ]
  const { network, filesystem: _, ...top } = value ?? {}
  const managedOnly = parts.some(
    ({ source, value }) => source.kind === "managed" && value.network?.allowManagedDomainsOnly === true,
  )
  const allowedDomains = managedOnly
    ? parts.flatMap(({ source, value }) => (source.kind === "managed" ? (value.network?.allowedDomains ?? []) : []))
    : (network?.allowedDomains ?? [])
  return {
    enabled: top.enabled ?? false,
    autoAllow: top.autoAllowBashIfSandboxed ?? true,
    excludedCommands: top.excludedCommands ?? [],
    allowUnsandboxed: top.allowUnsandboxedCommands ?? true,
    weakerNested: top.enableWeakerNestedSandbox ?? false,
    failIfUnavailable: top.failIfUnavailable ?? false,
    allowedDomains,
    deniedDomains: network?.deniedDomains ?? [],
    unixSockets: network?.allowAllUnixSockets === true ? "all" : paths((slice) => slice.network?.allowUnixSockets),
    ...(network?.httpProxyPort !== undefined && { httpProxyPort: network.httpProxyPort }),
    ...(network?.socksProxyPort !== undefined && { socksProxyPort: network.socksProxyPort }),
    allowWrite: paths((slice) => slice.filesystem?.allowWrite),
    denyWrite: paths((slice) => slice.filesystem?.denyWrite),
    denyRead: paths((slice) => slice.filesystem?.denyRead),
    allowRead: paths((slice) => slice.filesystem?.allowRead),
  }
}

/** What holds now, and what of it could not be understood. `project` is where paths without a home of their own start. */
export const read = Effect.fnUntraced(function* (project: string) {
  const settings = yield* Settings
  const path = yield* Path.Path
  const host = yield* Host
  const { value, parts, diagnostics } = yield* settings.slice("sandbox", SandboxSlice)
  const at = resolver(path, host.home, project)
  // A project's file lies in `.claude`, and its paths start beside that.
  const from = (source: Source, given: string) =>
    at(source.kind === "project" || source.kind === "local" ? { ...source, directory: project } : source, given)
  const result: { readonly settings: SandboxSettings; readonly diagnostics: ReadonlyArray<Diagnostic> } = {
    settings: combine(value, parts, from),
    diagnostics,
  }
  return result
})

/** The pattern that names a simple command: exact or as its first words (`docker`, `npm run test:*`), `*` for anything. */
const names = (pattern: string, command: string): boolean => {
  const plain = pattern.trim().replace(/:\*$/, "")
  if (plain === "") return false
  const escaped = plain.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", "[^]*")
  return new RegExp(`^(?:${escaped.replace(/ \[\^\]\*$/, "(?: [^]*)?")})(?:\\s[^]*)?$`).test(command.trim())
}

/** All simple commands of a line must be excluded: what is joined to an excluded one does not get out with it. */
export const isExcluded = (settings: SandboxSettings, commands: ReadonlyArray<string>): boolean =>
  commands.length > 0 &&
  commands.every((command) => settings.excludedCommands.some((pattern) => names(pattern, command)))
