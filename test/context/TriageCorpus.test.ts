/** The labelled corpus itself: that every item is well formed, and that there are as many of each kind as its README says. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const Label = Schema.Literals(["PRESERVE_VERBATIM", "PRESERVE_STRUCTURED", "COMPRESS_AGGRESSIVE", "EPHEMERAL"])

const Item = Schema.Struct({
  id: Schema.NonEmptyString,
  source: Schema.Literals(["user", "assistant", "tool_call", "tool_result", "system"]),
  tool: Schema.optionalKey(Schema.NonEmptyString),
  command: Schema.optionalKey(Schema.NonEmptyString),
  isError: Schema.optionalKey(Schema.Boolean),
  content: Schema.NonEmptyString,
  label: Label,
  verbatim: Schema.optionalKey(Schema.NonEmptyArray(Schema.NonEmptyString)),
  real: Schema.optionalKey(Schema.Literal(true)),
})
type Item = typeof Item.Type

const folder = join(import.meta.dirname, "triage")
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Item), { onExcessProperty: "error" })
const files = readdirSync(folder).filter((file) => file.endsWith(".jsonl"))
const itemsOf = (part: string) =>
  files
    .filter((file) => file.startsWith(`${part}-`))
    .flatMap((file) => readFileSync(join(folder, file), "utf8").trimEnd().split("\n"))
    .map((line) => decode(line))

const parts = new Map(["tuning", "heldout"].map((part) => [part, itemsOf(part)] as const))
const all = [...parts.values()].flat()
const ids = (items: ReadonlyArray<Item>) => items.map(({ id }) => id)

describe("the labelled corpus for triage", () => {
  it("names every file after its part, and every item once", () => {
    assert.sameMembers(files, [
      "heldout-real.jsonl",
      "heldout-written.jsonl",
      "tuning-real.jsonl",
      "tuning-written.jsonl",
    ])
    assert.strictEqual(new Set(ids(all)).size, all.length)
    assert.strictEqual(new Set(all.map(({ command, content }) => `${command}\n${content}`)).size, all.length)
  })

  it("is as large as promised", () => {
    assert.isAtLeast(all.length, 360)
    assert.isAtLeast(all.filter(({ real }) => real).length, 130)
    assert.isAtLeast(parts.get("tuning")?.length ?? 0, 240)
    assert.isAtLeast(parts.get("heldout")?.length ?? 0, 120)
    assert.isAtLeast(parts.get("heldout")?.filter(({ real }) => real).length ?? 0, 45)
  })

  it("has every label in at least 15 % of each part, and every source", () => {
    for (const [part, items] of parts) {
      for (const label of Label.literals) {
        assert.isAtLeast(items.filter((item) => item.label === label).length / items.length, 0.15, `${part} ${label}`)
      }
      assert.lengthOf(new Set(items.map(({ source }) => source)), 5)
    }
  })

  it("marks lines that stand in the content, and only where bytes matter", () => {
    const marked = all.filter(({ verbatim }) => verbatim !== undefined)
    assert.deepStrictEqual(ids(marked), ids(all.filter(({ label }) => label === "PRESERVE_VERBATIM")))
    for (const { id, content, verbatim } of marked) {
      const lines = new Set(content.split("\n"))
      assert.deepStrictEqual(
        verbatim?.filter((line) => !lines.has(line)),
        [],
        id,
      )
    }
  })

  it("says which tool a call or a result belongs to, and which command a shell ran", () => {
    assert.deepStrictEqual(ids(all.filter((item) => item.source.startsWith("tool_") !== (item.tool !== undefined))), [])
    assert.deepStrictEqual(ids(all.filter((item) => (item.tool === "Bash") !== (item.command !== undefined))), [])
    assert.deepStrictEqual(ids(all.filter((item) => item.content.length > 6_000)), [])
  })

  it("says in its README how many there are", () => {
    const readme = readFileSync(join(folder, "README.md"), "utf8")
    for (const [part, items] of parts) {
      for (const label of Label.literals) {
        const these = items.filter((item) => item.label === label)
        assert.include(readme, `| ${part} | ${label} | ${these.length} | ${these.filter(({ real }) => real).length} |`)
      }
    }
  })
})
