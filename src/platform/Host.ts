/** Owns what the product may know about the machine it runs on: environment, directories, terminal. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/** Facts about the machine and the user's shell, read once at start. */
export interface HostShape {
  /** One environment variable; an empty value counts as unset, as it does for users of `FOO= troupe`. */
  readonly env: (name: string) => string | undefined
  /** The whole environment, for children. */
  readonly allEnv: Readonly<Record<string, string>>
  readonly cwd: string
  readonly home: string
  /** `CLAUDE_CONFIG_DIR`, else `~/.claude`. */
  readonly configDir: string
  readonly tmpDir: string
  readonly platform: Platform
  readonly pid: number
  /** Somebody can answer a question: stdin and stdout are terminals. */
  readonly isInteractive: boolean
}

export type Platform = "linux" | "darwin" | "win32" | "other"

/** What a test or an embedder may state about the machine; the rest has quiet defaults. */
export interface HostFacts {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  readonly home?: string
  readonly configDir?: string
  readonly tmpDir?: string
  readonly platform?: Platform
  readonly pid?: number
  readonly isInteractive?: boolean
}

/** Builds a host from facts. Pure, so the live layer and tests share the rules. */
export const make = (facts: HostFacts): HostShape => {
  const allEnv: Record<string, string> = {}
  for (const [name, value] of Object.entries(facts.env ?? {})) if (value !== undefined) allEnv[name] = value
  const env = (name: string) => (allEnv[name] === "" ? undefined : allEnv[name])
  const home = facts.home ?? "/home/user"
  const separator = facts.platform === "win32" ? "\\" : "/"
  return {
    env,
    allEnv,
    cwd: facts.cwd ?? "/work",
    home,
    configDir: facts.configDir ?? env("CLAUDE_CONFIG_DIR") ?? `${home}${separator}.claude`,
    tmpDir: facts.tmpDir ?? "/tmp",
    platform: facts.platform ?? "linux",
    pid: facts.pid ?? 1000,
    isInteractive: facts.isInteractive ?? false,
  }
}

/** The same host with variables added (settings' `env` block) or removed (`undefined`). */
export const overlay = (host: HostShape, env: Readonly<Record<string, string | undefined>>): HostShape =>
  make({ ...host, env: { ...host.allEnv, ...env } })

export class Host extends Context.Service<Host, HostShape>()("troupe/platform/Host") {
  static readonly layerTest = (facts: HostFacts = {}): Layer.Layer<Host> => Layer.succeed(Host, make(facts))
}
