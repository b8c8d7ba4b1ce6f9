import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Host, make, overlay } from "../../src/platform/Host.ts"
import { layer } from "../../src/platform/NodeHost.ts"

describe("Host", () => {
  it("finds the configuration in the home directory, or where the variable says", () => {
    assert.strictEqual(make({ home: "/home/ada" }).configDir, "/home/ada/.claude")
    assert.strictEqual(make({ home: "C:\\Users\\ada", platform: "win32" }).configDir, "C:\\Users\\ada\\.claude")
    assert.strictEqual(make({ env: { CLAUDE_CONFIG_DIR: "/conf" } }).configDir, "/conf")
  })

  it("takes an empty variable for an unset one, but passes it to children as it is", () => {
    const host = make({ env: { A: "", B: "x", C: undefined } })
    assert.deepStrictEqual([host.env("A"), host.env("B"), host.env("C")], [undefined, "x", undefined])
    assert.deepStrictEqual(host.allEnv, { A: "", B: "x" })
  })

  it("overlays variables without forgetting anything else", () => {
    const host = make({ cwd: "/w", configDir: "/c", env: { A: "1", B: "2" }, isInteractive: true })
    const over = overlay(host, { A: "9", B: undefined })
    assert.deepStrictEqual(over.allEnv, { A: "9" })
    assert.deepStrictEqual([over.cwd, over.configDir, over.isInteractive], ["/w", "/c", true])
  })

  it.live("reads the real machine", () =>
    Effect.gen(function* () {
      const host = yield* Host
      assert.strictEqual(host.cwd, process.cwd())
      assert.strictEqual(host.pid, process.pid)
      assert.strictEqual(host.env("PATH"), process.env["PATH"])
    }).pipe(Effect.provide(layer)),
  )
})
