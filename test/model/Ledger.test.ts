import { assert, describe, it } from "@effect/vitest"
import * as Body from "../../src/model/AnthropicBody.ts"
import { boundary } from "../../src/model/CachePlan.ts"
import * as Ledger from "../../src/model/Ledger.ts"
import type { ProviderRequest } from "../../src/model/Provider.ts"
import * as Sha256 from "../../src/platform/Sha256.ts"
import type { Message } from "../../src/protocol/Message.ts"
import * as LedgerLine from "../../src/protocol/LedgerLine.ts"

const tool = (name: string) => ({ name, description: name, input_schema: { type: "object" } })
const text = (value: string) => ({ type: "text", text: value }) as const
const user = (content: string): Message => ({ role: "user", content })
const assistant = (content: string): Message => ({ role: "assistant", content })
const base: ProviderRequest = {
  requestId: "r",
  model: "claude-opus-5-5",
  maxTokens: 100,
  system: [text("Everyone"), text(`${boundary}\nHere`), text("Rules")],
  tools: [tool("Read"), tool("Write"), tool("mcp__git__log")],
  messages: [user("one")],
}
const made = (count = { hashes: 0 }) =>
  Ledger.make((value) => {
    count.hashes++
    return Sha256.hex(value)
  })

describe("Ledger", () => {
  it("names the layers in the order of the cache, then where this request and the one before it end", () => {
    const { lines } = made()({ ...base, messages: [user("one"), assistant("two"), user("three")] })
    const names = lines.map((line) => line.replace(/ \w+$/, ""))
    const layers = ["tools", "mcp tools", "static system", "session system", "controls"]
    assert.deepStrictEqual(names, [...layers, "messages/1", "messages/3"])
    const read = LedgerLine.read(lines)
    assert.deepStrictEqual([...(read?.layers.keys() ?? [])], layers as unknown)
    assert.deepStrictEqual(
      read?.ends.map(({ messages }) => messages),
      [1, 3],
    )
    assert.isUndefined(LedgerLine.read(["0123456789abcdef", "0123456789abcdef", "0123456789abcdef"]))
  })

  it("changes in the layer that changed, and hashes nothing twice", () => {
    const count = { hashes: 0 }
    const ledger = made(count)
    const [one, two] = [user("one"), assistant("two")]
    const first = ledger({ ...base, messages: [one] })
    const hashed = count.hashes
    assert.deepStrictEqual(ledger({ ...base, messages: [one] }).lines, first.lines)
    // The controls are small, and made anew each time.
    assert.strictEqual(count.hashes, hashed + 1)
    const longer = ledger({ ...base, messages: [one, two, user("three")] })
    assert.strictEqual(longer.lines.at(-2), first.lines.at(-1))
    const fewer = ledger({ ...base, tools: [tool("Read"), tool("mcp__git__log")] })
    assert.notStrictEqual(fewer.lines[0], first.lines[0])
    assert.deepStrictEqual(fewer.lines.slice(1), first.lines.slice(1))
    const thinking = ledger({ ...base, thinking: { type: "adaptive" } })
    assert.deepStrictEqual(
      thinking.lines.filter((line, i) => line !== first.lines[i]).map((line) => line.split(" ")[0]),
      ["controls"],
    )
  })

  it("takes no deferred tool for a part of the prompt", () => {
    const late = { ...tool("Zap"), defer_loading: true }
    assert.deepStrictEqual(made()({ ...base, tools: [...base.tools, late] }).lines, made()(base).lines)
  })

  it("hashes the very text that is sent, breakpoints apart", () => {
    const request = { ...base, messages: [user("one"), assistant("two"), user("three")] }
    const sent = new TextDecoder().decode(Body.encode(request, true)).replaceAll(/,"cache_control":\{[^}]*\}/g, "")
    for (const { layer, text: said } of made()(request).segments) {
      if (layer !== "controls") assert.include(sent, said.replaceAll(",\n", ","), layer)
    }
  })
})
