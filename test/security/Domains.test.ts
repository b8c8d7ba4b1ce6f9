import { assert, describe, it } from "@effect/vitest"
import * as Domains from "../../src/security/Domains.ts"

const rules = { allowed: ["example.com", "*.wood.example", "localhost"], denied: ["bad.wood.example"] }

describe("Domains", () => {
  it("lets listed names pass, in any spelling", () => {
    for (const host of ["example.com", "EXAMPLE.com.", "deep.wood.example", "a.b.wood.example", "localhost"]) {
      assert.isUndefined(Domains.judge(rules, host), host)
    }
  })

  it("refuses everything else: relatives of listed names, denied ones, what is no name", () => {
    const others = [
      "wood.example",
      "evil-wood.example",
      "example.com.evil.net",
      "www.example.com",
      "bad.wood.example",
      "",
      "a b",
    ]
    for (const host of [...others, "example.com@evil.net", "127.0.0.1", "example.com/x"]) {
      assert.isDefined(Domains.judge(rules, host), host)
    }
  })

  it("does not take the star for this machine", () => {
    const all = { allowed: ["*"], denied: [] }
    assert.isUndefined(Domains.judge(all, "anything.net"))
    for (const host of ["localhost", "127.0.0.1", "0x7f.1", "2130706433", "169.254.169.254", "::1", "x.localhost"]) {
      assert.isDefined(Domains.judge(all, host), host)
    }
  })

  it("refuses a listed name that leads to this machine or a metadata address, unless this machine was listed", () => {
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "0.0.0.0", "fe80::1"]) {
      assert.isDefined(Domains.judgeAddress(rules, "example.com", address), address)
    }
    assert.isUndefined(Domains.judgeAddress(rules, "localhost", "127.0.0.1"))
    assert.isUndefined(Domains.judgeAddress(rules, "example.com", "10.1.2.3"))
    assert.isUndefined(Domains.judgeAddress(rules, "example.com", "93.184.216.34"))
  })
})
