/** Owns the public face of `troupe/testing`: a scripted model, in process and over HTTP, a workspace in memory, and a whole runtime on both. */
import * as MemoryWorkspace from "./MemoryWorkspace.ts"
import * as Playbook from "./Playbook.ts"
import * as Replay from "./Replay.ts"
import * as TestRuntime from "./TestRuntime.ts"

/**
 * A whole runtime without a machine. Under `TestClock` and a seed a session gives the same journal, byte for byte.
 *
 * @example
 * const world = TestRuntime.layer({ rules: [{ reply: "Hello." }] }, { files: { "/work/a.txt": "a" }, seed: 7 })
 *
 * const test = Effect.gen(function* () {
 *   const agents = yield* Agents
 *   const agent = yield* agents.open({ tools: Tools.coding })
 *   return yield* Stream.runCollect(agent.prompt("Hi"))
 * }).pipe(Effect.scoped, Effect.provide(world))
 */
export { TestRuntime }

/**
 * Runs a recorded session again, offline, and says where it goes another way: `troupe replay export` makes the recordings.
 *
 * @example
 * const check = (recording: unknown) =>
 *   Effect.map(Replay.fixture(recording), ({ differences }) => differences.map(({ seq, kind }) => `${seq} ${kind}`))
 */
export { Replay }

/**
 * What a scripted model says, given what it was told; in TypeScript or YAML.
 *
 * @example
 * const book = Playbook.parse("rules: [{ when: { user: hello }, reply: Hello yourself. }]", "greeting.yaml")
 */
export { Playbook }

/**
 * Files, directories and the facts of a machine in memory: the part of `TestRuntime` that is the disk.
 *
 * @example
 * const disk = MemoryWorkspace.layer({ "/work/notes.txt": "empty" }, { env: { LANG: "C" } })
 */
export { MemoryWorkspace }

/**
 * The scripted model in process: a `Provider`, and what it was asked.
 *
 * @example
 * const runtime = Runtime.layer({ provider: ScriptedModel.layer({ rules: [{ reply: "Hello." }] }) })
 * const asked = Effect.map(ScriptedModel.requests, (requests) => requests.length)
 */
export { ScriptedModel, type ScriptedModelOptions } from "./ScriptedModel.ts"

/**
 * The same over real HTTP, on loopback, for any client with a base URL; faults are destroyed sockets and silence.
 *
 * @example
 * const serving = Effect.gen(function* () {
 *   const { url, requests } = yield* ScriptedServer.serve({ playbook: { rules: [{ reply: "Hello." }] } })
 *   yield* Console.log(`ANTHROPIC_BASE_URL=${url}`)
 *   return yield* requests
 * }).pipe(Effect.scoped)
 */
export { ScriptedServer, ScriptedServerError, type ServeOptions, type Serving } from "./ScriptedServer.ts"

/**
 * A wait drawn from the seeded `Random`, by Clock: for tools and models in simulations.
 *
 * @example
 * const slow = Effect.andThen(latency("100ms", "2s"), Effect.succeed("done"))
 */
export { latency } from "./Timing.ts"

/**
 * What a playbook's function is told before it answers.
 *
 * @example
 * const reply = ({ user, turn }: Told) => `${turn}: you said ${user}`
 */
export type { Told } from "./Told.ts"

/**
 * A part of a scripted reply: text, thinking, a call, with its pace.
 *
 * @example
 * const steps: ReadonlyArray<Step> = [{ text: "I look.", delay: "50ms" }, { tool: "Read", input: { file_path: "a.txt" } }]
 */
export type { Step } from "./Reply.ts"

/**
 * When a rule answers.
 *
 * @example
 * const when: When = { tool: { name: "Bash", is_error: true }, turn: 2 }
 */
export type { When } from "./Matcher.ts"

/**
 * What goes wrong between client and model.
 *
 * @example
 * const busy: Fault = { status: 529, times: 2 }
 */
export type { Fault } from "./Fault.ts"

/**
 * One request to a scripted model, for assertions, and how it ended.
 *
 * @example
 * const gaveUp = (recording: Recording) => Effect.map(recording.ended, (outcome: Outcome) => outcome === "abandoned")
 */
export type { Outcome, Recording } from "./Recorder.ts"

/**
 * Which rule answered a request, which fault struck it, or why it was refused.
 *
 * @example
 * const why = ({ note }: Recording): Note["problem"] => note.problem
 */
export type { Note } from "./Player.ts"

/**
 * A request's body, as the Messages API spells it.
 *
 * @example
 * const length = ({ messages }: ApiRequest) => messages.length
 */
export type { ApiRequest } from "./ApiRequest.ts"
