/** Owns what one hook's end means: its exit code, its words or its judgement, by the row of the event. Pure. */
import type { EventSpec } from "./HookEvent.ts"
import { type HookEventName, specOf } from "./HookEvents.ts"
import type { Handler } from "./Handler.ts"
import * as HookOutput from "./HookOutput.ts"

/** How a hook ended, by itself. */
export type Ending =
  /** Of a command, or of what is read like one. `jsonOnly`: plain text is a mistake. */
  | {
      readonly _tag: "Exited"
      readonly exitCode: number
      readonly signal?: string
      readonly stdout: string
      readonly stderr: string
      readonly jsonOnly?: boolean
    }
  /** Of a model. */
  | { readonly _tag: "Judged"; readonly ok: boolean; readonly reason?: string; readonly impossible?: boolean }
  /** Of a function. */
  | { readonly _tag: "Returned"; readonly value: unknown }
  | { readonly _tag: "Failed"; readonly why: string }
  | { readonly _tag: "TimedOut"; readonly seconds: number }

/** The same, as far as the event cares. */
export interface Reply {
  readonly handler: Handler
  /** `PreToolUse:Bash`. */
  readonly name: string
  readonly outcome: "success" | "blocked" | "error" | "cancelled"
  readonly output: HookOutput.HookOutput
  /** Plain text on stdout. */
  readonly text?: string
  /** It blocks, whatever its JSON says. */
  readonly blocked?: string
  /** It ends the turn. */
  readonly stopped?: string
  /** For the model, without a block. */
  readonly told?: string
  /** For the person. */
  readonly shown?: string
  /** What went wrong with the hook itself. */
  readonly problem?: string
  readonly ending: Ending
}

export const read = (event: HookEventName, handler: Handler, name: string, ending: Ending): Reply => {
  const spec = specOf(event)
  const base = { handler, name, ending, output: HookOutput.silent }
  const fails = spec.exit2 === "fails"
  const broken = (problem: string): Reply => ({
    ...base,
    outcome: "error",
    problem,
    ...(fails && { blocked: problem }),
  })
  switch (ending._tag) {
    case "Failed":
      return broken(ending.why)
    case "TimedOut": {
      const problem = `gave no answer within ${ending.seconds} s, so what it may have said does not count`
      const guards =
        spec.timeoutBlocks === "all" || (spec.timeoutBlocks === "functions" && handler.action.type === "function")
      return {
        ...base,
        outcome: "cancelled",
        problem,
        ...((guards || fails) && { blocked: `The hook ${name} ${problem}.` }),
      }
    }
    case "Judged":
      return judged(spec, handler, base, ending)
    case "Returned": {
      const reading = HookOutput.readValue(event, ending.value)
      if (reading._tag === "Json") return { ...base, outcome: outcomeOf(reading.output), output: reading.output }
      return broken(reading._tag === "Misfit" ? reading.why : "returned plain text")
    }
    case "Exited":
      return exited(event, spec, base, ending)
  }
}

type Base = Pick<Reply, "handler" | "name" | "ending" | "output">

const exited = (
  event: HookEventName,
  spec: EventSpec,
  base: Base,
  ending: Extract<Ending, { readonly _tag: "Exited" }>,
): Reply => {
  const { exitCode, jsonOnly, signal, stderr, stdout } = ending
  const said = stderr.trim()
  const reading: HookOutput.Reading =
    spec.stdout === "path" && jsonOnly !== true
      ? { _tag: "Text", text: lastLine(stdout) }
      : HookOutput.readText(event, stdout)
  const output = reading._tag === "Json" ? reading.output : HookOutput.silent
  const text = reading._tag === "Text" && reading.text !== "" ? reading.text : undefined
  const doubt = reading._tag === "Misfit" ? reading.why : reading._tag === "Text" ? reading.doubt : undefined

  if (exitCode === 2 && spec.exit2 !== "fails") {
    const why = output.decision === "block" || output.specific.permissionDecision === "deny" ? undefined : said || text
    const first = { ...base, output, ...(doubt !== undefined && { problem: doubt }) }
    const reason =
      why ?? output.reason ?? output.specific.permissionDecisionReason ?? `The hook ${base.name} blocks it.`
    switch (spec.exit2) {
      case "blocks":
        return { ...first, outcome: "blocked", blocked: reason }
      case "tells the model":
        return { ...first, outcome: "blocked", told: reason }
      case "tells the person":
        return { ...first, outcome: "error", ...(said !== "" && { shown: said }) }
      case "is logged":
      case "is ignored":
        return { ...first, outcome: "success" }
    }
  }
  const trouble = exitCode === 0 ? undefined : status(exitCode, signal, said)
  if (spec.exit2 === "fails" && trouble !== undefined) {
    return { ...base, outcome: "error", problem: trouble, blocked: trouble }
  }
  if (reading._tag === "Misfit") return { ...base, outcome: "error", problem: reading.why }
  if (reading._tag === "Json") return { ...base, outcome: outcomeOf(output), output }
  if (jsonOnly === true && text !== undefined) {
    const problem = doubt ?? "answered with something else than a JSON object"
    return { ...base, outcome: "error", problem, ...(spec.exit2 === "fails" && { blocked: problem }) }
  }
  if (trouble !== undefined) return { ...base, outcome: "error", problem: trouble }
  return {
    ...base,
    outcome: "success",
    ...(text !== undefined && { text }),
    ...(doubt !== undefined && { problem: doubt }),
  }
}

/** Of what a hook complains about, in a diagnostic. */
const mostQuoted = 300

const status = (exitCode: number, signal: string | undefined, stderr: string): string => {
  const how = signal === undefined ? `failed with the exit code ${exitCode}` : `was ended by ${signal}`
  const first = (stderr.split("\n")[0] ?? "").slice(0, mostQuoted)
  return first === "" ? how : `${how}: ${first}`
}

const outcomeOf = ({ continue: goesOn, decision, specific }: HookOutput.HookOutput): Reply["outcome"] =>
  goesOn === false ||
  decision === "block" ||
  specific.permissionDecision === "deny" ||
  specific.decision?.behavior === "deny"
    ? "blocked"
    : "success"

/** A model's `ok: false`, by what it means at this event. */
const judged = (
  spec: EventSpec,
  handler: Handler,
  base: Base,
  { impossible, ok, reason }: Extract<Ending, { readonly _tag: "Judged" }>,
): Reply => {
  const { action } = handler
  if (ok || spec.notOk === "nothing") return { ...base, outcome: "success" }
  // What can never be reached is no reason to go on for ever.
  const isStop = handler.event === "Stop" || handler.event === "SubagentStop"
  if (isStop && impossible === true && action.type === "prompt") return { ...base, outcome: "success" }
  const why = reason === undefined || reason === "" ? `The hook ${base.name} is not satisfied.` : reason
  const ends = spec.notOk === "stop" && action.type === "prompt" && action.continueOnBlock !== true
  const tells = spec.exit2 === "tells the model" && !ends
  return {
    ...base,
    outcome: "blocked",
    ...(tells ? { told: why } : spec.exit2 === "blocks" ? { blocked: why } : {}),
    ...(ends && { stopped: why }),
  }
}

const escape = "\u001b"
const ansi = new RegExp(`${escape}\\[[0-9;?]*[A-Za-z]|${escape}\\][^\u0007]*\u0007`, "g")

const lastLine = (text: string): string =>
  text
    .replaceAll(ansi, "")
    .split("\n")
    .map((line) => line.trim())
    .findLast((line) => line !== "") ?? ""
