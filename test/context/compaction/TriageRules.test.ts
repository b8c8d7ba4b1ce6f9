/** The rules of triage one by one: what each is for, and what only looks like it. */
import { assert, describe, it } from "@effect/vitest"
import { lineRules, reasonOf } from "../../../src/context/compaction/LineRules.ts"
import { minedFacts } from "../../../src/context/compaction/MinedFacts.ts"
import * as Triage from "../../../src/context/compaction/Triage.ts"

const lines: ReadonlyArray<readonly [reason: string, fits: string, nearMiss: string]> = [
  ["stack trace", "    at load (/srv/app/a.js:3:7)", "we met at noon"],
  ["error", "TypeError: x is not a function", "The error page is blue"],
  ["failure wording", "bash: pnpx: command not found", "the command finds a lot"],
  ["exit code", "exited with code 137", "exit code 0"],
  ["conflict", "CONFLICT (content): Merge conflict in a.txt", "a conflict of interest"],
  ["test output", "      Tests  2 passed (2)", "the tests are nice"],
  ["compiler output", " --> src", "a --> b"],
  ["difference", "@@ -1,3 +1,3 @@", "mail me @home"],
  ["place", "see src/cart.ts:48", "see src and test"],
  ["declaration", "export interface Line {", "a class of people"],
  ["member", "     2\t  readonly sku: string", "sku: what we sell"],
  ["version", "git version 2.39.5", "in 2.5 hours"],
  ["environment variable", "PAYMENT_TIMEOUT_MS=4500", "a = b"],
  ["id", "commit 9d3f1c07b2a", "commit early"],
  ["address", "read https://shop.example/a", "read the page"],
  ["status", "HTTP/1.1 404 Not Found", "HTTP is a protocol"],
  ["statement", "Working directory: /home/dev", "Note: be kind"],
  ["edit", '{"file_path":"a","old_string":"x"}', '{"file_path":"a"}'],
]

describe("a rule of triage", () => {
  it.each(lines)("knows a line by itself: %s", (reason, fits, nearMiss) => {
    assert.strictEqual(reasonOf(fits), reason)
    assert.isUndefined(reasonOf(nearMiss))
  })

  it("takes no longer for a hostile line than for its length", () => {
    for (const unit of ["a", " ", "1", "-", "a.", "a/", "A_", "- ", "0f", "::a", "a, ", "a(b, ", "├ "]) {
      const text = unit.repeat(4_000).slice(0, 3_999)
      for (const { pattern } of lineRules) for (const line of [text, `${text}!`, `     1\t${text};`]) pattern.test(line)
      for (const source of ["user", "assistant", "system", "tool_result"] as const)
        Triage.classify({ source, tool: "Bash", command: text, content: text })
    }
  }, 20_000)

  it("keeps all of a short failure", () => {
    const content = "Exit code 3\nconnecting\nnobody there"
    const said = { source: "tool_result", tool: "Bash", content } as const
    assert.deepStrictEqual(
      Triage.units({ ...said, isError: true }).map(({ text }) => text),
      [content],
    )
  })
})

describe("what people say", () => {
  it("yields criteria, decisions, names and what was tried in vain", () => {
    const facts = minedFacts([
      "The page must load in two seconds. We decided to keep `orders_v2`.\nI tried a debounce in src/a.ts, it did not work. Why is it slow?",
    ])
    assert.deepStrictEqual(facts, {
      acceptanceCriteria: ["The page must load in two seconds."],
      decisions: ["We decided to keep `orders_v2`."],
      failedApproaches: ["I tried a debounce in src/a.ts, it did not work."],
      identifiers: ["orders_v2", "src/a.ts"],
    })
  })
})
