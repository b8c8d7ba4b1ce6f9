/**
 * Owns running commands where they can do no harm: bubblewrap on Linux, with the workspace writable, the rest of the disk read-only,
 * credentials out of sight, and no network but through a proxy that asks the settings.
 *
 * Whether a command runs inside is decided once (`plan`), before it is approved; when the sandbox is required and cannot be had,
 * nothing runs.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Egress, type EgressError, type Refusal } from "../platform/Egress.ts"
import { Host } from "../platform/Host.ts"
import { type Command, Process } from "../platform/Process.ts"
import type { Settings } from "../settings/Settings.ts"
import type { SettingsError } from "../settings/SettingsError.ts"
import * as Bubblewrap from "./Bubblewrap.ts"
import * as Domains from "./Domains.ts"
import * as Ground from "./Ground.ts"
import * as Mounts from "./Mounts.ts"
import * as Relay from "./Relay.ts"
import * as SandboxSettings from "./SandboxSettings.ts"

export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  reason: Schema.Literals(["Unavailable", "NotPrepared"]),
  detail: Schema.String,
}) {
  override get message(): string {
    return this.reason === "Unavailable"
      ? `This command must run in the sandbox, and the sandbox cannot be had: ${this.detail}`
      : `The sandbox could not be prepared: ${this.detail}`
  }
}

export type Plan =
  | { readonly _tag: "Off" }
  /** Outside, on purpose: it needs an approval like any other command. */
  | { readonly _tag: "Outside"; readonly why: string }
  /** Outside, because it cannot be had and nobody requires it: to be told to the person, and approved as usual. */
  | { readonly _tag: "Unavailable"; readonly message: string }
  | {
      readonly _tag: "Inside"
      /** The sandbox stands for an approval. */
      readonly autoAllow: boolean
      readonly settings: SandboxSettings.SandboxSettings
      readonly powers: Bubblewrap.Powers
    }
export type Inside = Extract<Plan, { readonly _tag: "Inside" }>

export interface Asked {
  /** The simple commands of the line, each as text; empty when it was not understood. */
  readonly commands: ReadonlyArray<string>
  /** The call asks to run outside (`dangerouslyDisableSandbox`). */
  readonly outside?: boolean
}

export interface Wrapped extends Command {
  readonly env: Readonly<Record<string, string>>
  /** The workspace is too deep or too large to have been searched whole: an `.env` far down may be readable. Worth saying once. */
  readonly partial: boolean
  /** Connections that were refused so far; each was also said on the command's stderr. */
  readonly refusals: () => ReadonlyArray<Refusal>
  /** To be run when the command has ended: undoes what it may not leave behind, and returns a line for each. */
  readonly finish: Effect.Effect<ReadonlyArray<string>>
}

export interface SandboxShape {
  readonly plan: (asked: Asked) => Effect.Effect<Plan, SandboxError | SettingsError>
  /** The command to start instead. `writes` are existing places outside the workspace that this one may write. */
  readonly wrap: (
    plan: Inside,
    command: Command & { readonly writes?: ReadonlyArray<string> },
  ) => Effect.Effect<Wrapped, SandboxError | EgressError, Scope.Scope>
  /** What this machine can do; asked once. */
  readonly available: (weaker: boolean) => Effect.Effect<Bubblewrap.Powers, SandboxError>
}

export class Sandbox extends Context.Service<Sandbox, SandboxShape>()("troupe/security/Sandbox") {
  /** For one session; its temporary directory lives as long as the layer. */
  static readonly layer = (options: {
    readonly roots: ReadonlyArray<string>
  }): Layer.Layer<Sandbox, never, FileSystem.FileSystem | Path.Path | Host | Process | Egress | Settings> =>
    Layer.effect(Sandbox, make(options.roots))

  /** Everything runs outside, as if no settings asked for more. */
  static readonly layerOff: Layer.Layer<Sandbox> = Layer.effect(
    Sandbox,
    Effect.sync(() => {
      const none = new SandboxError({ reason: "NotPrepared", detail: "it is switched off here" })
      return {
        plan: () => Effect.succeed<Plan>({ _tag: "Off" }),
        wrap: () => Effect.fail(none),
        available: () => Effect.fail(none),
      }
    }),
  )
}

/** What to tell the model when a command inside ran into a wall; `undefined` when nothing looks like it. */
export const hint = (plan: Inside, stderr: string): string | undefined => {
  const { allowedDomains } = plan.settings
  if (/could not resolve|name resolution|network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND/i.test(stderr)) {
    return allowedDomains.length === 0
      ? "[The sandbox has no network. sandbox.network.allowedDomains can allow hosts.]"
      : `[In the sandbox only programs that use HTTP_PROXY or ALL_PROXY reach the network: ${allowedDomains.join(", ")}.]`
  }
  if (/read-only file system|EROFS/i.test(stderr)) {
    return "[In the sandbox only the workspace and the temporary directory may be written. sandbox.filesystem.allowWrite can allow more.]"
  }
  return undefined
}

const say = ({ host, port, reason }: Refusal): string => `[sandbox] refused ${host}:${port}: ${reason}`

const install =
  "Install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap)"

/** Strongest first. As the superuser a user namespace is dispensable; a /proc of its own only where settings say so. */
const ladder = (weaker: boolean): ReadonlyArray<Bubblewrap.Powers> => [
  { userNamespace: true, sealed: true, proc: true },
  { userNamespace: true, sealed: false, proc: true },
  { userNamespace: false, sealed: false, proc: true },
  ...(weaker
    ? [
        { userNamespace: true, sealed: false, proc: false },
        { userNamespace: false, sealed: false, proc: false },
      ]
    : []),
]

const probe = Effect.fnUntraced(function* (weaker: boolean) {
  const host = yield* Host
  const processes = yield* Process
  const unavailable = (detail: string) => new SandboxError({ reason: "Unavailable", detail })
  if (host.platform !== "linux") {
    return yield* unavailable(`there is none for ${host.platform} yet, only for Linux with bubblewrap.`)
  }
  let said = ""
  for (const powers of ladder(weaker)) {
    const args = [...Bubblewrap.isolation(powers), "--", "true"]
    const result = yield* processes
      .run({ command: "bwrap", args, cwd: "/", env: host.allEnv, maxOutputBytes: 2000, timeout: "10 seconds" })
      .pipe(
        Effect.mapError((error) =>
          unavailable(error.reason === "NotFound" ? `bwrap is not installed. ${install}.` : error.message),
        ),
      )
    if (result.exitCode === 0) return powers
    said = said === "" ? result.stderr.trim() : said
  }
  return yield* unavailable(
    `bubblewrap is installed but this kernel refuses it (${said}). Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, ` +
      `kernel.apparmor_restrict_unprivileged_userns=0), or in a container set sandbox.enableWeakerNestedSandbox.`,
  )
})

const make = Effect.fnUntraced(function* (roots: ReadonlyArray<string>) {
  const services = yield* Effect.context<
    FileSystem.FileSystem | Path.Path | Host | Process | Egress | Settings | Scope.Scope
  >()
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const host = yield* Host
  const egress = yield* Egress
  const probes = {
    strict: yield* Effect.cached(Effect.provideContext(probe(false), services)),
    weaker: yield* Effect.cached(Effect.provideContext(probe(true), services)),
  }
  const available = (weaker: boolean) => (weaker ? probes.weaker : probes.strict)
  const notPrepared = (detail: string) => new SandboxError({ reason: "NotPrepared", detail })

  /** One for all commands of the session: what one leaves in /tmp, the next one finds there. */
  const base = yield* Effect.cached(
    Effect.gen(function* () {
      const at = yield* fs.makeTempDirectoryScoped({ directory: host.tmpDir, prefix: "troupe-" })
      const real = yield* fs.realPath(at)
      const places = { tmp: path.join(real, "tmp"), net: path.join(real, "net") }
      yield* fs.makeDirectory(places.tmp, { mode: 0o700 })
      yield* fs.makeDirectory(places.net, { mode: 0o700 })
      return places
    }).pipe(
      Effect.mapError((error) => notPrepared(error.message)),
      Effect.provideContext(services),
    ),
  )
  let count = 0

  const plan = Effect.fnUntraced(function* (asked: Asked) {
    const { settings } = yield* SandboxSettings.read(roots[0] ?? host.cwd)
    if (!settings.enabled) return { _tag: "Off" } satisfies Plan
    if (SandboxSettings.isExcluded(settings, asked.commands)) {
      return { _tag: "Outside", why: "sandbox.excludedCommands names it" } satisfies Plan
    }
    if (asked.outside === true && settings.allowUnsandboxed) {
      return { _tag: "Outside", why: "the call asks to run outside the sandbox" } satisfies Plan
    }
    const inside = Effect.map(available(settings.weakerNested), (powers): Plan => ({
      _tag: "Inside",
      autoAllow: settings.autoAllow,
      settings,
      powers,
    }))
    if (settings.failIfUnavailable || !settings.allowUnsandboxed) return yield* inside
    return yield* Effect.catch(inside, (error) =>
      Effect.succeed<Plan>({
        _tag: "Unavailable",
        message: `Commands run without the sandbox that the settings ask for: ${error.detail}`,
      }),
    )
  })

  /** The proxy for one command, so that its refusals are known to be its own. */
  const openEgress = Effect.fnUntraced(function* (settings: SandboxSettings.SandboxSettings, net: string) {
    const refusals: Array<Refusal> = []
    const { httpProxyPort: http, socksProxyPort: socks } = settings
    const isNeeded = settings.allowedDomains.length > 0 || http !== undefined || socks !== undefined
    if (!isNeeded) return { refusals, socket: undefined }
    const rules = { allowed: settings.allowedDomains, denied: settings.deniedDomains }
    const socket = path.join(net, `${++count}`)
    yield* egress.open({
      socket,
      judge: (name) => Domains.judge(rules, name),
      judgeAddress: (name, address) => Domains.judgeAddress(rules, name, address),
      say,
      onRefusal: (refusal) => {
        // A program that tries again and again is not worth the memory.
        if (refusals.length < 100) refusals.push(refusal)
      },
      forward: { ...(http !== undefined && { http }), ...(socks !== undefined && { socks }) },
    })
    return { refusals, socket }
  })

  const wrap = Effect.fnUntraced(function* (
    inside: Inside,
    given: Command & { readonly writes?: ReadonlyArray<string> },
  ) {
    const { tmp, net } = yield* base
    const { settings, powers } = inside
    const { mounts, watched, partial } = yield* Mounts.view({
      settings,
      roots,
      temporary: tmp,
      writes: given.writes ?? [],
    })
    const cwd = yield* fs.realPath(given.cwd).pipe(Effect.mapError((error) => notPrepared(error.message)))
    const { refusals, socket } = yield* openEgress(settings, net)
    const own = [given.command, ...given.args]
    const env = { ...Relay.cleaned(given.env), TMPDIR: host.tmpDir, SANDBOX_RUNTIME: "1" }
    const finish = yield* Effect.cached(
      Effect.map(Ground.quarantine(watched, path.join(host.configDir, "troupe", "quarantine")), (moved) =>
        moved.map(
          ({ at, to }) =>
            `[sandbox] ${at} appeared while the command ran and would steer tools outside the sandbox: it was moved to ${to}`,
        ),
      ).pipe(Effect.provideContext(services)),
    )
    yield* Effect.addFinalizer(() => finish)
    const inner = socket === undefined ? socket : path.join(host.tmpDir, ".egress")
    const wrapped: Wrapped = {
      ...(given.killGrace !== undefined && { killGrace: given.killGrace }),
      command: "bwrap",
      args: Bubblewrap.args({
        powers,
        mounts: [
          ...mounts,
          ...(socket === undefined || inner === undefined ? [] : [{ _tag: "Write" as const, from: socket, at: inner }]),
        ],
        cwd,
        command: inner === undefined ? own : Relay.command(egress.runtime, inner, own),
      }),
      cwd,
      env: socket === undefined ? env : Relay.withProxy(env),
      partial,
      refusals: () => refusals,
      finish,
    }
    return wrapped
  })

  return Sandbox.of({
    available,
    plan: (asked) => Effect.provideContext(plan(asked), services),
    wrap: (inside, given) =>
      Effect.flatMap(Effect.scope, (scope) =>
        Effect.provideContext(Effect.provideService(wrap(inside, given), Scope.Scope, scope), services),
      ),
  })
})
