/**
 * Owns what a session knows beside its conversation, as data: what was asked for last, what was agreed, what did not work, who is at work
 * and what they came to. It is a fold over the journal like the conversation, so no compaction can lose any of it.
 */
import * as Schema from "effect/Schema"
import { NotedFacts } from "../protocol/Compaction.ts"
import { plainText, toBlocks } from "../protocol/Content.ts"
import type { DurableEvent, EventOf } from "../protocol/Event.ts"

const Request = Schema.Struct({ promptId: Schema.String, text: Schema.String })

/** Somebody sent out who has not come back. */
const Running = Schema.Struct({
  agentId: Schema.String,
  agentType: Schema.String,
  toolUseId: Schema.String,
  description: Schema.String,
})

/** Somebody who has, and what they came to. */
const Finished = Schema.Struct({
  agentId: Schema.String,
  agentType: Schema.String,
  description: Schema.String,
  result: Schema.String,
})

export const Facts = Schema.Struct({
  /** What a person asked for last, in their words. */
  lastRequest: Schema.NullOr(Request),
  /** And before that: the newest may turn out to be none. */
  requestBefore: Schema.NullOr(Request),
  /** What a summary found. */
  noted: NotedFacts,
  /** Calls that failed, the newest last: what was tried, and what came of it. */
  failures: Schema.Array(Schema.Struct({ call: Schema.String, why: Schema.String })),
  /** Calls under way, by their ids, in a few words. */
  calls: Schema.Record(Schema.String, Schema.String),
  /** Skills in use, the one used last at the end, with what they say. */
  skills: Schema.Array(
    Schema.Struct({ name: Schema.String, toolUseId: Schema.optionalKey(Schema.String), text: Schema.String }),
  ),
  running: Schema.Array(Running),
  finished: Schema.Array(Finished),
})
export type Facts = typeof Facts.Type

export const none: Facts = {
  lastRequest: null,
  requestBefore: null,
  noted: { acceptanceCriteria: [], decisions: [], failedApproaches: [], identifiers: [] },
  failures: [],
  calls: {},
  skills: [],
  running: [],
  finished: [],
}

/** The newest of each kind are kept. */
const most = { noted: 60, failures: 20, skills: 20, finished: 20 }
const longestResult = 8_000
const longestWhy = 400

/** Reads the events of one agent in their order. */
export const apply = (facts: Facts, event: DurableEvent): Facts => {
  switch (event._tag) {
    case "PromptReceived":
      return event.harness === true ? instructed(facts, event) : requested(facts, event)
    case "PromptExpanded":
      return withSkill(facts, { name: event.command, text: plainText(toBlocks(event.content).slice(1)) })
    case "PromptRefused":
      return facts.lastRequest?.promptId === event.promptId
        ? { ...facts, lastRequest: facts.requestBefore, requestBefore: null }
        : facts
    case "ToolStarted":
      return { ...facts, calls: { ...facts.calls, [event.toolUseId]: inBrief(event.tool, event.input) } }
    case "ToolEnded":
      return answered(facts, event)
    case "SubagentStarted": {
      const { agentId, agentType, description, toolUseId } = event
      return { ...facts, running: [...facts.running, { agentId, agentType, description, toolUseId }] }
    }
    case "Compacted":
      return event.facts === undefined ? facts : { ...facts, noted: merged(facts.noted, event.facts) }
    default:
      return facts
  }
}

const requested = (facts: Facts, { content, promptId }: EventOf<"PromptReceived">): Facts => {
  const text = plainText(content).trim()
  return text === "" ? facts : { ...facts, lastRequest: { promptId, text }, requestBefore: facts.lastRequest }
}

/** What a call said beside its result: the text of a skill. */
const instructed = (facts: Facts, { content, toolUseId }: EventOf<"PromptReceived">): Facts => {
  const skill = facts.skills.find((one) => one.toolUseId !== undefined && one.toolUseId === toolUseId)
  if (skill === undefined) return facts
  const text = [skill.text, plainText(content)].filter((part) => part !== "").join("\n\n")
  return withSkill(facts, { ...skill, text })
}

const withSkill = (facts: Facts, skill: Facts["skills"][number]): Facts => {
  const others = facts.skills.filter(({ name }) => name !== skill.name)
  return { ...facts, skills: newest([...others, skill], most.skills) }
}

const answered = (facts: Facts, event: EventOf<"ToolEnded">): Facts => {
  const { [event.toolUseId]: call = event.tool, ...calls } = facts.calls
  const after = { ...facts, calls }
  const text = typeof event.content === "string" ? event.content : plainText(event.content)
  const sent = facts.running.find(({ toolUseId }) => toolUseId === event.toolUseId)
  if (sent !== undefined) {
    const { agentId, agentType, description } = sent
    const report = { agentId, agentType, description, result: text.slice(0, longestResult) }
    return {
      ...after,
      running: facts.running.filter((one) => one !== sent),
      finished: newest([...facts.finished, report], most.finished),
    }
  }
  if (event.outcome === "failed") {
    const failure = { call, why: text.trim().slice(0, longestWhy) }
    return { ...after, failures: newest([...facts.failures, failure], most.failures) }
  }
  const name = event.tool === "Skill" && isUsed(event.structured) ? event.structured.commandName : undefined
  if (name === undefined) return after
  // One that is used again says no more than that.
  const known = facts.skills.find((one) => one.name === name)?.text ?? ""
  return withSkill(after, { name, toolUseId: event.toolUseId, text: known })
}

const isUsed = Schema.is(Schema.Struct({ commandName: Schema.String, status: Schema.Literal("inline") }))

/** `Bash npm test`: the tool and the first thing it was told. */
const inBrief = (tool: string, input: unknown): string => {
  const said =
    typeof input === "object" && input !== null
      ? Object.values(input).find((one) => typeof one === "string")
      : undefined
  return said === undefined ? tool : `${tool} ${String(said).slice(0, 200)}`
}

/** The same text twice is one fact; the newest say it last. */
export const merged = (before: NotedFacts, now: NotedFacts): NotedFacts => {
  const both = (key: keyof NotedFacts) => newest([...new Set([...before[key], ...now[key]])], most.noted)
  return {
    acceptanceCriteria: both("acceptanceCriteria"),
    decisions: both("decisions"),
    failedApproaches: both("failedApproaches"),
    identifiers: both("identifiers"),
  }
}

const newest = <A>(all: ReadonlyArray<A>, count: number): ReadonlyArray<A> => all.slice(-count)

/** What one says and the other does not. */
export const newIn = (some: NotedFacts, others: NotedFacts): ReadonlyArray<string> => {
  const known = new Set(Object.values(others).flat())
  return Object.values(some)
    .flat()
    .filter((one) => !known.has(one))
}
