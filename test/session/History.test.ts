import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { ContentBlock } from "../../src/protocol/Content.ts"
import { toBlocks } from "../../src/protocol/Content.ts"
import type { DurableEvent } from "../../src/protocol/Event.ts"
import type { Message } from "../../src/protocol/Message.ts"
import * as History from "../../src/session/History.ts"
import * as StrictApi from "../../src/testing/StrictApi.ts"
import {
  abandoned,
  aTurn,
  begun,
  block,
  call,
  done,
  ended,
  id,
  imported,
  prompt,
  request,
  started,
  turnEnded,
} from "./events.ts"

const words = (block: ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "tool_use":
      return `call ${block.id}`
    case "tool_result":
      return `${block.is_error ? "error" : "result"} ${block.tool_use_id}`
    default:
      return block.type
  }
}

const outline = (messages: ReadonlyArray<Message>): ReadonlyArray<string> =>
  messages.map(({ role, content }) => `${role}: ${toBlocks(content).map(words).join(", ")}`)

const after = (...events: ReadonlyArray<DurableEvent>) => outline(History.from(events).messages())

const problemOf = (messages: ReadonlyArray<Message>) =>
  messages.length === 0 ? undefined : StrictApi.problem({ model: "m", max_tokens: 1, messages }, { mayContinue: true })

describe("History", () => {
  it("puts the results of a reply's calls behind it, in the order of the calls", () => {
    assert.deepStrictEqual(
      after(
        prompt("go"),
        request("r"),
        block("r", call("a")),
        block("r", call("b")),
        ended("r", "tool_use"),
        begun("a"),
        begun("b"),
        done("b"),
        done("a"),
      ),
      ["user: go", "assistant: call a, call b", "user: result a, result b"],
    )
  })

  it("puts what a person says during a round behind the results of that round", () => {
    const reply = [block("r", call("a")), ended("r", "tool_use"), begun("a")]
    const said = prompt("and hurry", "between_rounds")
    const expected = ["user: go", "assistant: call a", "user: result a, and hurry"]
    assert.deepStrictEqual(after(prompt("go"), request("r"), ...reply, said, done("a")), expected)
    assert.deepStrictEqual(after(prompt("go"), request("r"), said, ...reply, done("a")), expected)
  })

  it("keeps what was said while a request was retried behind the reply that did not know it", () => {
    assert.deepStrictEqual(
      after(
        prompt("go"),
        request("r1"),
        block("r1", "hal"),
        prompt("more", "between_rounds"),
        abandoned("r1"),
        request("r2", 2),
        block("r2", "whole"),
        ended("r2"),
      ),
      ["user: go", "assistant: whole", "user: more"],
    )
  })

  it("takes what was said into a request that starts afresh", () => {
    assert.deepStrictEqual(
      after(
        prompt("go"),
        request("r1"),
        block("r1", "hal"),
        prompt("stop, do this", "submit_interrupt"),
        abandoned("r1"),
        request("r2"),
        block("r2", "this"),
        ended("r2"),
      ),
      ["user: go", "user: stop, do this", "assistant: this"],
    )
  })

  it("forgets an abandoned reply, also one that had ended", () => {
    assert.deepStrictEqual(after(prompt("go"), request("r"), block("r", "x"), abandoned("r")), ["user: go"])
    assert.deepStrictEqual(
      after(prompt("go"), request("r"), block("r", "x"), ended("r", "max_tokens"), abandoned("r")),
      ["user: go"],
    )
  })

  it("takes a call of the next attempt that has the id of an abandoned or cut-off one", () => {
    const again = [block("s", call("a")), ended("s", "tool_use"), done("a")]
    const expected = ["user: go", "assistant: call a", "user: result a"]
    const first = [prompt("go"), request("r"), block("r", call("a"))]
    assert.deepStrictEqual(after(...first, abandoned("r"), request("s", 2), ...again), expected)
    assert.deepStrictEqual(after(...first, request("s"), ...again), expected)
  })

  it("keeps an abandoned reply that was sealed or of which a tool was begun", () => {
    assert.deepStrictEqual(after(prompt("go"), request("r"), block("r", "x"), ended("r", null), abandoned("r")), [
      "user: go",
      "assistant: x",
    ])
    assert.deepStrictEqual(after(prompt("go"), request("r"), block("r", call("a")), begun("a"), abandoned("r")), [
      "user: go",
      "assistant: call a",
      "user: error a",
    ])
  })

  it("keeps a reply that a crash cut off only when a tool of it was begun", () => {
    const cut = [prompt("go"), request("r"), block("r", "let me see"), block("r", call("a"))]
    assert.deepStrictEqual(after(...cut), ["user: go"])
    assert.deepStrictEqual(after(...cut, prompt("again"), request("s"), block("s", "ok"), ended("s")), [
      "user: go",
      "user: again",
      "assistant: ok",
    ])
    assert.deepStrictEqual(after(...cut, begun("a")), ["user: go", "assistant: let me see, call a", "user: error a"])
  })

  it("lists the calls that need a result, and what is known of them", () => {
    const history = History.from([
      prompt("go"),
      request("r"),
      block("r", call("a")),
      block("r", call("b", { command: "make" }, "Bash")),
      { ...block("r", call("c")), malformedInput: '{"path":' },
      ended("r", "tool_use"),
      begun("a"),
      done("a"),
      { ...begun("b", "once"), evidence: { before: "abc" } },
    ])
    assert.deepStrictEqual(history.pending(), [
      {
        toolUseId: "b",
        tool: "Bash",
        input: { command: "make" },
        started: { idempotency: "once", evidence: { before: "abc" } },
      },
      { toolUseId: "c", tool: "Read", input: { path: "a" }, malformedInput: '{"path":' },
    ])
    history.apply(done("b", "unknown", "unknown"))
    history.apply(done("c", "not JSON", "failed"))
    assert.deepStrictEqual(history.pending(), [])
  })

  it("says of a call that was begun that it may have taken effect, and of one that was not that it did not run", () => {
    const { content } = History.from([
      prompt("go"),
      request("r"),
      block("r", call("a")),
      block("r", call("b")),
      begun("a", "once"),
    ]).messages()[2]!
    const results = toBlocks(content).map((block) => (block.type === "tool_result" ? String(block.content) : ""))
    assert.match(results[0]!, /interrupted before a result was recorded.*may have taken effect/)
    assert.match(results[1]!, /interrupted before a result was recorded.*did not run/)
  })

  it("leaves out blank text, reply parts in prompts and thinking at the end of a reply", () => {
    assert.deepStrictEqual(
      after(
        prompt([{ type: "text", text: " \n" }, call("x"), { type: "text", text: "go" }]),
        request("r"),
        block("r", "  "),
        block("r", "answer"),
        block("r", { type: "thinking", thinking: "hm", signature: "s" }),
        ended("r", null),
      ),
      ["user: go", "assistant: answer"],
    )
  })

  it("answers an error in text only, and never with nothing", () => {
    const image = { type: "image", source: {} } as const
    const { content } = History.from([
      prompt("go"),
      request("r"),
      block("r", call("a")),
      block("r", call("b")),
      ended("r", "tool_use"),
      done("a", "", "completed"),
      done("b", [image, { type: "text", text: "broken" }], "failed"),
    ]).messages()[2]!
    assert.deepStrictEqual(content, [
      { type: "tool_result", tool_use_id: "a", content: "(no output)" },
      { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "broken" }], is_error: true },
    ])
  })

  it("makes imported messages valid: split replies, parallel results, unpaired calls, a missing beginning", () => {
    assert.deepStrictEqual(
      after(
        imported("assistant", [{ type: "text", text: "first" }], "m1"),
        imported("assistant", [call("a")], "m1"),
        imported("user", [{ type: "tool_result", tool_use_id: "a", content: "1" }]),
        imported("assistant", [call("b")], "m1"),
        imported("user", [{ type: "tool_result", tool_use_id: "zzz", content: "stray" }]),
        imported("user", "next"),
        imported("assistant", "ok", "m2"),
      ),
      [
        "user: (The beginning of this conversation is missing.)",
        "assistant: first, call a, call b",
        "user: result a, error b, next",
        "assistant: ok",
      ],
    )
    assert.deepStrictEqual(History.from([imported("assistant", [call("a")], "m1")]).pending(), [])
  })

  it("knows the facts of the session", () => {
    const history = History.from([
      started(),
      { _tag: "ControlsChanged", model: "sonnet", permissionMode: "plan", by: "flag" },
      prompt("summarise", "prompt", true),
      ...aTurn(1),
    ])
    assert.strictEqual(history.cwd, "/work")
    assert.deepStrictEqual(history.controls, { model: "sonnet", permissionMode: "plan" })
    assert.strictEqual(history.firstPrompt, "question 1")
    assert.isUndefined(history.openPromptId)
    assert.strictEqual(history.totals.turns, 2)
    assert.strictEqual(history.totals.usage.input_tokens, 20)
    assert.closeTo(history.totals.costUsd, 0.02, 1e-9)
    history.apply(started())
    assert.strictEqual(history.totals.turns, 2)
    history.apply(started(id(2)))
    assert.strictEqual(history.totals.turns, 0)
    history.apply(prompt("more"))
    assert.isDefined(history.openPromptId)
    history.apply(turnEnded())
    assert.isUndefined(history.openPromptId)
  })

  it("hands out the same messages again: what was sent is never rebuilt", () => {
    const history = History.make()
    for (const event of aTurn(1)) history.apply(event)
    const before = history.messages()
    assert.strictEqual(history.messages(), before)
    for (const event of aTurn(2)) history.apply(event)
    const later = history.messages()
    for (const [at, message] of before.slice(0, -1).entries()) assert.strictEqual(later[at], message)
    assert.deepStrictEqual(later.slice(0, before.length), before)
  })

  const Move = Schema.Tuple([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 18 })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  ])
  const Moves = Schema.Array(Move).check(Schema.isMaxLength(40))

  /** Few requests and few calls, so that the same ones meet in every order. */
  const eventOf = ([kind, a, b]: typeof Move.Type): DurableEvent => {
    const makers: ReadonlyArray<() => DurableEvent> = [
      () => prompt(`p${a}`),
      () => prompt(a === 0 ? " " : `q${a}`, "between_rounds"),
      () =>
        prompt(
          [call(`t${a}`), { type: "tool_result", tool_use_id: `t${b}` }, { type: "text", text: "s" }],
          "submit_interrupt",
        ),
      () => request(`r${a}`, 1 + b),
      () => block(`r${a}`, a === 3 ? "" : `text ${b}`),
      () => block(`r${a}`, call(`t${b}`)),
      () => block(`r${a}`, call(b === 0 ? "bad id!" : `u${b}`, b === 1 ? "text" : {})),
      () => block(`r${a}`, { type: "thinking", thinking: "hm", signature: "s" }),
      () => ended(`r${a}`),
      () => ended(`r${a}`, null),
      () => abandoned(`r${a}`),
      () => begun(`t${b}`),
      () => done(`t${b}`),
      () => done(`t${b}`, b === 0 ? "" : [{ type: "text", text: " " }], "failed"),
      () => turnEnded(),
      () =>
        imported("user", [
          { type: "tool_result", tool_use_id: `t${a}`, content: "x" },
          { type: "text", text: "i" },
        ]),
      () => imported("user", [{ type: "tool_result", tool_use_id: `t${a}`, content: "x" }]),
      () => imported("assistant", [{ type: "text", text: "y" }, call(`t${a}`)], `m${b}`),
      () => imported("assistant", [call(`u${a}`), { type: "image", source: {} }], `m${b}`),
    ]
    return makers[kind]!()
  }

  it.prop(
    "is a conversation the API accepts after any event of any sequence, and grows only at its end once sent",
    { moves: Moves },
    ({ moves }) => {
      const history = History.make()
      let sent: ReadonlyArray<Message> = []
      for (const move of moves) {
        const event = eventOf(move)
        const before = history.messages()
        history.apply(event)
        const messages = history.messages()
        assert.strictEqual(problemOf(messages), undefined, JSON.stringify(outline(messages)))
        if (event._tag === "RequestSent" && event.attempt === 1) sent = before
        assert.deepStrictEqual(messages.slice(0, sent.length), sent)
      }
    },
    { arbitrary: { runs: 1500 } },
  )
})

it("what was said while a request was being prepared stands behind its reply", () => {
  const events = [prompt("first"), prompt("late"), { ...request("r1"), said: 1 }]
  assert.isTrue(History.from(events).waiting())
  assert.deepStrictEqual(after(...events, block("r1", "answer"), ended("r1")), [
    "user: first",
    "assistant: answer",
    "user: late",
  ])
})

describe("a prompt that is not put to the model as it was typed", () => {
  it("shows the model what a typed command expands to, in its place", () => {
    const typed = prompt("/review 12")
    const expanded: DurableEvent = {
      _tag: "PromptExpanded",
      uuid: id(1),
      promptId: typed.promptId,
      command: "review",
      content: "Review pull request 12.",
    }
    const note: DurableEvent = { _tag: "ContextAdded", uuid: id(2), origin: "hook", content: "It is Monday." }
    assert.deepStrictEqual(after(typed, note, expanded), ["user: Review pull request 12., It is Monday."])
  })

  it("does not show a refused prompt, and keeps what was said beside it", () => {
    const typed = prompt("delete everything")
    const refused: DurableEvent = { _tag: "PromptRefused", promptId: typed.promptId, reason: "no" }
    const history = History.from([typed, prompt("hello"), refused])
    assert.deepStrictEqual(outline(history.messages()), ["user: hello"])
    assert.deepStrictEqual(after(typed, refused), [])
  })

  it("cannot take back what the model has been shown", () => {
    const typed = prompt("go")
    const refused: DurableEvent = { _tag: "PromptRefused", promptId: typed.promptId, reason: "no" }
    assert.deepStrictEqual(after(typed, request("r"), refused), ["user: go"])
  })
})
