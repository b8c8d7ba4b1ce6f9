import { assert, describe, it } from "@effect/vitest"
import { PermissionMode, parse } from "../../src/protocol/PermissionMode.ts"

describe("PermissionMode", () => {
  it("reads every mode by its own name", () => {
    for (const mode of PermissionMode.literals) assert.strictEqual(parse(mode), mode)
  })

  it("reads the older name of the default mode", () => {
    assert.strictEqual(parse("manual"), "default")
  })

  it("does not guess", () => {
    for (const name of ["", "Plan", "bypass", "constructor"]) assert.isUndefined(parse(name))
  })
})
