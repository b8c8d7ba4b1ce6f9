import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { createHash } from "node:crypto"
import * as TeleportFile from "../../src/session/TeleportFile.ts"
import { aTurn, id, started } from "./events.ts"

const hash = (text: string): string => createHash("sha256").update(text).digest("hex")

const events = [started(id(1), "/home/work"), ...aTurn(1), ...aTurn(2)]
const records = events.map((event, at) => ({ seq: at + 1, time: 1000 + at, agent: "main", event }))
const about = {
  sessionId: id(1),
  traceId: id(1).replaceAll("-", ""),
  exportedAt: 5,
  exportedBy: { user: "ada", troupe: "0.1.0" },
  cwd: "/home/work",
  redacted: {},
}
const { text } = TeleportFile.encode(about, records, new Map([["cost", { usd: 1 }]]), hash)
const [first = ""] = text.trimEnd().split("\n")
const decode = (given: string) => TeleportFile.decode(given, hash)
const why = (given: string): string => {
  const read = decode(given)
  return Result.isFailure(read) ? read.failure : "it was read"
}

/** A file whose checksums are right, whatever it says. */
const forged = (sections: ReadonlyArray<readonly [string, unknown]>, change: object = {}): string => {
  const lines = sections.map(([section, value]) => JSON.stringify({ section, value }))
  const sums = lines.map((line, at) => ({
    name: sections[at]?.[0],
    bytes: Buffer.byteLength(line),
    sha256: hash(line),
  }))
  const manifest: unknown = JSON.parse(first)
  assert(typeof manifest === "object" && manifest !== null)
  return `${[JSON.stringify({ ...manifest, sections: sums, ...change }), ...lines].join("\n")}\n`
}

describe("TeleportFile", () => {
  it("says the same when it is read as when it was written", () => {
    const read = Result.getOrThrow(decode(text))
    assert.deepStrictEqual(read.records, records)
    assert.deepStrictEqual([...read.sections], [["cost", { usd: 1 }]])
    const again = TeleportFile.encode(about, read.records, read.sections, hash)
    assert.strictEqual(again.text, text)
  })

  it("is refused when any byte of a section is another one, or it ends early", () => {
    for (let at = first.length + 1; at < text.length - 1; at += 37) {
      const flipped = `${text.slice(0, at)}${text[at] === "x" ? "y" : "x"}${text.slice(at + 1)}`
      assert.match(why(flipped), /damaged|cut off|more sections/, `byte ${at}`)
      assert.notStrictEqual(why(text.slice(0, at)), "it was read", `cut at ${at}`)
    }
    assert.match(why(first), /2 of its 2 sections are missing/)
    assert.match(why(`${text}{"section":"more","value":1}\n`), /more sections/)
    for (const other of ["", "{}", "hello", "[]", "\0\0"]) assert.match(why(other), /no exported session/)
  })

  it("of a newer minor version is read, and what is new in it is kept", () => {
    const newer = { seq: records.length + 1, time: 9, agent: "main", event: { _tag: "Teleported", to: "Mars" } }
    const extended = [...records.map((one) => ({ ...one, mood: "calm" })), newer]
    const given = forged(
      [
        ["history", extended],
        ["weather", { sky: "blue" }],
      ],
      { version: "1.7", planet: "Earth", records: extended.length, sequence: newer.seq },
    )
    const read = Result.getOrThrow(decode(given))
    assert.deepStrictEqual(read.records.at(-1), newer)
    assert.deepStrictEqual(read.sections.get("weather"), { sky: "blue" })
    assert.match(read.notes.join(), /"Teleported" are of a newer version; they are kept/)
  })

  it("of a newer major version is refused with what to do", () => {
    assert.match(
      why(forged([["history", records]], { version: "2.0" })),
      /version 2\.0.*reads up to 1\.x\. Update Troupe/,
    )
    // Also when nothing else of it is understood.
    assert.match(why('{"format":"troupe-teleport","version":"3.1"}\n'), /version 3\.1/)
    assert.match(why(forged([["history", records]], { version: "1.0; rm" })), /is none/)
  })

  it("that was made to do harm is refused", () => {
    const one = records[0]
    const cases: ReadonlyArray<readonly [string, RegExp]> = [
      [forged([["history", records]], { sessionId: "../../etc/passwd" }), /no UUID/],
      [forged([["history", "all of it"]]), /records are not readable/],
      [forged([["history", [...records, one]]]), /stands behind/],
      [forged([["history", [{ ...one, event: { _tag: '"},"x":{"' } }]]]), /of no kind/],
      [forged([["history", [{ ...one, event: { _tag: "SessionStarted", cwd: 7 } }]]]), /not readable/],
      [forged([["history", records]], { records: 3 }), /not those that its first line counts/],
      [forged([["cost", {}]]), /no records/],
      [
        forged([
          ["history", records],
          ["history", records],
        ]),
        /not the one that stands there/,
      ],
      [
        forged([["history", records]], {
          sections: Array.from({ length: 500 }, () => ({ name: "a", bytes: 1, sha256: "" })),
        }),
        /too many/,
      ],
    ]
    for (const [given, expected] of cases) assert.match(why(given), expected)
    const line = `{"section":"history","value":${"[".repeat(50_000)}${"]".repeat(50_000)}}`
    const deep = JSON.stringify({
      ...about,
      format: TeleportFile.format,
      version: "1.0",
      records: 0,
      sequence: 0,
      sections: [{ name: "history", bytes: line.length, sha256: hash(line) }],
    })
    assert.match(why(`${deep}\n${line}\n`), /nested too deep/)
    assert.match(why("[".repeat(100_000)), /no exported session/)
  })
})
