import { assert, describe, it } from "@effect/vitest"
import { isAddress, isLocalName, isPublic } from "../../src/tools/WebAddress.ts"

describe("WebAddress", () => {
  it("knows public addresses from all others, however they are written", () => {
    const open = [
      "1.1.1.1",
      "8.8.8.8",
      "172.32.0.1",
      "100.128.0.1",
      "2606:4700::1111",
      "2a00:1450:4001::200e",
      "2002:0808:0808::1",
    ]
    const closed = [
      "127.0.0.1",
      "127.255.0.9",
      "0.0.0.0",
      "10.1.2.3",
      "100.64.0.1",
      "169.254.169.254",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "198.18.0.1",
      "224.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "[::1]",
      "fe80::1",
      "fc00::1",
      "fd00:ec2::254",
      "ff02::1",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "::ffff:8.8.8.8",
      "::127.0.0.1",
      "64:ff9b::7f00:1",
      "64:ff9b::10.0.0.1",
      "2002:7f00:0001::",
      "2002:a9fe:a9fe::1",
      "2001:0:4136:e378::",
      "2001:db8::1",
      "fe80::1%eth0",
      "1.2.3",
      "1.2.3.4.5",
      "01.1.1.1",
      "1::2::3",
      "hello",
      "",
    ]
    assert.deepStrictEqual(
      open.filter((address) => !isPublic(address)),
      [],
    )
    assert.deepStrictEqual(closed.filter(isPublic), [])
  })

  it("sees an address behind every way in which a URL may spell one", () => {
    for (const host of ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::ffff:7f00:1]", "①②⑦.0.0.1"]) {
      const { hostname } = new URL(`http://${host}/`)
      assert.isTrue(isAddress(hostname), host)
      assert.isFalse(isPublic(hostname), host)
    }
    assert.isFalse(isAddress("example.com"))
  })

  it("knows names that mean something here only", () => {
    const here = [
      "localhost",
      "localhost.",
      "LOCALHOST",
      "a.localhost",
      "printer.local",
      "metadata.google.internal",
      "intranet",
      "nas.lan.",
    ]
    assert.deepStrictEqual(
      here.filter((name) => !isLocalName(name)),
      [],
    )
    assert.isFalse(isLocalName("example.com"))
    assert.isFalse(isLocalName("localhost.example.com"))
  })
})
