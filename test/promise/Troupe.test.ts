import { afterEach, assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  type Agent,
  codingTools,
  createTroupe,
  type Event,
  type ModelProvider,
  ProviderError,
  tool,
  TroupeError,
  type TroupeErrorCode,
  type TroupeOptions,
} from "../../src/promise/index.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"

const made: Array<() => void | Promise<void>> = []
afterEach(async () => {
  for (const undo of made.splice(0).toReversed()) await undo()
})

const directory = () => {
  const path = mkdtempSync(join(tmpdir(), "troupe-promise-"))
  made.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A troupe of its own, whose model plays the book. */
const stage = async (book: Playbook, options: TroupeOptions = {}) => {
  const cwd = directory()
  const provider = ScriptedModel.layer(book)
  const troupe = await createTroupe({ provider, cwd, configDir: join(cwd, "config"), ...options })
  made.push(troupe.close)
  return { troupe, cwd }
}

const rejection = async (promise: Promise<unknown>, code: TroupeErrorCode): Promise<TroupeError> => {
  const error: unknown = await promise.then(
    (value) => assert.fail(`it was fulfilled with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  assert.instanceOf(error, TroupeError)
  assert.strictEqual(error.code, code, error.message)
  return error
}

/** Waits for an event of a turn, and leaves the iterator where it is. */
const until = async (turn: AsyncIterator<Event>, tag: Event["_tag"]): Promise<void> => {
  for (let next = await turn.next(); next.done !== true; next = await turn.next()) if (next.value._tag === tag) return
  assert.fail(`there was no ${tag}`)
}

const idle = async (agent: Agent): Promise<void> => {
  while ((await agent.status()).busy) await agent.interrupt()
}

const hello: Playbook = { rules: [{ reply: "Hello, ${lastUser}" }] }
const silent: Playbook = {
  rules: [
    { when: { user: "again" }, reply: "Here I am." },
    { reply: "Never heard", faults: [{ stall: 0 }] },
  ],
}

describe("troupe/promise", () => {
  it("streams what happens and gives the end as a value", async () => {
    const { troupe } = await stage({ rules: [{ reply: "Hello." }] })
    const agent = await troupe.open()
    const tags = []
    for await (const event of agent.prompt("Hi")) tags.push(event._tag)
    assert.strictEqual(tags[0], "PromptReceived")
    assert.include(tags, "StreamChunk")
    assert.strictEqual(tags.at(-1), "TurnEnded")

    const result = await agent.run("Hi again")
    assert.strictEqual(result.text, "Hello.")
    assert.deepStrictEqual(result.terminal, { reason: "completed" })
    assert.isTrue(result.ok)
    assert.strictEqual(result.turns, 1)
    assert.isAbove(result.usage.input_tokens + result.usage.cache_read_input_tokens, 0)
    assert.isAbove(result.costUsd, 0)
    assert.isUndefined(result.structuredOutput)
  })

  it("runs plain async functions as tools, described by a JSON Schema or typed by an Effect Schema", async () => {
    const progress: Array<string> = []
    const weather = tool({
      name: "Weather",
      description: "How warm it is.",
      input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      readOnly: true,
      run: async ({ city }, context) => {
        context.progress("looking")
        return `21 °C in ${String(city)}`
      },
    })
    const double = tool({
      name: "Double",
      description: "Twice a number.",
      input: Schema.Struct({ n: Schema.Finite }),
      readOnly: true,
      run: ({ n }) => {
        if (n < 0) throw new Error("not below zero")
        return { content: String(n * 2), structured: { twice: n * 2 } }
      },
    })
    const { troupe } = await stage({
      turns: [
        { reply: [{ tool: "Weather", input: { city: 7 } }] },
        {
          when: { tool: { name: "Weather", is_error: true, contains: "do not fit" } },
          reply: [{ tool: "Weather", input: { city: "Oslo" } }],
        },
        { when: { tool: { contains: "21 °C in Oslo" } }, reply: [{ tool: "Double", input: { n: -1 } }] },
        {
          when: { tool: { is_error: true, contains: "not below zero" } },
          reply: [{ tool: "Double", input: { n: 21 } }],
        },
        { when: { tool: { contains: "42" } }, reply: "Done." },
      ],
    })
    const agent = await troupe.open({ tools: [weather, double] })
    for await (const event of agent.prompt("Go")) {
      if (event._tag === "ToolProgressed") progress.push(event.text)
      if (event._tag === "TurnEnded") assert.strictEqual(event.result, "Done.", JSON.stringify(event.terminal))
    }
    assert.deepStrictEqual(progress, ["looking"])
  })

  it("tells of a tool whose schema cannot be used", () => {
    const make = () => tool({ name: "Odd", description: "", input: { type: "string" }, run: () => "" })
    assert.throws(make, TroupeError, "Odd")
  })

  it("decodes the answer with the output Schema, and leaves it as JSON with a JSON Schema", async () => {
    const { troupe } = await stage({ rules: [{ reply: '{"files":3,"risk":"low"}' }] })
    const output = Schema.Struct({ files: Schema.Int, risk: Schema.Literals(["low", "high"]) })
    const typed = await troupe.open({ output })
    const { value } = await typed.run("Review it")
    const files: number | undefined = value?.files
    assert.strictEqual(files, 3)
    const stricter = await troupe.open({ output: Schema.Struct({ files: Schema.Int.check(Schema.isLessThan(3)) }) })
    await rejection(stricter.run("Review it"), "no_output")
    const plain = await troupe.open({ jsonSchema: { type: "object", properties: { files: { type: "number" } } } })
    assert.deepStrictEqual((await plain.run("Review it")).structuredOutput, { files: 3, risk: "low" })
    const bad = await rejection(troupe.open({ jsonSchema: 7 }), "bad_output_schema")
    assert.include(bad.message, "JSON Schema")
  })

  it("ends the turn when the signal is aborted", async () => {
    const { troupe } = await stage(silent)
    const agent = await troupe.open()
    const controller = new AbortController()
    const turn = agent.prompt("Say nothing", { signal: controller.signal })
    await until(turn, "RequestSent")
    controller.abort(new Error("enough"))
    const drain = async () => {
      for await (const event of turn) assert.notStrictEqual(event._tag, "TurnEnded")
    }
    const error = await rejection(drain(), "aborted")
    assert.strictEqual(error.name, "AbortError")
    assert.instanceOf(error.cause, Error)
    assert.strictEqual((await agent.run("again")).text, "Here I am.")

    await rejection(agent.run("Never sent", { signal: controller.signal }), "aborted")
    assert.notInclude(readFileSync(agent.journalPath, "utf8"), "Never sent")
    const late = new AbortController()
    const running = agent.run("Say nothing", { signal: late.signal })
    while (!(await agent.status()).busy);
    late.abort()
    await rejection(running, "aborted")
    assert.strictEqual((await agent.run("again")).text, "Here I am.")
  })

  it("ends the turn when its iterator is left early", async () => {
    const { troupe } = await stage(silent)
    const agent = await troupe.open()
    for await (const event of agent.prompt("Say nothing")) if (event._tag === "RequestSent") break
    assert.strictEqual((await agent.run("again")).text, "Here I am.")
    {
      await using turn = agent.prompt("Say nothing")
      await until(turn, "RequestSent")
    }
    assert.strictEqual((await agent.run("again")).text, "Here I am.")
  })

  it("does nothing for a turn that nobody asks for events", async () => {
    const { troupe } = await stage(hello)
    const agent = await troupe.open()
    const turn = agent.prompt("unheard")
    await turn.return?.()
    assert.deepStrictEqual(await turn.next(), { done: true, value: undefined })
    assert.deepInclude(await agent.status(), { busy: false, queued: 0 })
  })

  it("steers, interrupts and changes what the next request uses", async () => {
    const { troupe } = await stage({
      rules: [
        { when: { user: "instead" }, reply: "As you like." },
        { reply: "Never heard", faults: [{ stall: 0 }] },
      ],
    })
    const agent = await troupe.open({ model: "sonnet" })
    const turn = agent.prompt("Go")
    await until(turn, "RequestSent")
    assert.deepInclude(await agent.status(), { busy: true, queued: 0, model: "sonnet", permissionMode: "default" })
    await agent.setModel("opus")
    await agent.setPermissionMode("plan")
    await agent.steer("Do this instead", { now: true })
    let text = ""
    for await (const event of turn) if (event._tag === "TurnEnded") text = event.result
    assert.strictEqual(text, "As you like.")
    await idle(agent)
    assert.deepInclude(await agent.status(), { busy: false, model: "opus", permissionMode: "plan" })

    assert.isFalse(await agent.interrupt())
    const running = agent.run("Wait")
    while (!(await agent.status()).busy);
    assert.isTrue(await agent.interrupt())
    const { ok, terminal } = await running
    assert.isFalse(ok)
    assert.strictEqual(terminal.reason, "aborted_streaming")
  })

  it("resumes a session, forks it, and finds the latest one", async () => {
    const { troupe, cwd } = await stage({
      rules: [{ when: { history: "the word is yes" }, reply: "yes" }, { reply: "?" }],
    })
    const first = await troupe.open()
    await first.run("the word is yes")
    const busy = await rejection(troupe.resume(first.sessionId), "session_busy")
    assert.include(busy.message, first.sessionId)
    const copy = await troupe.fork(first.sessionId)
    assert.notStrictEqual(copy.sessionId, first.sessionId)
    assert.strictEqual((await copy.run("what is it?")).text, "yes")
    await copy.close()
    await first.close()
    await using second = await troupe.resume(first.sessionId)
    assert.strictEqual((await second.run("what is it?")).text, "yes")
    assert.include([first.sessionId, copy.sessionId], (await troupe.latest(cwd)) ?? "")
    assert.strictEqual(await troupe.latest(), await troupe.latest(cwd))
    await rejection(troupe.resume("00000000-0000-4000-8000-000000000000"), "session_not_found")
    await rejection(troupe.open({ sessionId: first.sessionId }), "session_busy")
    await second.close()
    await rejection(troupe.open({ sessionId: first.sessionId }), "bad_session_id")
    await troupe.resume(first.sessionId) // what failed holds nothing
  })

  it("asks the callback about what needs permission", async () => {
    const book: Playbook = {
      rules: [
        { when: { tool: { is_error: true } }, reply: "denied: ${lastToolResult}" },
        { when: { tool: "Write" }, reply: "written" },
        { reply: [{ tool: "Write", input: { file_path: "a.txt", content: "a" } }] },
      ],
    }
    const { troupe } = await stage(book)
    const asked: Array<string> = []
    const yes = await troupe.open({ tools: codingTools, approve: ({ tool }) => asked.push(tool) > 0 })
    assert.strictEqual((await yes.run("Write")).text, "written")
    assert.deepStrictEqual(asked, ["Write"])
    const no = await troupe.open({
      tools: codingTools,
      approve: async () => ({ allow: false, reason: "not on Fridays" }),
    })
    assert.include((await no.run("Write")).text, "not on Fridays")
    const broken = await troupe.open({ tools: codingTools, approve: () => Promise.reject(new Error("no line")) })
    assert.include((await broken.run("Write")).text, "no line")
    const nobody = await troupe.open({ tools: codingTools })
    assert.include((await nobody.run("Write")).text, "nobody is there")
  })

  it("keeps to the budgets of the turn, the agent and the troupe", async () => {
    const { troupe } = await stage(silent, { budget: { name: "all", turns: 3 } })
    const agent = await troupe.open({ budget: { name: "agent", turns: 2 } })
    assert.strictEqual((await agent.run("Nothing", { budget: { turns: 0 } })).terminal.reason, "max_turns")
    const late = await agent.run("Say nothing", { budget: { wall: "20 millis" } })
    assert.strictEqual(late.terminal.reason, "deadline")
    assert.isTrue((await agent.run("again")).ok)
    assert.include((await agent.run("again")).terminal.detail ?? "", '"agent"')
    const other = await troupe.open()
    assert.isTrue((await other.run("again")).ok)
    assert.include((await other.run("again")).terminal.detail ?? "", '"all"')
  })

  it("closes agents and itself, and says so afterwards", async () => {
    const { troupe } = await stage(silent)
    const agent = await troupe.open()
    const running = rejection(agent.run("Say nothing"), "closed")
    const queued = rejection(agent.prompt("Queued").next(), "closed")
    while ((await agent.status()).queued === 0);
    await agent.close()
    await agent.close()
    await Promise.all([running, queued])
    await rejection(agent.run("again"), "closed")
    await rejection(agent.prompt("again").next(), "closed")
    await rejection(agent.status(), "closed")
    const other = await troupe.resume(agent.sessionId)
    const last = rejection(other.run("Say nothing"), "closed")
    while (!(await other.status()).busy);
    await troupe.close()
    await last
    await rejection(troupe.open(), "closed")
    await rejection(troupe.latest(), "closed")
    await troupe.close()
  })

  it("lives beside others in one process, each with its own model, place and variables", async () => {
    const say = (text: string): Playbook => ({ rules: [{ reply: text }] })
    const [a, b] = await Promise.all([stage(say("I am a")), stage(say("I am b"))])
    const keyless = await stage(hello, {
      provider: undefined,
      env: { ANTHROPIC_API_KEY: undefined, ANTHROPIC_AUTH_TOKEN: undefined },
    })
    const [one, two, three] = await Promise.all([a.troupe.open(), b.troupe.open(), keyless.troupe.open()])
    const results = await Promise.all([one.run("Who?"), two.run("Who?"), three.run("Who?")])
    assert.deepStrictEqual(
      results.map(({ text }) => text),
      ["I am a", "I am b", ""],
    )
    assert.strictEqual(results[2].terminal.reason, "api_error")
    assert.include(results[2].terminal.detail ?? "", "ANTHROPIC_API_KEY")
    const modelled = await stage(hello, { env: { ANTHROPIC_MODEL: "opus" } })
    assert.strictEqual((await (await modelled.troupe.open()).status()).model, "opus")
    assert.notStrictEqual((await one.status()).model, "opus")
    await rejection(b.troupe.resume(one.sessionId), "session_not_found")
    await a.troupe.close()
    assert.strictEqual((await two.run("Still there?")).text, "I am b")
  })

  it("talks to a model of plain functions, and hears how it failed", async () => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    let failures: Array<unknown> = []
    let shown: ReadonlyArray<unknown> = []
    const provider: ModelProvider = {
      name: "parrot",
      async *stream({ requestId, model, messages, tools }) {
        shown = tools.map(({ input_schema }) => input_schema)
        const failure = failures.shift()
        if (failure !== undefined) throw failure
        const last = messages.at(-1)?.content
        const text = `${messages.length}: ${typeof last === "string" ? last : JSON.stringify(last)}`
        yield { type: "message_start", message: { id: requestId, model, usage } }
        yield { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }
        yield { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }
        yield { type: "content_block_stop", index: 0 }
        yield { type: "message_delta", delta: { stop_reason: "end_turn" }, usage }
        yield { type: "message_stop" }
      },
      whole: () => Promise.reject(new Error("only streams")),
    }
    const { troupe } = await stage(hello, { provider })
    const input = { type: "object", properties: { seeds: { type: "integer", description: "how many" } } }
    const agent = await troupe.open({ tools: [tool({ name: "Feed", description: "", input, run: () => "" })] })
    assert.include((await agent.run("Polly")).text, "Polly")
    assert.deepStrictEqual(shown, [input])
    failures = [new ProviderError({ reason: "overloaded", message: "busy", retryable: true, retryAfterMs: 1 })]
    assert.isTrue((await agent.run("Polly")).ok)
    failures = [new Error("no seeds")]
    const { terminal } = await agent.run("Polly")
    assert.strictEqual(terminal.reason, "api_error")
    assert.include(terminal.detail ?? "", "parrot failed: no seeds")
  })

  it("cuts a model of plain functions off when the turn is aborted", async () => {
    let signal: AbortSignal | undefined
    const provider: ModelProvider = {
      name: "mute",
      // eslint-disable-next-line require-yield -- it never says anything
      async *stream(_request, aborted) {
        signal = aborted
        await new Promise((_, reject) => aborted.addEventListener("abort", () => reject(new Error("cut off"))))
      },
      whole: () => Promise.reject(new Error("only streams")),
    }
    const { troupe } = await stage(hello, { provider })
    const agent = await troupe.open()
    for await (const event of agent.prompt("Hm?")) if (event._tag === "RequestSent") break
    await idle(agent)
    assert.isTrue(signal === undefined || signal.aborted)
  })

  it("rejects with what is wrong with the settings", async () => {
    const cwd = directory()
    writeFileSync(join(cwd, "managed-settings.json"), "{")
    const error = await rejection(
      createTroupe({ cwd, configDir: join(cwd, "config"), settings: { managedDirectory: cwd } }),
      "settings",
    )
    assert.include(error.message, "managed-settings.json")
  })
})
