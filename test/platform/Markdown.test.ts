import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Markdown from "../../src/platform/Markdown.ts"

const written = (html: string) =>
  Effect.map(Markdown.fromHtml(html, "https://example.com/a/b"), ({ markdown }) => markdown)

describe("Markdown", () => {
  it.effect("writes headings, words, links, lists, code and tables", () =>
    Effect.gen(function* () {
      const page = yield* Markdown.fromHtml(
        `<!doctype html><html><head><title>A &amp; B</title><style>p{}</style><script>alert("<p>no</p>")</script></head><body>
        <nav><a href="/home">Home</a></nav><h1>Title</h1><p>Some <b>bold</b> and <code>x &lt; y</code>,
        see <a href="../c?d=1">the link</a>.<br>Next line</p><ul><li>one</li><li>two<ol><li>inner</li></ol></li></ul>
        <pre><code>if (a) {
  b()
}</code></pre><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table><img alt="a cat" src="x">
        <svg><title>no</title><text>no</text></svg><noscript>no</noscript></body></html>`,
        "https://example.com/a/b",
      )
      assert.strictEqual(page.title, "A & B")
      assert.strictEqual(
        page.markdown,
        [
          "[Home](https://example.com/home)",
          "# Title",
          "Some **bold** and `x < y`, see [the link](https://example.com/c?d=1).\nNext line",
          "- one\n- two\n  1. inner",
          "```\nif (a) {\n  b()\n}\n```",
          "| k | v |\n| 1 | 2 |",
          "[image: a cat]",
        ].join("\n\n"),
      )
    }),
  )

  it.effect("makes something of broken pages", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* written("<p>a<p>b</div></p>c <b>d"), "a\n\nb\n\nc **d")
      assert.strictEqual(yield* written("<head><body>x"), "x")
      assert.strictEqual(yield* written('<a href="javascript:x()">y</a> <a href="#z">w</a>'), "y w")
      assert.strictEqual(yield* written("no tags at all &lt; 3"), "no tags at all < 3")
      assert.strictEqual(yield* written(""), "")
      assert.strictEqual(yield* written("<script>never closed"), "")
    }),
  )

  it.effect(
    "takes time by length only, however deep or strange a page is",
    () =>
      Effect.gen(function* () {
        for (const part of [
          "<div>",
          "<ul><li>",
          "<b>",
          '<a href="x">',
          "<p>x</p>",
          "<",
          "&amp;",
          "<pre>",
          "<table><td>",
        ]) {
          yield* written(part.repeat(Math.floor(1_000_000 / part.length)))
        }
      }),
    4_000,
  )
})
