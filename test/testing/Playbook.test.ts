import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"
import * as Playbook from "../../src/testing/Playbook.ts"

const errorOf = (text: string) =>
  Effect.map(Effect.flip(Playbook.parse(text, "book.yaml")), (error) => error.message.split("\n"))

describe("Playbook", () => {
  it.effect("reads YAML with anchors, and text replies as well as steps", () =>
    Effect.gen(function* () {
      const book = yield* Playbook.parse(
        `
name: example
pace: { chunk: 4, delay: 10ms }
rules:
  - when: { system: &cwd { matches: "dir: (?<cwd>.*)" } }
    reply:
      - thinking: Hm.
      - { tool: Read, input: { file_path: "\${cwd}/a" } }
  - when: { system: *cwd, tool: { name: Read, is_error: false } }
    reply: Done in \${cwd}.
    faults: [{ status: 529, times: 2, retry_after: 1 }]
`,
        "book.yaml",
      )
      assert.strictEqual(book.rules?.length, 2)
      assert.strictEqual(book.rules?.[1]?.reply, "Done in ${cwd}.")
    }),
  )

  it.effect("reads JSON, which is YAML", () =>
    Effect.gen(function* () {
      const book = yield* Playbook.parse('{"rules": [{"reply": "hi"}]}', "book.json")
      assert.strictEqual(book.rules?.[0]?.reply, "hi")
    }),
  )

  const wrong: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    [
      "an unknown key, at the key, with the likely one",
      "rules:\n  - wen: { user: x }\n    reply: hi\n",
      ["book.yaml:2:5: unknown key wen; did you mean when? (at rules[0].wen)"],
    ],
    [
      "an unknown key at the top",
      "name: x\nrules: [{ reply: hi }]\nfalts: []\n",
      ["book.yaml:3:1: unknown key falts; did you mean faults? (at falts)"],
    ],
    [
      "an unknown key deep inside",
      "rules:\n  - when:\n      user: { containz: x }\n    reply: hi\n",
      ["book.yaml:3:15: unknown key containz; did you mean contains? (at rules[0].when.user.containz)"],
    ],
    [
      "an unknown key without a likely one",
      "rules: [{ reply: hi }]\npace: { qqqq: 1 }\n",
      ["book.yaml:2:9: unknown key qqqq; known are chunk, delay, before (at pace.qqqq)"],
    ],
    [
      "a wrong value, at the value",
      "rules:\n  - reply: hi\n    faults:\n      - reset: -1\n",
      ["book.yaml:4:16: expected a value greater than or equal to 0 (at rules[0].faults[0].reset)"],
    ],
    [
      "a time nobody understands",
      "rules: [{ reply: hi }]\npace:\n  delay: 5 parsecs\n",
      ["book.yaml:3:10: expected a time such as 250ms, 2s or 1.5m (at pace.delay)"],
    ],
    [
      "every problem at once",
      "rules:\n  - reply: [{ txt: a }]\n  - reply: hi\n    oncee: true\n",
      [
        "book.yaml:2:15: unknown key txt; did you mean text? (at rules[0].reply[0].txt)",
        "book.yaml:4:5: unknown key oncee; did you mean once? (at rules[1].oncee)",
      ],
    ],
    [
      "a fault that is two faults",
      "rules:\n  - reply: hi\n    faults: [{ stall: 1, reset: 1 }]\n",
      [
        "book.yaml:3:14: a fault has exactly one of status, prompt_too_long, spend_cap, reset, stall, pings, torn, not_a_stream, garbled, error_event, malformed, overflow, slow; this one has reset, stall (at rules[0].faults[0])",
      ],
    ],
    [
      "a regular expression that is none",
      'rules:\n  - when: { user: { matches: "(" } }\n    reply: hi\n',
      ["book.yaml:2:30: invalid regular expression: /(/: Unterminated group (at rules[0].when.user.matches)"],
    ],
    [
      "a name in a reply that nothing defines",
      "rules:\n  - reply: hi ${nme}\n",
      [
        "book.yaml:2:12: nothing defines ${nme}; known are lastToolResult, lastUser, request, turn, model, 1, 2, … for groups. For a literal, write $${nme} (at rules[0].reply)",
      ],
    ],
    [
      "a rule that says nothing",
      "rules:\n  - name: empty\n",
      ["book.yaml:2:5: a rule needs a reply or faults (at rules[0])"],
    ],
    ["a playbook without rules", "name: empty\n", ["book.yaml:1:1: a playbook needs turns or rules"]],
    [
      "arguments without a tool",
      "rules:\n  - reply:\n      - text: hi\n        input: {}\n",
      ["book.yaml:4:16: input belongs to a tool step (at rules[0].reply[0].input)"],
    ],
  ]
  it.effect.each(wrong)("reports %s", ([, text, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* errorOf(text), expected)
    }),
  )

  it.effect("gives line and column for what is not YAML", () =>
    Effect.gen(function* () {
      const [first] = yield* errorOf("rules:\n  - reply: [\n")
      assert.match(first ?? "", /^book\.yaml:3:1: /)
      const [duplicate] = yield* errorOf("rules:\n  - reply: a\n    reply: b\n")
      assert.match(duplicate ?? "", /^book\.yaml:3:5: Map keys must be unique/)
    }),
  )

  it.effect("refuses a bomb of aliases", () =>
    Effect.gen(function* () {
      const rows = Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`)
      const [first] = yield* errorOf(["a0: &a0 [x]", ...rows].join("\n"))
      assert.match(first ?? "", /alias/i)
    }),
  )

  it.effect("checks a playbook from TypeScript in the same way", () =>
    Effect.gen(function* () {
      const book = yield* Playbook.make({ rules: [{ when: (told) => told.turn === 1, reply: () => "made" }] })
      assert.isFunction(book.rules?.[0]?.reply)
      const error = yield* Effect.flip(Playbook.make({ rules: [{ reply: "${nothing}" }] }))
      assert.match(error.message, /^playbook: nothing defines \$\{nothing\}/)
    }),
  )

  it.effect("loads a file, and says when there is none", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Playbook.load("/books/a.yaml")).name, "a")
      const error = yield* Effect.flip(Playbook.load("/books/b.yaml"))
      assert.match(error.message, /^\/books\/b\.yaml: the playbook cannot be read/)
    }).pipe(Effect.provide(MemoryWorkspace.layer({ "/books/a.yaml": "name: a\nrules: [{ reply: hi }]\n" }))),
  )

  it.live("loads a module's default export", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      yield* fs.writeFileString(`${directory}/good.mjs`, 'export default { rules: [{ reply: () => "hi" }] }')
      yield* fs.writeFileString(`${directory}/bare.mjs`, "export const rules = []")
      const book = yield* Playbook.load(`${directory}/good.mjs`)
      assert.isFunction(book.rules?.[0]?.reply)
      assert.match((yield* Effect.flip(Playbook.load(`${directory}/bare.mjs`))).message, /no default export/)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)),
  )
})
