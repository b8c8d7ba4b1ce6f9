import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { fill, scan, split, takesArguments } from "../../src/skills/Placeholders.ts"

const variables = { CLAUDE_SESSION_ID: "s-1", CLAUDE_SKILL_DIR: "/skills/a b" }
const filled = (template: string, args: string, names: ReadonlyArray<string> = []) =>
  fill(scan(template, names), { args, variables })

describe("Placeholders", () => {
  it.each([
    ["Fix $ARGUMENTS now", "issue 12", "Fix issue 12 now"],
    ["$ARGUMENTS", `as "typed"  here`, `as "typed"  here`],
    ["$0 from $1 to $2", "Bar React Vue", "Bar from React to Vue"],
    ["$ARGUMENTS[0] and $ARGUMENTS[1]", `"hello world" second`, "hello world and second"],
    ["$2 stays", "one two", "$2 stays"],
    ["$10", "a", "$10"],
    ["$0x and $ARGUMENTSX are text", "a", "$0x and $ARGUMENTSX are text"],
    [String.raw`costs \$1.00`, "a b", "costs $1.00"],
    [String.raw`\$ARGUMENTS is a word`, "a", "$ARGUMENTS is a word"],
    [String.raw`\\$0`, "a", String.raw`\\a`],
    [String.raw`\$other stays`, "a", String.raw`\$other stays`],
    ["in ${CLAUDE_SESSION_ID}", "", "in s-1"],
    [String.raw`\${CLAUDE_SESSION_ID}`, "", String.raw`\s-1`],
    ["${CLAUDE_PLUGIN_ROOT} stays", "", "${CLAUDE_PLUGIN_ROOT} stays"],
    ["${HOME} stays", "", "${HOME} stays"],
  ])("fills %j with %j", (template, args, expected) => {
    assert.strictEqual(filled(template, args), expected)
  })

  it("knows arguments by the names of the front matter, the longest first", () => {
    const names = ["issue", "issue-number", "branch"]
    assert.strictEqual(filled("$issue|$issue-number|$branch|$branches", "7 8", names), "7|8||$branches")
    assert.strictEqual(filled(String.raw`\$issue`, "7", names), "$issue")
  })

  it("never fills in what a value says", () => {
    assert.strictEqual(filled("$0 $1", "'$1' '${CLAUDE_SESSION_ID}'"), "$1 ${CLAUDE_SESSION_ID}")
    assert.strictEqual(filled("$ARGUMENTS", "$ARGUMENTS $0"), "$ARGUMENTS $0")
    assert.strictEqual(filled("$a", "$&$1", ["a"]), "$&$1")
  })

  it("tells whether there is a place for arguments", () => {
    const takes = (template: string) => takesArguments(scan(template, ["name"]))
    assert.deepStrictEqual(["$ARGUMENTS", "$3", "$name", "$ARGUMENTS[1]"].map(takes), [true, true, true, true])
    assert.deepStrictEqual(["", "${CLAUDE_SKILL_DIR}", String.raw`\$0`, "$other"].map(takes), [
      false,
      false,
      false,
      false,
    ])
  })

  it.each([
    ["", []],
    ["  a   b ", ["a", "b"]],
    [`"a b" 'c d'e`, ["a b", "c de"]],
    [`--since="2 weeks ago"`, ["--since=2 weeks ago"]],
    [`a\\ b "q\\"q" 'l\\l'`, ["a b", `q"q`, `l\\l`]],
    [String.raw`C:\dir \d+`, [String.raw`C:\dir`, String.raw`\d+`]],
    ["don't panic", ["don't", "panic"]],
    [`""`, [""]],
    ["первый второй 日本", ["первый", "второй", "日本"]],
  ])("splits %j like a shell", (args, words) => {
    assert.deepStrictEqual(split(args), words)
  })

  it.prop(
    "$ARGUMENTS is exactly what was typed, whatever that is",
    [Schema.String, Schema.String],
    ([args, around]) => {
      const text = around.replaceAll("$", "").replaceAll("\\", "")
      assert.strictEqual(filled(`${text} $ARGUMENTS ${text}`, args), `${text} ${args} ${text}`)
    },
  )

  it.prop("a text without a dollar stays as it is", [Schema.String, Schema.String], ([text, args]) => {
    const template = text.replaceAll("$", "")
    assert.strictEqual(filled(template, args, ["name"]), template)
  })

  it.prop("quoted words come back as they were", [Schema.Array(Schema.String)], ([words]) => {
    const typed = words.map((word) => `"${word.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(" ")
    assert.deepStrictEqual(split(typed), words)
    for (const [at, word] of words.entries()) assert.strictEqual(filled(`$${at}`, typed), word)
  })
})
