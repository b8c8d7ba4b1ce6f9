import { assert, describe, it } from "@effect/vitest"
import { commands, parts } from "../../src/skills/ShellMarks.ts"

const fence = "```"

describe("ShellMarks", () => {
  it.each([
    ["!`git diff HEAD`", ["git diff HEAD"]],
    ["- a: !`one`\n- b: !`two`", ["one", "two"]],
    ["KEY=!`cmd`", []],
    ["wow!`cmd`", []],
    ["!``", []],
    ["!` `", []],
    ["a `code` and ! `other`", []],
    [`${fence}!\nnode --version\nnpm --version\n${fence}\nrest`, ["node --version\nnpm --version"]],
    [`  ${fence}!  \n  pwd\n  ${fence}`, ["pwd"]],
    [`${fence}!\nnever closed`, []],
    [`${fence}diff\n!\`git diff\`\n${fence}`, ["git diff"]],
    [`${fence}!\n\n${fence}`, []],
    ["!`a | grep x || true`", ["a | grep x || true"]],
  ])("finds the commands of %j", (body, expected) => {
    assert.deepStrictEqual(commands(body), expected)
  })

  it("leaves every other character as it is", () => {
    const body = `# A\n\n- x: !\`one\` y\n${fence}!\ntwo\n${fence}\nend !\`three\`\n`
    const text = parts(body).map((part) => (part._tag === "Text" ? part.text : `<${part.command}>`))
    assert.strictEqual(text.join(""), "# A\n\n- x: <one> y\n<two>\nend <three>\n")
  })

  it("takes no longer for a file full of marks that nobody closes", () => {
    const body = `${`${fence}!\n!\`x\n`.repeat(100_000)}${fence}`
    assert.isAbove(parts(body).length, 0)
  })
})
