import { assert, describe, it } from "@effect/vitest"
import * as Path from "effect/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Host } from "../../src/platform/Host.ts"
import * as SandboxSettings from "../../src/security/SandboxSettings.ts"
import type { JsonObject } from "../../src/settings/Merge.ts"
import { Settings } from "../../src/settings/Settings.ts"

const read = (sandbox: JsonObject) =>
  SandboxSettings.read("/work").pipe(
    Effect.provide(Layer.mergeAll(Settings.layerOf({ sandbox }), Path.layer, Host.layerTest({ home: "/home/user" }))),
  )

describe("SandboxSettings", () => {
  it.effect("is off by default, and asks for nothing more once it is on", () =>
    Effect.gen(function* () {
      const { settings } = yield* read({})
      assert.isFalse(settings.enabled)
      assert.isTrue(settings.autoAllow)
      assert.isTrue(settings.allowUnsandboxed)
      assert.deepStrictEqual(settings.allowedDomains, [])
    }),
  )

  it.effect("reads a path as absolute, in the home, or beside the project", () =>
    Effect.gen(function* () {
      const { settings } = yield* read({
        filesystem: { allowWrite: ["/a", "//b/**", "~/c", "./d", "e/f"], denyRead: ["~/.kube/"] },
        network: { allowUnixSockets: ["/s"] },
      })
      assert.deepStrictEqual(settings.allowWrite, ["/a", "/b", "/home/user/c", "/work/d", "/work/e/f"])
      assert.deepStrictEqual(settings.denyRead, ["/home/user/.kube/"])
      assert.deepStrictEqual(settings.unixSockets, ["/s"])
    }),
  )

  it.effect("names what it does not understand and keeps the rest", () =>
    Effect.gen(function* () {
      const { settings, diagnostics } = yield* read({
        enabled: true,
        network: { httpProxyPort: 99_999, allowedDomains: ["a"] },
      })
      assert.deepStrictEqual(
        [settings.enabled, settings.httpProxyPort, settings.allowedDomains],
        [true, undefined, ["a"]],
      )
      assert.deepStrictEqual(
        diagnostics.map(({ key }) => key),
        ["sandbox.network.httpProxyPort"],
      )
    }),
  )

  it("takes allowed hosts from the machine's policy alone when that says so; denials count from everybody", () => {
    const policy = { network: { allowManagedDomainsOnly: true, allowedDomains: ["good"] } }
    const user = { network: { allowedDomains: ["mine"], deniedDomains: ["bad"] } }
    const merged = { network: { ...policy.network, allowedDomains: ["mine", "good"], deniedDomains: ["bad"] } }
    const parts = [
      { source: { kind: "user", name: "u" }, value: user },
      { source: { kind: "managed", name: "m" }, value: policy },
    ] as const
    const settings = SandboxSettings.combine(merged, parts, (_, given) => given)
    assert.deepStrictEqual([settings.allowedDomains, settings.deniedDomains], [["good"], ["bad"]])
  })
})
