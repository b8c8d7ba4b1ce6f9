/** Owns the public face of `troupe/testing`: a scripted model, in process and over HTTP, a workspace in memory, and a whole runtime on both. */
import * as MemoryWorkspace from "./MemoryWorkspace.ts"
import * as Playbook from "./Playbook.ts"
import * as TestRuntime from "./TestRuntime.ts"

export { MemoryWorkspace, Playbook, TestRuntime }
export type { ApiRequest } from "./ApiRequest.ts"
export type { Fault } from "./Fault.ts"
export type { When } from "./Matcher.ts"
export type { Note } from "./Player.ts"
export type { Outcome, Recording } from "./Recorder.ts"
export type { Step } from "./Reply.ts"
export { ScriptedModel, type ScriptedModelOptions } from "./ScriptedModel.ts"
export { ScriptedServer, ScriptedServerError, type ServeOptions, type Serving } from "./ScriptedServer.ts"
export { latency } from "./Timing.ts"
export type { Told } from "./Told.ts"
