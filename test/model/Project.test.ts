import { assert, describe, it } from "@effect/vitest"
import * as ModelTable from "../../src/cost/ModelTable.ts"
import * as Project from "../../src/model/Project.ts"
import type { Message } from "../../src/protocol/Message.ts"

const { resolve } = ModelTable.make()
const opus = resolve("opus").spec
const thinking = { type: "thinking", thinking: "hm", signature: "sig" } as const
const text = { type: "text", text: "Hi" } as const
const history: ReadonlyArray<Message> = [
  { role: "user", content: "Hello" },
  { role: "assistant", content: [thinking, text] },
  { role: "user", content: "Again" },
]
const by = (author: string) => ({ spec: opus, authorOf: () => author, withoutThinking: false })

describe("Project", () => {
  it("leaves a model's own history as it is, the very same object", () => {
    assert.strictEqual(Project.messages(history, by(opus.id)), history)
  })

  it("leaves out what another model thought, and gives the same objects the next time", () => {
    const first = Project.messages(history, by("claude-sonnet-5-5"))
    assert.deepStrictEqual(first[1]?.content, [text])
    assert.strictEqual(first[0], history[0])
    assert.strictEqual(Project.messages(history, by("claude-sonnet-5-5"))[1], first[1])
  })

  it("leaves out a message that was nothing but another model's thinking, and thinking that was cut off", () => {
    const lonely: ReadonlyArray<Message> = [
      { role: "user", content: "a" },
      { role: "assistant", content: [thinking] },
    ]
    assert.strictEqual(Project.messages(lonely, by("other")).length, 1)
    const cut: ReadonlyArray<Message> = [{ role: "assistant", content: [{ ...thinking, signature: "" }, text] }]
    assert.deepStrictEqual(Project.messages(cut, by(opus.id))[0]?.content, [text])
  })

  it("turns a system message into a reminder for models that take none in the middle", () => {
    const system: ReadonlyArray<Message> = [
      { role: "user", content: "Hello" },
      { role: "system", content: "Be kind" },
    ]
    assert.strictEqual(Project.messages(system, by(opus.id)), system)
    const [, reminder] = Project.messages(system, { ...by(opus.id), spec: resolve("claude-sonnet-5").spec })
    assert.strictEqual(reminder?.role, "user")
    assert.include(JSON.stringify(reminder?.content), "<system-reminder>\\nBe kind")
  })

  it("asks for thinking only in ways that the model takes", () => {
    const adaptive = { type: "adaptive", display: "summarized" }
    const manual = { type: "enabled", budget_tokens: 10_000 }
    const haiku = resolve("claude-haiku-4-5").spec
    assert.deepStrictEqual(Project.thinking(opus, undefined, 8_000), adaptive)
    assert.deepStrictEqual(Project.thinking(opus, manual, 8_000), adaptive)
    assert.deepStrictEqual(Project.thinking(opus, { type: "disabled" }, 8_000), adaptive)
    assert.deepStrictEqual(Project.thinking(resolve("claude-opus-5").spec, { type: "disabled" }, 8_000), {
      type: "disabled",
    })
    assert.strictEqual(Project.thinking(haiku, undefined, 8_000), undefined)
    assert.deepStrictEqual(Project.thinking(haiku, manual, 8_000), { type: "enabled", budget_tokens: 7_999 })
    assert.strictEqual(Project.thinking(haiku, manual, 1_024), undefined)
    assert.strictEqual(Project.thinking(resolve("nobody-knows").spec, undefined, 8_000), undefined)
  })

  it("lowers an effort that the model does not know", () => {
    const old = resolve("claude-opus-4-5").spec
    assert.deepStrictEqual(Project.outputConfig(opus, { effort: "xhigh" }), { effort: "xhigh" })
    assert.deepStrictEqual(Project.outputConfig(old, { effort: "max", format: 1 }), { effort: "high", format: 1 })
    assert.strictEqual(Project.outputConfig(resolve("claude-haiku-4-5").spec, { effort: "low" }), undefined)
  })

  it("sends no cache breakpoints where the environment or the settings say so", () => {
    const env =
      (...on: ReadonlyArray<string>) =>
      (name: string) =>
        on.includes(name) ? "1" : undefined
    assert.isTrue(Project.caching(opus, env()))
    assert.isFalse(Project.caching(opus, env("DISABLE_PROMPT_CACHING")))
    assert.isFalse(Project.caching(opus, env("DISABLE_PROMPT_CACHING_OPUS")))
    assert.isTrue(Project.caching(opus, env("DISABLE_PROMPT_CACHING_HAIKU")))
    assert.isFalse(Project.caching({ ...opus, caching: false }, env()))
  })
})
