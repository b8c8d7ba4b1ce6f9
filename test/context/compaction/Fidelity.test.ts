/**
 * Whatever is done to a conversation to make room: lines that must survive are found in it byte for byte, or in a file that it names, and
 * the service would accept it.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Layers from "../../../src/context/compaction/Layers.ts"
import * as Summary from "../../../src/context/compaction/Summary.ts"
import * as Triage from "../../../src/context/compaction/Triage.ts"
import * as Tokens from "../../../src/platform/Tokens.ts"
import { plainText, toBlocks } from "../../../src/protocol/Content.ts"
import type { DurableEvent, EventOf } from "../../../src/protocol/Event.ts"
import type { Message } from "../../../src/protocol/Message.ts"
import * as History from "../../../src/session/History.ts"
import * as StrictApi from "../../../src/testing/StrictApi.ts"
import { begun, block, call, done, ended, id, prompt, request, turnEnded } from "../../session/events.ts"

/** Real output, as it was taken for the labelled corpus. */
const Item = Schema.Struct({
  tool: Schema.optionalKey(Schema.String),
  command: Schema.optionalKey(Schema.String),
  isError: Schema.optionalKey(Schema.Boolean),
  content: Schema.String,
})
const outputs = ["tuning-real", "heldout-real"].flatMap((name) =>
  fs
    .readFileSync(path.join(import.meta.dirname, "..", "triage", `${name}.jsonl`), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(Item))(line)),
)
const prose = "The sum is taken over all lines of the cart, and rounded once at the end. "

/** A session that is written, and put shorter, by a list of numbers. */
class Session {
  readonly history = History.make()
  /** Every unit that was ever said. */
  readonly units = new Set<string>()
  readonly files = new Map<string, string>()
  compactions = 0
  private serial = 0

  play(step: number): void {
    const kind = step % 8
    if (kind === 0) return this.summary(step)
    if (kind === 1) return this.layers(step)
    this.turn(step)
  }

  private say(...events: ReadonlyArray<DurableEvent>): void {
    for (const event of events) this.history.apply(event)
  }

  private turn(step: number): void {
    const rounds = 1 + (step % 4)
    this.say(prompt(`Please look at step ${step}. ${prose.repeat(step % 5)}`))
    for (let round = 0; round < rounds; round++) {
      const requestId = `r${++this.serial}`
      this.say(request(requestId), block(requestId, `${prose.repeat(step % 30)} (${this.serial})`))
      const calls = Array.from({ length: 1 + ((step >> round) % 3) }, (_, at) => {
        const output = outputs[(step * 7 + round * 13 + at * 29) % outputs.length]
        assert(output !== undefined)
        return { toolUseId: `c${++this.serial}`, output }
      })
      for (const { output, toolUseId } of calls) {
        const { command, tool = "Bash" } = output
        this.say(block(requestId, call(toolUseId, { command: command ?? "look" }, tool)))
      }
      this.say(ended(requestId, "tool_use"))
      for (const { output, toolUseId } of calls) {
        // The same output of two calls would hide that one of them was lost.
        const content = output.content.replace(/\b(\d{2,})\b/, `$1${this.serial}`)
        this.say(begun(toolUseId), done(toolUseId, content, output.isError === true ? "failed" : "completed"))
        for (const { text } of Triage.units({
          source: "tool_result",
          tool: output.tool ?? "Bash",
          command: output.command ?? "look",
          ...(output.isError === true && { isError: true }),
          content,
        })) {
          this.units.add(text)
        }
      }
    }
    const last = `r${++this.serial}`
    this.say(request(last), block(last, `Done with step ${step}. ${prose.repeat(step % 7)}`), ended(last), turnEnded())
  }

  private readonly fileOf = (text: string): string =>
    `/kept/${Tokens.estimate(text)}-${text.length}-${text.slice(-20).length}.txt`

  private compacted(event: Pick<EventOf<"Compacted">, "layer" | "results" | "spans" | "facts">): void {
    this.compactions++
    this.say({ _tag: "Compacted", uuid: id(1), trigger: "auto", preTokens: 0, postTokens: 0, ...event })
  }

  private layers(step: number): void {
    const messages = this.history.messages()
    const tokens = Layers.sizeOf(messages)
    for (const made of Layers.plan({
      messages,
      tokens,
      target: Math.floor((tokens * (step % 10)) / 10),
      untouchedFrom: Math.max(0, messages.length - (step % 6)),
      largestResult: 200 + (step % 2_000),
      fileOf: this.fileOf,
    })) {
      for (const { path, text } of made.archived) this.files.set(path, text)
      this.compacted(made)
    }
  }

  private summary(step: number): void {
    const messages = this.history.messages()
    if (messages.length < 2) return
    const standIn = Summary.compose({
      messages,
      wordsOf: ({ content }) =>
        toBlocks(content).flatMap((one) =>
          one.type === "text" && this.history.promptOfBlock(one) !== undefined ? [one.text] : [],
        ),
      written: { summary: `Step ${step} was done.`, noted: this.history.facts.noted },
      facts: this.history.facts,
      told: this.history.told,
      beside: { tasks: [], skills: [] },
      room: 60_000,
      fileOf: this.fileOf,
    })
    for (const { path, text } of standIn.archived) this.files.set(path, text)
    const spans = [{ from: 0, to: messages.length, content: standIn.content }]
    this.compacted({ layer: "summary", results: {}, spans, facts: standIn.noted })
  }
}

const textOf = (messages: ReadonlyArray<Message>): string =>
  messages
    .flatMap(({ content }) =>
      toBlocks(content).map((one) => {
        if (one.type !== "tool_result") return one.type === "text" ? one.text : ""
        return typeof one.content === "string" ? one.content : plainText(one.content ?? [])
      }),
    )
    .join("\n")

const steps = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(24),
)

describe("a conversation that is put shorter again and again", () => {
  it.prop(
    "keeps every line that must survive, and stays a conversation",
    { steps },
    ({ steps }) => {
      const session = new Session()
      for (const step of steps) {
        session.play(step)
        const messages = session.history.messages()
        if (messages.length === 0) continue
        const next = [...messages, { role: "user" as const, content: "and then?" }]
        assert.isUndefined(StrictApi.problem({ model: "m", max_tokens: 1, messages: next }, { mayContinue: false }))
      }
      const said = textOf(session.history.messages())
      let all = 0
      let named = 0
      for (const unit of session.units) {
        all += Tokens.estimate(unit)
        if (said.includes(unit)) continue
        named += Tokens.estimate(unit)
        const file = [...session.files].find(([path, text]) => said.includes(path) && text.includes(unit))
        assert(file !== undefined, `lost:\n${unit}`)
      }
      assert.isAtMost(named, all * 0.3)
    },
    { arbitrary: { runs: 60 } },
  )
})
