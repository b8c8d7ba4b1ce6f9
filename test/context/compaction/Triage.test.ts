/** How well the rules do on the labelled corpus: the part they were tuned on, and the one that nobody tuned on. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Triage from "../../../src/context/compaction/Triage.ts"

const Item = Schema.Struct({
  id: Schema.String,
  source: Schema.Literals(["user", "assistant", "tool_call", "tool_result", "system"]),
  tool: Schema.optionalKey(Schema.String),
  command: Schema.optionalKey(Schema.String),
  isError: Schema.optionalKey(Schema.Boolean),
  content: Schema.String,
  label: Schema.Literals(Triage.categories),
  verbatim: Schema.optionalKey(Schema.Array(Schema.String)),
})
type Item = typeof Item.Type
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Item))

const folder = path.join(import.meta.dirname, "..", "triage")
type Part = "tuning" | "heldout" | "blind"
const part = (name: Part): ReadonlyArray<Item> =>
  (name === "blind" ? ["blind"] : [`${name}-real`, `${name}-written`]).flatMap((file) =>
    fs
      .readFileSync(path.join(folder, `${file}.jsonl`), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => decode(line)),
  )

const linesOf = (text: string): number => text.split("\n").filter((line) => line.trim() !== "").length
const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((all, one) => all + one, 0)

const matrix = (items: ReadonlyArray<Item>): string => {
  const short = (category: string) => category.replace(/^PRESERVE_|_AGGRESSIVE$/g, "").padStart(12)
  const rows = Triage.categories.map((label) => {
    const of = items.filter((item) => item.label === label)
    const counts = Triage.categories.map((said) => of.filter((item) => Triage.classify(item).category === said).length)
    return `${short(label)} ${counts.map((count) => String(count).padStart(12)).join("")}`
  })
  return [`${" ".repeat(12)} ${Triage.categories.map(short).join("")}`, ...rows].join("\n")
}

describe.each(["tuning", "heldout", "blind"] as const)("triage of the %s part", (name) => {
  const items = part(name)
  // What the rules were never tuned on stays unseen.
  const tells = name !== "heldout" && process.env["TROUPE_TRIAGE"] !== undefined
  const wrong = items.filter((item) => Triage.classify(item).category !== item.label)

  it("is right for at least 95 of 100 items", () => {
    const right = 1 - wrong.length / items.length
    console.log(`${name}: ${(right * 100).toFixed(1)} % of ${items.length} items\n${matrix(items)}`)
    if (tells) {
      for (const item of wrong) {
        const { category, reason } = Triage.classify(item)
        console.log(
          `${item.id} [${item.source} ${item.tool ?? ""} ${item.command ?? ""}] is ${item.label}, not ${category} (${reason})\n${item.content.slice(0, 300)}\n`,
        )
      }
    }
    assert.isAtLeast(right, 0.95)
  })

  it("finds the lines that a careful reader would keep", () => {
    const lines = items.flatMap((item) => (item.verbatim ?? []).map((line) => ({ item, line })))
    const lost = lines.filter(
      ({ item, line }) => !Triage.units(item).some(({ text }) => text.split("\n").includes(line)),
    )
    if (tells) for (const { item, line } of lost) console.log(`${item.id}: ${line}`)
    console.log(`${name}: ${lines.length - lost.length} of ${lines.length} lines`)
    assert.isAtLeast(1 - lost.length / lines.length, name === "tuning" ? 0.95 : 0.9)
  })

  it("keeps little beside them", () => {
    const kept = (item: Item) => sum(Triage.units(item).map(({ text }) => linesOf(text)))
    const lost = items.filter(({ label }) => label === "EPHEMERAL" || label === "COMPRESS_AGGRESSIVE")
    const needless = sum(lost.map(kept)) / sum(lost.map(({ content }) => linesOf(content)))
    console.log(`${name}: ${(needless * 100).toFixed(1)} % of the lines that may go are kept`)
    assert.isAtMost(needless, 0.05)
  })
})

// There are few long ones, so both parts together.
it("keeps about half of what is long", () => {
  const long = [...part("tuning"), ...part("heldout")].filter(
    ({ content, label }) => label === "PRESERVE_VERBATIM" && linesOf(content) > 30,
  )
  const kept = (item: Item) => sum(Triage.units(item).map(({ text }) => linesOf(text)))
  const share = sum(long.map((item) => kept(item) / linesOf(item.content))) / long.length
  console.log(`${(share * 100).toFixed(0)} % of the lines of ${long.length} long verbatim items are kept`)
  assert.isAtMost(share, 0.7)
})
