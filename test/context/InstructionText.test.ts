import { assert, describe, it } from "@effect/vitest"
import { looksLikePath, read } from "../../src/context/InstructionText.ts"

const paths = (text: string) => read(text).imports.map(({ path }) => path)

describe("the text of an instruction file", () => {
  it("names the files it imports, with their lines", () => {
    const { imports } = read("See @README for more and @package.json.\n\n- git @docs/git.md\n@~/own.md\n(@./a.md)")
    assert.deepStrictEqual(imports, [
      { path: "README", line: 1 },
      { path: "package.json", line: 1 },
      { path: "docs/git.md", line: 3 },
      { path: "~/own.md", line: 4 },
      { path: "./a.md", line: 5 },
    ])
  })

  it("takes no import from code", () => {
    const text = "`@a.md` and ``x ` @b.md``\n\n```\n@c.md\n```\n\n~~~~ts\n@d.md\n```\n@e.md\n~~~~\n@f.md"
    assert.deepStrictEqual(paths(text), ["f.md"])
  })

  it("takes a backtick that is never closed as a character", () => {
    assert.deepStrictEqual(paths("it's ` odd @a.md"), ["a.md"])
    assert.deepStrictEqual(paths("`open\n\nnext paragraph @b.md ` end"), ["b.md"])
  })

  it("takes a span over two lines of a paragraph as code", () => {
    assert.deepStrictEqual(paths("`one\n@a.md` @b.md"), ["b.md"])
  })

  it("takes no import from an address or a comment", () => {
    assert.deepStrictEqual(paths("mail me@example.com\n<!-- @a.md -->\nsee <!-- @b.md --> there"), [])
  })

  it("reads spaces, parts and the end of a sentence in a path", () => {
    assert.deepStrictEqual(paths("@my\\ notes.md @a.md#top, @b.md."), ["my notes.md", "a.md", "b.md"])
  })

  it("leaves comments for people out", () => {
    const text = "<!-- for people -->\n# Rules\n<!--\nmore\n```\n-->\nUse tabs.\n<!-- a --> stays"
    assert.strictEqual(read(text).text, "# Rules\nUse tabs.\n stays")
  })

  it("keeps comments in code, within a sentence, and those that never end", () => {
    const text = "```html\n<!-- kept -->\n```\na <!-- b --> c\n<!-- open\nrest"
    assert.strictEqual(read(text).text, text)
  })

  it("tells a file from a name", () => {
    assert.deepStrictEqual(["a.md", "./x", "~/x", "/x", "param", "effect/vitest"].map(looksLikePath), [
      true,
      true,
      true,
      true,
      false,
      false,
    ])
  })
})
