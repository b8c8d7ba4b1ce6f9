import { assert, describe, it } from "@effect/vitest"
import * as PathGlob from "../../src/platform/PathGlob.ts"

const has = (pattern: string | ReadonlyArray<string>, path: string) =>
  PathGlob.make(typeof pattern === "string" ? [pattern] : pattern).has(path)

describe("a path pattern", () => {
  it.each([
    ["**/*.ts", "a.ts", true],
    ["**/*.ts", "src/deep/a.ts", true],
    ["**/*.ts", "src/a.tsx", false],
    ["src/**/*", "src/a/b.c", true],
    ["src/**/*", "lib/a", false],
    ["*.md", "README.md", true],
    ["*.md", "docs/a.md", false],
    ["src/*.{ts,tsx}", "src/a.tsx", true],
    ["{a,b}/{c,d}/*.{x,y}", "b/c/1.y", true],
    ["{a,b{1,2}}/x", "b2/x", true],
    ["./src/", "src/a/b", true],
    ["/src/*.ts", "src/a.ts", true],
    ["a?c", "abc", true],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["[]]x", "]x", true],
    [".env*", ".env.local", true],
    ["**/.claude/**", "a/.claude/rules/b.md", true],
    ["photos \\[2024/**", "photos [2024/a.png", true],
    ["{one}", "{one}", true],
  ] as const)("%s and %s: %s", (pattern, path, expected) => {
    assert.strictEqual(has(pattern, path), expected)
  })

  it("that is broken means nothing, says so, and leaves the others", () => {
    const glob = PathGlob.make(["photos [2024/**", "*.ts"])
    assert.isFalse(glob.has("photos [2024/a"))
    assert.isTrue(glob.has("a.ts"))
    assert.strictEqual(glob.problems[0]?.pattern, "photos [2024/**")
  })

  it("with too many braces is taken literally", () => {
    const glob = PathGlob.make(["{a,b}".repeat(12), "{a,b}.ts"])
    assert.isFalse(glob.has("a".repeat(12)))
    assert.isTrue(glob.has("b.ts"))
    assert.lengthOf(glob.problems, 1)
  })

  it("cannot make anybody wait", () => {
    assert.isFalse(has(`${"*a".repeat(60)}b`, "a".repeat(250)))
    assert.isFalse(has(`${"**/a/".repeat(40)}b`, "a/".repeat(500)))
  })
})
