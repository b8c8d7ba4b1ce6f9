/**
 * Owns the library's public names. Everything here needs only `effect`; what a platform must provide stays in `R`, and
 * `TroupeNode.layer` of `troupe/node` provides it. The examples are compiled by `test/examples/Jsdoc.test.ts`.
 */
import * as Runtime from "./Runtime.ts"
import * as Output from "./agents/Output.ts"
import * as Budget from "./kernel/Budget.ts"
import * as Ids from "./kernel/Ids.ts"
import * as Terminal from "./protocol/Terminal.ts"
import * as Tool from "./tools/Tool.ts"
import * as Tools from "./agents/Toolset.ts"

/**
 * Everything agents need, as one layer. Two of them in one process share nothing.
 *
 * @example
 * const runtime = Runtime.layer({ settings: "project" }).pipe(Layer.provide(TroupeNode.layer))
 */
export { Runtime }

/**
 * Opens sessions: new ones, ones that are on disk, copies. An agent belongs to the scope it is opened in: closing the scope
 * closes it, and whatever it runs ends.
 *
 * @example
 * const program = Effect.gen(function* () {
 *   const agents = yield* Agents
 *   const agent = yield* agents.open({ tools: Tools.coding, permissionMode: "acceptEdits" })
 *   yield* Stream.runForEach(agent.prompt("Fix the failing test"), (event) => Console.log(event._tag))
 *   return agent.sessionId
 * }).pipe(Effect.scoped)
 */
export { Agents } from "./agents/Agents.ts"

/**
 * An open agent: `prompt` is a stream of everything that happens up to `TurnEnded`, and leaving it early aborts the turn.
 *
 * @example
 * const hurry = Effect.fn(function* (agent: Agent) {
 *   const { busy, queued } = yield* agent.status
 *   if (busy && queued > 3) yield* agent.interrupt("stop")
 *   else yield* agent.steer("Be brief, please.")
 *   yield* agent.setModel("haiku")
 * })
 */
export type { Agent } from "./agents/Agent.ts"

/**
 * How an agent is opened; the types in it are those of its tools' requirements.
 *
 * @example
 * const careful: OpenOptions = { cwd: "/srv/app", model: "sonnet", permissionMode: "plan", maxTurns: 20 }
 */
export type { OpenOptions } from "./agents/Agents.ts"

/**
 * Why an agent could not be opened.
 *
 * @example
 * const explain = (error: OpenError) => (error._tag === "SessionBusy" ? "Somebody works with it." : error.message)
 */
export type { OpenError } from "./agents/Agents.ts"

/**
 * Why an agent cannot take a message: it is gone, or its journal cannot be written.
 *
 * @example
 * const gone = (error: AgentError) => error._tag === "ActorDown"
 */
export type { AgentError } from "./agents/Agent.ts"

/**
 * A point that a session can go back to before: a prompt, or an earlier going back.
 *
 * @example
 * const last = (agent: Agent) => Effect.map(agent.checkpoints, (all): Checkpoint | undefined => all.at(-1))
 */
export type { Checkpoint } from "./session/RewindPlan.ts"

/**
 * How full a conversation is, and of what.
 *
 * @example
 * const nearlyFull = (agent: Agent) => Effect.map(agent.context, (health: Health) => health.freePercent < 10)
 */
export type { Health } from "./protocol/Compaction.ts"

/**
 * How to go back.
 *
 * @example
 * const look: RewindOptions = { what: "code", dryRun: true }
 */
export type { RewindOptions } from "./agents/Agent.ts"

/**
 * What became of the files and the conversation, or would become.
 *
 * @example
 * const undo = (agent: Agent) =>
 *   Effect.gen(function* () {
 *     const last = (yield* agent.checkpoints).at(-1)
 *     if (last === undefined) return 0
 *     const report: RewindReport = yield* agent.rewind(last.id)
 *     return report.files.length
 *   })
 */
export type { RewindReport } from "./session/Rewind.ts"

/**
 * Why a session did not go back: a turn runs, or others have changed the same files.
 *
 * @example
 * const why = (error: RewindRefused) => error.conflicts.map(({ path }) => path)
 */
export { RewindRefused } from "./session/Rewind.ts"

/**
 * There is no session of that name.
 *
 * @example
 * const goOn = (id: string) =>
 *   Effect.gen(function* () {
 *     const agents = yield* Agents
 *     return yield* Effect.catchTag(agents.resume(id), "SessionNotFound", () => agents.open())
 *   })
 */
export { SessionNotFound } from "./agents/Agents.ts"

/**
 * A session id that is taken, or is no UUID.
 *
 * @example
 * const why = (error: OpenError) => (error instanceof BadSessionId ? error.why : undefined)
 */
export { BadSessionId } from "./agents/Agents.ts"

/**
 * Another process, or another agent of this one, is writing the session. Fork it, or wait.
 *
 * @example
 * const join = (id: string) =>
 *   Effect.gen(function* () {
 *     const agents = yield* Agents
 *     return yield* Effect.catchTag(agents.resume(id), "SessionBusy", () => agents.fork(id))
 *   })
 */
export { SessionBusy } from "./session/JournalError.ts"

/**
 * The session's journal cannot be read or written; `path` and `detail` say what to repair.
 *
 * @example
 * const where = (error: OpenError) => (error instanceof JournalError ? error.path : undefined)
 */
export { JournalError } from "./session/JournalError.ts"

/**
 * Answers that are values: a Schema becomes the JSON Schema the model must keep to, and the answer is decoded.
 *
 * @example
 * const Review = Output.make(Schema.Struct({ score: Schema.Int, summary: Schema.String }))
 *
 * const review = Effect.gen(function* () {
 *   const agents = yield* Agents
 *   const agent = yield* agents.open({ tools: Tools.coding, jsonSchema: Review.jsonSchema })
 *   const { score } = yield* Review.ask(agent, "Review the last commit")
 *   return score
 * })
 */
export { Output }

/**
 * Limits for any effect and all that it starts: money, tokens, replies, calls, time. Money is reserved before it is spent.
 *
 * @example
 * const careful = <A, E, R>(work: Effect.Effect<A, E, R>) => work.pipe(Budget.within({ usd: 2, wall: "10 minutes" }))
 */
export { Budget }

/**
 * Makes tools: Schema-typed values whose requirements are in `R`. Whatever a tool does not say fails closed.
 *
 * @example
 * class Prices extends Context.Service<Prices, { readonly of: (item: string) => Effect.Effect<number> }>()("Prices") {}
 *
 * const Price = Tool.make({
 *   name: "Price",
 *   description: "What an item costs, in cents.",
 *   input: Schema.Struct({ item: Schema.String }),
 *   readOnly: true,
 *   run: Effect.fn(function* ({ item }) {
 *     const prices = yield* Prices
 *     return { content: String(yield* prices.of(item)) }
 *   }),
 * })
 */
export { Tool }

/**
 * The built-in tools: `coding` for files, commands and the web; `all` has those that send out agents and use skills as well.
 *
 * @example
 * const readers = Tools.coding.filter(({ name }) => ["Read", "Glob", "Grep"].includes(name))
 */
export { Tools }

/**
 * Everything that can happen in a session, as a tagged union: durable events are journaled, `StreamChunk` and `ToolProgressed`
 * are only shown.
 *
 * @example
 * const show = (event: Event): string =>
 *   event._tag === "ToolStarted" ? `${event.tool} …` : event._tag === "TurnEnded" ? event.result : ""
 */
export { Event } from "./protocol/Event.ts"

/**
 * Why a turn ended, and whether that is an error.
 *
 * @example
 * const code = (event: Event) => (event._tag === "TurnEnded" ? Terminal.exitCode(event.terminal) : undefined)
 */
export { Terminal }

/**
 * How a turn went on instead of ending.
 *
 * @example
 * const sealed: Transition = "stream_sealed"
 */
export type { Transition } from "./protocol/Transition.ts"

/**
 * What a prompt is: text, or blocks in the API's spelling.
 *
 * @example
 * const question: Content = [{ type: "text", text: "What is on this picture?" }]
 */
export type { Content } from "./protocol/Content.ts"

/**
 * One block of a message.
 *
 * @example
 * const textOf = (block: ContentBlock) => (block.type === "text" ? block.text : "")
 */
export type { ContentBlock } from "./protocol/Content.ts"

/**
 * What a turn used, in the API's spelling.
 *
 * @example
 * const read = (usage: Usage) => usage.input_tokens + usage.cache_read_input_tokens
 */
export type { Usage } from "./protocol/Usage.ts"

/**
 * How much an agent may do without asking.
 *
 * @example
 * const mode: PermissionMode = "acceptEdits"
 */
export type { PermissionMode } from "./protocol/PermissionMode.ts"

/**
 * Somebody who can be asked about a call that neither rules nor mode decide. Nobody, unless provided around `agents.open`.
 *
 * @example
 * const person: Person = { ask: ({ tool }) => Effect.succeed({ allow: tool === "Write", reason: "only Write" }) }
 *
 * const open = Effect.gen(function* () {
 *   const agents = yield* Agents
 *   return yield* agents.open({ tools: Tools.coding })
 * }).pipe(Effect.provideService(Person, person))
 */
export { Person } from "./permissions/Permissions.ts"

/**
 * Functions that are heard in every session of the runtime, at the events that settings' hooks know too; each for as long as its
 * scope is open.
 *
 * @example
 * const guarded = Effect.gen(function* () {
 *   const hooks = yield* Hooks
 *   yield* hooks.on(
 *     "PreToolUse",
 *     ({ tool_input }) =>
 *       Effect.succeed(
 *         JSON.stringify(tool_input).includes("production")
 *           ? { decision: "block", reason: "Not in production." }
 *           : undefined,
 *       ),
 *     { matcher: "Bash" },
 *   )
 * })
 */
export { Hooks } from "./hooks/Hooks.ts"

/**
 * The events at which hooks run.
 *
 * @example
 * const noisy: ReadonlyArray<HookEventName> = ["PreToolUse", "PostToolUse"]
 */
export type { HookEventName } from "./hooks/HookEvents.ts"

/**
 * What a hook may answer: the JSON that a command would print.
 *
 * @example
 * const enough: HookJson = { continue: false, stopReason: "It is late." }
 */
export type { HookJson } from "./hooks/HookOutput.ts"

/**
 * The matcher of a hook that cannot be read.
 *
 * @example
 * const why = (error: BadMatcher) => error.why
 */
export { BadMatcher } from "./hooks/Hooks.ts"

/**
 * What was spent, by model and by agent.
 *
 * @example
 * const spent = Effect.gen(function* () {
 *   const cost = yield* CostGovernor
 *   const { total } = yield* cost.ask.Report()
 *   return total.costUsd
 * })
 */
export { CostGovernor } from "./cost/CostGovernor.ts"

/**
 * The seam to whoever runs the model: one exchange, streamed or whole. Retries, fallbacks, watchdog and budgets are around it.
 *
 * @example
 * const mute = Layer.succeed(Provider, {
 *   name: "mute",
 *   stream: () => Stream.never,
 *   whole: () => Effect.never,
 * })
 * const runtime = Runtime.layer({ provider: mute })
 */
export { Provider } from "./model/Provider.ts"

/**
 * What went wrong in one exchange; `retryable` decides whether it is tried again.
 *
 * @example
 * const busy = new ProviderError({ reason: "overloaded", message: "Try later.", retryable: true, retryAfterMs: 2_000 })
 */
export { ProviderError } from "./model/Provider.ts"

/**
 * One request as a provider gets it: a full model id, the history as this model may see it, the final limit.
 *
 * @example
 * const last = ({ messages }: ProviderRequest) => messages.at(-1)?.content
 */
export type { ProviderRequest } from "./model/Provider.ts"

/**
 * A reply in one piece, as a provider gives it that was not asked to stream.
 *
 * @example
 * const reply: WholeReply = { id: "1", model: "mine", content: [], stop_reason: "end_turn", usage: {} }
 */
export type { WholeReply } from "./model/Provider.ts"

/**
 * One event of a streamed reply, as the Messages API spells it.
 *
 * @example
 * const textOf = (event: StreamEvent) =>
 *   event.type === "content_block_delta" && event.delta.type === "text_delta" ? event.delta.text : ""
 */
export type { StreamEvent } from "./protocol/StreamEvent.ts"

/**
 * The gate to the model, for calls outside of a session: metered, retried, watched, in whatever budget is in force.
 *
 * @example
 * const title = Effect.gen(function* () {
 *   const model = yield* Model
 *   const events = yield* Stream.runCollect(
 *     model.stream({
 *       agent: "titles",
 *       model: "haiku",
 *       maxTokens: 1_024,
 *       system: [],
 *       tools: [],
 *       messages: [{ role: "user", content: "A title for a poem about rain" }],
 *       restartable: () => true,
 *     }),
 *   )
 *   return events.flatMap((event) => (event._tag === "Block" && event.block.type === "text" ? [event.block.text] : []))
 * })
 */
export { Model } from "./model/Model.ts"

/**
 * Why there is no reply, after everything that could be tried.
 *
 * @example
 * const tooLong = (error: ModelError) => error.reason === "prompt_too_long"
 */
export { ModelError } from "./model/Model.ts"

/**
 * The settings in force, and where each value comes from.
 *
 * @example
 * const origin = Effect.gen(function* () {
 *   const settings = yield* Settings
 *   return yield* settings.explain("model")
 * })
 */
export { Settings } from "./settings/Settings.ts"

/**
 * Identifiers: random ones, or seeded ones that are the same in every run.
 *
 * @example
 * const reproducible = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.provide(work, Ids.seeded)
 */
export { Ids }
