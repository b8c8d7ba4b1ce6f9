/**
 * Owns the play of one playbook: which rule answers a request, which fault strikes it, and the counts both depend on.
 *
 * It is synchronous and knows no clock and no socket: the in-process model and the server perform the same answers.
 */
import type { ApiRequest } from "./ApiRequest.ts"
import * as Fault from "./Fault.ts"
import * as Matcher from "./Matcher.ts"
import type { Playbook, Rule } from "./Playbook.ts"
import * as PromptCache from "./PromptCache.ts"
import * as Reply from "./Reply.ts"
import * as StrictApi from "./StrictApi.ts"
import * as StrictModels from "./StrictModels.ts"
import * as Template from "./Template.ts"
import * as Told from "./Told.ts"

/** What happened to a request, for assertions. */
export interface Note {
  /** The rule that answered. */
  readonly rule?: string
  readonly fault?: string
  /** Why the request was refused, where no fault was asked for. */
  readonly problem?: string
}

export type Answer =
  | { readonly _tag: "Refused"; readonly refusal: Fault.Refusal; readonly note: Note }
  | {
      readonly _tag: "Replied"
      readonly reply: Reply.Reply
      readonly fault: Fault.Fault | undefined
      readonly note: Note
    }

export interface Options {
  /** See `PromptCache.make`. */
  readonly cache: "marks" | "always"
  /** Refuse what a real API would refuse. On unless a test is about something else. */
  readonly strict?: boolean
}

export interface Player {
  /** `now` by Clock: entries of the prompt cache expire. */
  readonly play: (body: ApiRequest, now?: number) => Answer
  readonly countTokens: (body: Pick<ApiRequest, "messages" | "system" | "tools" | "model">) => number
}

interface Picked {
  readonly rule: Rule
  readonly name: string
  readonly captures: Matcher.Captures
  readonly fault: Fault.Fault | undefined
}

export const make = (book: Playbook, options: Options): Player => {
  const cache = PromptCache.make(options.cache)
  const struck = new Map<Fault.Fault, number>()
  const spent = new Set<Rule>()
  const turns = book.turns ?? []
  let [requests, played, replies, calls, mayContinue] = [0, 0, 0, 0, false]

  const pickFault = (faults: ReadonlyArray<Fault.Fault>, told: Told.Told): Fault.Fault | undefined =>
    faults.find(
      (fault) =>
        (struck.get(fault) ?? 0) < (fault.times ?? Infinity) &&
        (told.body.stream === true || !Fault.streamOnly(fault)) &&
        Matcher.match(fault.when, told).matched,
    )

  /** The rule that answers, or why each one does not. */
  const pick = (told: Told.Told): Picked | ReadonlyArray<string> => {
    const turn = turns[played]
    const candidates = [
      ...(turn === undefined ? [] : [{ rule: turn, name: turn.name ?? `turn ${played + 1}` }]),
      ...(book.rules ?? []).map((rule, index) => ({ rule, name: rule.name ?? `rule ${index + 1}` })),
    ]
    const considered: Array<string> = []
    for (const { rule, name } of candidates) {
      const verdict: Matcher.Verdict = spent.has(rule)
        ? { matched: false, why: "it answers once, and has" }
        : Matcher.match(rule.when, told)
      if (!verdict.matched) {
        considered.push(`${name}: ${verdict.why}`)
        continue
      }
      const fault = pickFault(rule.faults ?? [], told)
      if (rule.reply !== undefined || fault !== undefined) return { rule, name, captures: verdict.captures, fault }
      considered.push(`${name}: it has no reply, and its faults are used up`)
    }
    return considered
  }

  const stepsOf = ({ rule, captures }: Picked, told: Told.Told): ReadonlyArray<Reply.Step> => {
    const reply = typeof rule.reply === "function" ? rule.reply(told) : (rule.reply ?? [])
    const steps: ReadonlyArray<Reply.Step> = typeof reply === "string" ? [{ text: reply }] : reply
    if (typeof rule.reply === "function") return steps
    const text = (value: string) => Template.fillText(value, told, captures)
    return steps.map((step) => ({
      ...step,
      ...(step.text !== undefined && { text: text(step.text) }),
      ...(step.thinking !== undefined && { thinking: text(step.thinking) }),
      ...(step.raw !== undefined && { raw: text(step.raw) }),
      ...(step.input !== undefined && { input: fillRecord(step.input, told, captures) }),
    }))
  }

  const perform = (
    picked: Picked,
    told: Told.Told,
    fault: Fault.Fault | undefined,
    prompt: PromptCache.PromptTokens,
  ) => {
    const used = toolIds(told.body)
    const toolId = () => {
      // A new process starts counting again, but the history it is sent may hold ids of the one before.
      do calls++
      while (used.has(`toolu_scripted_${calls}`))
      return `toolu_scripted_${calls}`
    }
    const { rule } = picked
    return Reply.make({
      id: `msg_scripted_${told.body.messages.length}_${++replies}`,
      model: told.model,
      steps: spoil(stepsOf(picked, told), fault),
      ending: rule,
      pace: { ...book.pace, ...rule.pace, ...(fault?.slow !== undefined && { chunk: 8 }) },
      prompt,
      maxTokens: fault?.overflow === undefined ? told.body.max_tokens : undefined,
      toolId,
      signature: StrictModels.sign(told.body),
    })
  }

  const play = (body: ApiRequest, now = 0): Answer => {
    const told = Told.make(body, ++requests)
    const wrong = options.strict === false ? undefined : StrictApi.problem(body, { mayContinue })
    if (wrong !== undefined) return refused(Fault.refusal(400, wrong), { problem: wrong })
    if (book.models !== undefined && !book.models.includes(body.model)) {
      const missing = `model: ${body.model} (this playbook knows ${book.models.join(", ")})`
      return refused(Fault.refusal(404, missing), { problem: missing })
    }
    const general = pickFault(book.faults ?? [], told)
    const picked = general !== undefined && isRefusal(general) ? undefined : pick(told)
    if (picked !== undefined && !("rule" in picked)) {
      const message = unanswered(book, told, picked)
      return refused(Fault.refusal(400, message), { problem: message })
    }
    const fault = general ?? picked?.fault
    const note = {
      ...(picked !== undefined && { rule: picked.name }),
      ...(fault !== undefined && { fault: Fault.nameOf(fault) }),
    }
    if (fault !== undefined) struck.set(fault, (struck.get(fault) ?? 0) + 1)
    if (fault !== undefined && isRefusal(fault)) {
      const refusal = Fault.refusalOf(fault, cache.count(body))
      if (refusal !== undefined) return refused(refusal, note)
    }
    if (picked === undefined) return refused(Fault.refusal(500, "a fault without an answer"), note)
    const reply = perform(picked, told, fault, cache.read(body, now))
    if (fault === undefined || Fault.delivers(fault)) {
      if (picked.rule === turns[played]) played++
      if (picked.rule.once === true) spent.add(picked.rule)
      mayContinue ||= reply.whole.stop_reason === "pause_turn"
    }
    return { _tag: "Replied", reply: paced(reply, fault), fault, note }
  }

  return { play, countTokens: cache.count }
}

const refused = (refusal: Fault.Refusal, note: Note): Answer => ({ _tag: "Refused", refusal, note })

const isRefusal = (fault: Fault.Fault): boolean =>
  fault.status !== undefined || fault.prompt_too_long !== undefined || fault.spend_cap !== undefined

const unanswered = (book: Playbook, told: Told.Told, considered: ReadonlyArray<string>): string =>
  [
    `The scripted model has no answer: no rule of ${book.name ?? "the playbook"} matches request ${told.request} (turn ${told.turn}).`,
    `Last message: ${Told.lastMessage(told.body)}`,
    ...considered.map((line) => `- ${line}`),
    "Add a rule, or widen the conditions of one of these.",
  ].join("\n")

const toolIds = (body: ApiRequest): ReadonlySet<string> =>
  new Set(
    body.messages.flatMap((message) =>
      typeof message.content === "string"
        ? []
        : message.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])),
    ),
  )

const fillRecord = (input: Readonly<Record<string, unknown>>, told: Told.Told, captures: Matcher.Captures) =>
  Object.fromEntries(Object.entries(input).map(([key, value]) => [key, Template.fillValue(value, told, captures)]))

/** What a fault does to the words themselves. */
const spoil = (steps: ReadonlyArray<Reply.Step>, fault: Fault.Fault | undefined): ReadonlyArray<Reply.Step> => {
  if (fault?.overflow !== undefined) return [{ text: overflowing(fault.overflow), chunk: 4096 }, ...steps]
  if (fault?.malformed === undefined) return steps
  const last = steps.findLastIndex((step) => step.tool !== undefined)
  return steps.map((step, index) => {
    if (index !== last) return step
    const json = step.raw ?? JSON.stringify(step.input ?? {})
    return { ...step, cut: Math.floor(json.length / 2) }
  })
}

const overflowing = (length: number): string => "too much text ".repeat(Math.ceil(length / 14)).slice(0, length)

const paced = (reply: Reply.Reply, fault: Fault.Fault | undefined): Reply.Reply => {
  const slow = fault?.slow
  if (slow === undefined) return reply
  return { ...reply, events: reply.events.map(({ event }) => ({ event, delay: slow })) }
}
