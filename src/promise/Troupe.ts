/** Owns a runtime for those who do not use Effect: made, used and closed by promises. */
/// <reference lib="esnext.disposable" preserve="true" />
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { Agent as OpenAgent } from "../agents/Agent.ts"
import { Agents, type OpenError, type OpenOptions as Opening } from "../agents/Agents.ts"
import * as Output from "../agents/Output.ts"
import type * as Budget from "../kernel/Budget.ts"
import type { Provider } from "../model/Provider.ts"
import * as TroupeNode from "../node/TroupeNode.ts"
import { type Ask, Person } from "../permissions/Permissions.ts"
import * as Host from "../platform/Host.ts"
import * as Runtime from "../Runtime.ts"
import type { SettingsOptions } from "../settings/Settings.ts"
import type { Services } from "../tools/builtin/Source.ts"
import * as Agent from "./Agent.ts"
import * as Allowance from "./Allowance.ts"
import * as ModelProvider from "./ModelProvider.ts"
import type { Tool } from "./Tool.ts"
import * as TroupeError from "./TroupeError.ts"

/** How a troupe is made. Everything may be left out. */
export interface TroupeOptions {
  /** Whose settings files count: nobody's (unless told), the user's, or the user's and the project's. */
  readonly settings?: "none" | "user" | "project" | SettingsOptions | undefined
  /** Who runs the model: plain functions, or a layer such as `ScriptedModel.layer(…)`. Unless told, the Anthropic API as `env` describes it. */
  readonly provider?: ModelProvider.ModelProvider | Layer.Layer<Provider, Error> | undefined
  /** Variables on top of the process's, for this instance only: `{ ANTHROPIC_API_KEY: … }`. `undefined` removes one. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Where agents work unless told; the process's directory. */
  readonly cwd?: string | undefined
  /** Where sessions and the user's settings are; `CLAUDE_CONFIG_DIR` or `~/.claude`. */
  readonly configDir?: string | undefined
  /** What all agents together may use: `{ usd: 5, wall: "1 hour" }`. */
  readonly budget?: Budget.Limits | undefined
}

/** How an agent is opened. Everything may be left out; without `tools` the agent can only talk. */
export interface OpenOptions<A = unknown> extends Omit<Opening, "tools"> {
  /** The tools the model is offered: `[...codingTools, tool({ … })]`. */
  readonly tools?: ReadonlyArray<Tool> | undefined
  /** An Effect Schema that the final answer must fit; it types `RunResult.value`. For a plain JSON Schema: `jsonSchema`. */
  readonly output?: Schema.Codec<A, unknown> | undefined
  /** Asked when neither rules nor mode decide about a call. Without it such calls are denied. */
  readonly approve?: ((call: Ask) => Approval | Promise<Approval>) | undefined
  /** What this agent may use in its life, inside what the troupe may. */
  readonly budget?: Budget.Limits | undefined
}

/** Whether a call may run; a reason is told to the model. */
export type Approval = boolean | { readonly allow: boolean; readonly reason?: string }

/** A runtime with its agents. Nothing of it is global: as many as you like live in one process. */
export interface Troupe extends AsyncDisposable {
  /** Starts a new session. */
  readonly open: <A = unknown>(options?: OpenOptions<A>) => Promise<Agent.Agent<A>>
  /** Goes on with a session, whatever ended it. */
  readonly resume: <A = unknown>(sessionId: string, options?: OpenOptions<A>) => Promise<Agent.Agent<A>>
  /** Goes on in a copy; the original stays as it is. */
  readonly fork: <A = unknown>(sessionId: string, options?: OpenOptions<A>) => Promise<Agent.Agent<A>>
  /** The id of the session that was last worked with in a directory. */
  readonly latest: (cwd?: string) => Promise<string | undefined>
  /** Closes all agents, then what they stood on. Closing twice is fine. */
  readonly close: () => Promise<void>
}

/**
 * Makes a troupe on this machine. Rejects with a `TroupeError` when settings are unusable; that a key is missing is told by the
 * first turn, which names the variable to set.
 *
 * @example
 * import { codingTools, createTroupe } from "troupe/promise"
 *
 * await using troupe = await createTroupe({ settings: "project" })
 * await using agent = await troupe.open({ tools: codingTools, permissionMode: "acceptEdits" })
 * for await (const event of agent.prompt("Fix the failing test", { signal: AbortSignal.timeout(600_000) })) {
 *   if (event._tag === "ToolStarted") console.log(event.tool, event.input)
 *   if (event._tag === "TurnEnded") console.log(event.result, event.costUsd)
 * }
 */
export const createTroupe = async (options: TroupeOptions = {}): Promise<Troupe> => {
  const runtime = ManagedRuntime.make(layerOf(options))
  const what = "The troupe"
  const root = Scope.makeUnsafe("parallel")
  const run = async <A, E>(effect: Effect.Effect<A, E, Agents | Host.Host>): Promise<A> => {
    if (root.state._tag === "Closed") throw TroupeError.closed(what)
    const exit = await runtime.runPromiseExit(effect)
    if (Exit.isSuccess(exit)) return exit.value
    throw TroupeError.fromCause(exit.cause, what)
  }
  const close = async () => {
    await Effect.runPromise(Scope.close(root, Exit.void))
    await runtime.dispose()
  }

  const budget = await run(Scope.provide(Allowance.open(options.budget, undefined), root)).catch(async (error) => {
    await close()
    throw error
  })

  const enter = async <A>(wanted: OpenOptions<A>, door: Door): Promise<Agent.Agent<A>> => {
    const { tools, output: schema, approve, budget: limits, jsonSchema, ...rest } = wanted
    const output = schema === undefined ? undefined : outputOf(schema)
    const scope = Scope.forkUnsafe(root)
    const opened = Effect.gen(function* () {
      const agents = yield* Agents
      const agent = yield* door(agents, { ...rest, tools, jsonSchema: output?.jsonSchema ?? jsonSchema })
      const context = yield* Effect.context()
      return Agent.make({ agent, scope, context, budget: yield* Allowance.open(limits, budget), output })
    })
    return run(
      opened.pipe(
        Effect.provideService(Person, approve === undefined ? undefined : personOf(approve)),
        Scope.provide(scope),
        Effect.onError(() => Scope.close(scope, Exit.void)),
      ),
    )
  }

  return {
    open: (wanted = {}) => enter(wanted, (agents, opening) => agents.open(opening)),
    resume: (sessionId, wanted = {}) => enter(wanted, (agents, opening) => agents.resume(sessionId, opening)),
    fork: (sessionId, wanted = {}) => enter(wanted, (agents, opening) => agents.fork(sessionId, opening)),
    latest: (cwd) =>
      run(
        Effect.gen(function* () {
          const agents = yield* Agents
          return yield* agents.latest(cwd ?? (yield* Host.Host).cwd)
        }),
      ),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** One of the ways to an agent. */
type Door = (agents: Agents["Service"], opening: Opening<Services>) => Effect.Effect<OpenAgent, OpenError, Scope.Scope>

const layerOf = ({ settings, provider, env, cwd, configDir }: TroupeOptions) => {
  const own = provider !== undefined && "stream" in provider ? ModelProvider.layer(provider) : provider
  const host = Layer.effect(
    Host.Host,
    Effect.map(Host.Host, (host) => {
      const config = configDir ?? env?.["CLAUDE_CONFIG_DIR"] ?? host.configDir
      return Host.make({ ...host, cwd: cwd ?? host.cwd, configDir: config, env: { ...host.allEnv, ...env } })
    }),
  )
  return Runtime.layer<Error, never>({ settings, provider: own }).pipe(
    Layer.provideMerge(host),
    Layer.provideMerge(TroupeNode.layer),
    // Stdout is the host program's.
    Layer.provideMerge(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])),
  )
}

const outputOf = <A>(schema: Schema.Codec<A, unknown>): Output.Output<A> => {
  try {
    return Output.make(schema)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TroupeError.TroupeError("bad_output_schema", `The output schema cannot be used: ${why}`, cause)
  }
}

const personOf = (approve: (call: Ask) => Approval | Promise<Approval>): Person => ({
  ask: (ask) =>
    Effect.map(
      Effect.tryPromise(async () => approve(ask)).pipe(
        Effect.catch((error) => Effect.succeed({ allow: false, reason: `asking failed: ${String(error.cause)}` })),
      ),
      (answer) => (typeof answer === "boolean" ? { allow: answer } : answer),
    ),
})
