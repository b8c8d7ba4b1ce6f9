import { assert, describe, it } from "@effect/vitest"
import { question } from "../../src/cli/AskView.ts"
import type { Question as Ask } from "../../src/permissions/Permissions.ts"
import { bash, numbered, running, write } from "./asks.ts"

const texts = (ask: Ask, columns = 80) => question(ask, columns).lines.map(({ text }) => text)

describe("what a person is asked to approve", () => {
  it("hides no part of a command behind an escape sequence", () => {
    const { lines } = question(running("ls\u001b]0; touch PWNED #\u0007 -l"), 80)
    assert.deepStrictEqual(
      lines.map(({ text }) => text),
      ["? Bash", "    ls\\x1b]0; touch PWNED #\\x07 -l", "    contains invisible characters, shown as \\x1b \\x07"],
    )
    assert.deepStrictEqual(
      lines[1]?.marks?.map(({ from, to }) => lines[1]?.text.slice(from, to)),
      ["\\x1b", "\\x07"],
    )
    assert.strictEqual(lines[2]?.tone, "warning")
  })

  it("shows what reverses, hides or ends a line as what it is", () => {
    const text = texts(running("echo \u202etxt.exe \u200b\u009d\u2028rm\rls")).join("\n")
    assert.include(text, "echo \\u202etxt.exe \\u200b\\x9d\\u2028rm\\x0dls")
    assert.include(text, "contains invisible characters")
  })

  it("says nothing of invisible characters where there are none", () => {
    assert.deepStrictEqual(texts(running("printf '\\x1b[0m' é 👩‍👩‍👧")), ["? Bash", "    printf '\\x1b[0m' é 👩‍👩‍👧"])
  })

  it("shows a new line as one, and where a long line goes on", () => {
    assert.deepStrictEqual(texts(running(`echo a\nrm -rf b\n${"x".repeat(20)}`), 24), [
      "? Bash",
      "    echo a",
      "      rm -rf b",
      `      ${"x".repeat(18)}`,
      `    ↳ xx`,
    ])
  })

  it("lets no padding push a part of the command out of its place", () => {
    const rows = texts(running(`ls${" ".repeat(200)}; touch PWNED`), 40)
    assert.isTrue(rows.slice(1).every((row) => row.startsWith("    ") && row.length <= 40))
    const again = rows.slice(1).map((row) => row.replace(/^ {4}(↳ )?/, ""))
    assert.strictEqual(again.join(""), `ls${" ".repeat(200)}; touch PWNED`)
  })

  it("shows 40 lines in full, of more the beginning and the end", () => {
    const full = question(running(numbered(40).join("\n")), 80)
    assert.isFalse(full.cut)
    assert.lengthOf(full.lines, 41)
    const cut = question(running(numbered(100).join("\n")), 80)
    const rows = cut.lines.map(({ text }) => text.trim())
    assert.isTrue(cut.cut)
    assert.include(rows, "line 1")
    assert.include(rows, "line 100")
    assert.notInclude(rows, "line 50")
    assert.include(rows, "… 60 lines not shown here; v shows all")
  })

  it("warns of invisible characters in what is not shown, too", () => {
    const rows = texts(running(numbered(100).join("\n").replace("line 50", "\u202e")))
    assert.include(rows.at(-1), "contains invisible characters, shown as \\u202e")
  })

  it("shows an edit as a diff", () => {
    const input = { file_path: "/w/a.txt", old_string: "one\ntwo", new_string: "one\n2\u200b", replace_all: true }
    const { lines } = question({ ...write, tool: "Edit", summary: "Edit /w/a.txt", input, suggestions: [] }, 80)
    assert.deepStrictEqual(
      lines.map(({ tone, text }) => [tone, text]),
      [
        ["warning", "? Edit /w/a.txt"],
        ["quiet", "      one"],
        ["removed", "    - two"],
        ["added", "    + 2\\u200b"],
        ["normal", "    replace_all: true"],
        ["warning", "    contains invisible characters, shown as \\u200b"],
      ],
    )
  })

  it("shows how a file that is written begins, and its size", () => {
    const input = { file_path: "/w/a.txt", content: `${numbered(12).join("\n")}\n` }
    const { lines, cut } = question({ ...write, summary: "Write /w/a.txt", input }, 80)
    const rows = lines.map(({ text }) => text.trim())
    assert.isTrue(cut)
    assert.deepStrictEqual(rows.slice(0, 3), ["? Write /w/a.txt", "12 lines, 87 bytes:", "+ line 1"])
    assert.include(rows, "+ line 10")
    assert.include(rows, "… 2 lines not shown here; v shows all")
    assert.notInclude(rows, "+ line 11")
    const short = question({ ...write, input: { file_path: "a", content: "x\r\ny" } }, 80)
    assert.isFalse(short.cut)
    assert.include(short.lines.map(({ text }) => text.trim()).join("|"), "2 lines, 4 bytes, CRLF:|+ x|+ y")
  })

  it("shows every argument of a tool it knows nothing of", () => {
    const input = { url: "http://x/\u202e", body: { a: "\u009d" }, text: "1\n2" }
    const rows = texts({
      ...bash,
      tool: "mcp__x__\u001by",
      summary: "send\nit",
      executes: undefined,
      input,
      suggestions: [],
    })
    assert.deepStrictEqual(rows, [
      "? send\\x0ait",
      "    tool: mcp__x__\\x1by",
      "    url: http://x/\\u202e",
      '    body: {"a":"\\u009d"}',
      "    text: 1",
      "      2",
      "    contains invisible characters, shown as \\x0a \\x1b \\u202e \\u009d",
    ])
  })

  it("warns of what lies outside or changes how tools behave", () => {
    const text = texts({ ...write, outside: ["/etc/\u202ehosts"], sensitive: ["/w/.git/config"] }).join("\n")
    assert.include(text, "outside the workspace: /etc/\\u202ehosts")
    assert.include(text, "changes how tools behave: /w/.git/config")
  })
})
