import { assert, describe, it } from "@effect/vitest"
import { RouteError } from "../../src/platform/HttpFetch.ts"
import { routeOf } from "../../src/platform/Route.ts"

const through = (env: Record<string, string>, url: string) =>
  routeOf((name) => env[name], new URL(url))?.proxy?.url.host
const proxied = (exceptions: string, url: string) =>
  through({ HTTPS_PROXY: "http://p:1", HTTP_PROXY: "http://p:1", NO_PROXY: exceptions }, url) !== undefined

describe("Route", () => {
  it("goes straight there when the environment says nothing", () => {
    assert.isUndefined(routeOf(() => undefined, new URL("https://api.anthropic.com")))
  })

  it("takes the proxy of the protocol, in either spelling, with or without a scheme", () => {
    assert.strictEqual(through({ HTTPS_PROXY: "http://a:1", HTTP_PROXY: "http://b:2" }, "https://x.test"), "a:1")
    assert.strictEqual(through({ HTTPS_PROXY: "http://a:1", HTTP_PROXY: "http://b:2" }, "http://x.test"), "b:2")
    assert.strictEqual(through({ https_proxy: "http://c:3", HTTPS_PROXY: "http://a:1" }, "https://x.test"), "c:3")
    assert.strictEqual(through({ HTTP_PROXY: "b:2" }, "https://x.test"), "b:2")
    assert.isUndefined(through({ HTTPS_PROXY: "http://a:1" }, "http://x.test"))
  })

  it("honours exceptions: hosts, suffixes, ports, everything, and always this machine", () => {
    for (const exceptions of [
      "x.test",
      ".x.test",
      "*.x.test",
      "a.test, x.test",
      "a.test x.test",
      "X.TEST",
      "x.test:443",
      "*",
    ]) {
      assert.isFalse(proxied(exceptions, "https://api.x.test"), exceptions)
    }
    for (const exceptions of ["test2", "ix.test", "x.test:8443", "y.test", "", "x.test.evil"]) {
      assert.isTrue(proxied(exceptions, "https://api.x.test"), exceptions)
    }
    assert.isFalse(proxied("x.test:8443", "https://x.test:8443"))
    assert.isFalse(proxied("10.0.0.5", "http://10.0.0.5:99"))
    assert.isFalse(proxied("[fd00::1]:99", "http://[fd00::1]:99"))
    assert.isFalse(proxied("fd00::1", "http://[fd00::1]:99"))
    for (const here of ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"]) assert.isFalse(proxied("", here))
  })

  it("says what is wrong with an address without repeating it", () => {
    const wrong = (env: Record<string, string>) => () => routeOf((name) => env[name], new URL("https://x.test"))
    assert.throws(wrong({ HTTPS_PROXY: "socks5://user:hunter2@p:1" }), RouteError, /HTTPS_PROXY names a socks5 proxy/)
    assert.throws(
      wrong({ HTTPS_PROXY: "http://user:hunter2@:::" }),
      RouteError,
      /^HTTPS_PROXY is not the address of a proxy/,
    )
    assert.throws(wrong({ CLAUDE_CODE_CLIENT_CERT: "c.pem" }), RouteError, /CLAUDE_CODE_CLIENT_KEY is not/)
  })
})
