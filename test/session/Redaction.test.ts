import { assert, describe, it } from "@effect/vitest"
import * as Redaction from "../../src/session/Redaction.ts"

const strike = (event: { readonly _tag: string } & Record<string, unknown>, known = (text: string) => text) => {
  const redaction = Redaction.make(known)
  const record = redaction.record({ seq: 1, time: 1, agent: "main", event })
  return { event: JSON.stringify(record.event), counts: redaction.counts() }
}

const key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

describe("Redaction", () => {
  it("strikes secrets out of every text and says how many, and leaves ids and kinds alone", () => {
    const { counts, event } = strike({
      _tag: "ToolEnded",
      toolUseId: key,
      tool: "Bash",
      content: [{ type: "text", text: `export GH=${key}\nurl https://me:s3cret@host/x and ${key}` }],
      structured: { stdout: `password: "hunter2-x"`, api_key: "abc123def", deep: [{ token: "t0ken-value-9" }] },
    })
    assert.strictEqual(event.split(key).length, 2)
    assert.include(event, `"toolUseId":"${key}"`)
    for (const secret of ["s3cret", "hunter2", "abc123def", "t0ken-value"]) assert.notInclude(event, secret)
    assert.deepStrictEqual(counts, {
      "a token of GitHub": 2,
      "a password in an address": 1,
      "a secret with its name": 3,
    })
  })

  it("leaves code and figures as they are", () => {
    const text =
      "const token = options.token; secret: Schema.String, tokens: 123456, password = process.env.PASSWORD, max_tokens: 64000, " +
      "api_key: <your-key-1>, the token is in the vault"
    const { counts, event } = strike({ _tag: "ToolEnded", content: text })
    assert.deepStrictEqual(counts, {})
    assert.include(event, text)
  })

  it("takes a whole private key, also one with escaped line ends", () => {
    const body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
    for (const end of ["\n", "\\n"]) {
      const pem = ["-----BEGIN RSA PRIVATE KEY-----", body, "-----END RSA PRIVATE KEY-----", "after"].join(end)
      const { event } = strike({ _tag: "ToolEnded", content: pem })
      assert.notInclude(event, body)
      assert.include(event, "after")
    }
  })

  it("leaves out thinking whose signature would not fit any more, and pictures as they are", () => {
    const thinking = strike({
      _tag: "BlockReceived",
      block: { type: "thinking", thinking: `use ${key}`, signature: "sig" },
    })
    assert.include(thinking.event, '{"type":"text","text":"[thinking that named a secret was left out]"}')
    const plain = { type: "thinking", thinking: "hm", signature: "eyJhbGciOiJ.eyJzdWIiOiIx.c2lnbmF0dXJl" }
    const picture = { type: "base64", media_type: "image/png", data: "AKIAABCDEFGHIJKLMNOP" }
    assert.include(strike({ _tag: "B", block: picture }).event, JSON.stringify(picture))
    assert.include(strike({ _tag: "B", block: { ...plain, signature: "c2lnbmF0dXJl" } }).event, '"thinking":"hm"')
  })

  it("knows what the machine knows", () => {
    const { counts, event } = strike({ _tag: "X", content: "the word is plum" }, (text) =>
      text.replaceAll("plum", "[redacted]"),
    )
    assert.include(event, "[redacted]")
    assert.deepStrictEqual(counts, { "a key of this machine": 1 })
  })
})
