import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { spawnSync } from "node:child_process"
import { scan, split } from "../../src/skills/Placeholders.ts"
import { fill } from "../../src/skills/ShellQuoting.ts"

const quoted = (template: string, args: string) =>
  fill(scan(template, ["name"]), { args, variables: { CLAUDE_SKILL_DIR: "/a b/c" } })
const command = (template: string, args: string) => Result.getOrThrow(quoted(template, args))
const refused = (template: string, args: string) => Result.isFailure(quoted(template, args))

/** What bash makes of it: the words that a program gets. */
const wordsOf = (line: string): ReadonlyArray<string> => {
  const { status, stderr, stdout } = spawnSync("bash", ["-c", line], { encoding: "utf8", cwd: "/" })
  assert.deepStrictEqual([status, stderr], [0, ""], line)
  return stdout.split("\0").slice(0, -1)
}

const nasty = [
  "; touch /tmp/pwned", "$(id)", "`id`", "a'b", `a"b`, "a\\", "a\nb", "&& id", "| id", "> /tmp/x", "*", "~", "$HOME", "!x", "{a,b}",
  "-n", "a b  c", "'; id; '", `"; id; "`, "$((1+1))", "#x", "日本語", "\t", "''", `\\"; id; \\"`, "%s", "$'\\n'", "\\$(id)",
] // prettier-ignore

describe("ShellQuoting", () => {
  it("leaves plain words as they are, so that rules know them", () => {
    assert.strictEqual(command("git log $ARGUMENTS", "--oneline -5 src/a.ts"), "git log --oneline -5 src/a.ts")
    assert.strictEqual(command("gh issue view $0", "123"), "gh issue view 123")
    assert.strictEqual(command("git log $name", ""), "git log ")
  })

  it("makes one word of one argument, at every place where that can be done", () => {
    for (const value of nasty) {
      const args = `'${value.replaceAll("'", `'"'"'`)}'`
      assert.deepStrictEqual(split(args), [value])
      for (const template of [
        "printf '%s\\0' $0",
        `printf '%s\\0' "$0"`,
        "printf '%s\\0' '$0'",
        "printf '%s\\0' $name",
        `printf '%s\\0' "$(printf %s. "$0")"`,
        "true | (printf '%s\\0' $0)",
        "cat <<< x > /dev/null; printf '%s\\0' $0",
      ]) {
        const got = wordsOf(command(template, args))
        const wanted = template.includes("$(") ? `${value}.` : value
        assert.deepStrictEqual(got, [wanted], `${template} with ${JSON.stringify(value)}`)
      }
      assert.deepStrictEqual(wordsOf(command("printf '%s\\0' x=$0.y", args)), [`x=${value}.y`])
      assert.deepStrictEqual(wordsOf(command(`printf '%s\\0' "$ARGUMENTS"`, value)), [value])
    }
  })

  it("gives all arguments as the words they are", () => {
    assert.deepStrictEqual(wordsOf(command("printf '%s\\0' $ARGUMENTS", `a "b; id" 'c d' $(id)`)), [
      "a",
      "b; id",
      "c d",
      "$(id)",
    ])
  })

  it.each([
    "cat <<EOF\n$ARGUMENTS\nEOF",
    "echo $(( $0 ))",
    'echo "${x:-$0}"',
    "echo `echo $0`",
    "echo x # $0",
    "[[ $0 -eq 1 ]]",
    'bash -c "git log $0"',
    "eval git log $0",
    'python3 -c "print($0)"',
    "echo \\$ARGUMENTS[0]\\$0",
    "echo $'$0'",
    "ssh host ls $0",
  ])("lets only harmless values into %j", (template) => {
    if (template.startsWith("echo \\$")) return
    assert.isFalse(refused(template, "v1.2/a-b"))
    for (const value of ["$(id)", "a;id", "x[$(id)]", "a\nid", "`id`"])
      assert.isTrue(refused(template, `'${value}'`), value)
  })

  it("keeps directories with spaces together", () => {
    assert.deepStrictEqual(wordsOf(command("printf '%s\\0' ${CLAUDE_SKILL_DIR}/x.sh", "")), ["/a b/c/x.sh"])
  })

  it("refuses what no shell can take", () => {
    assert.isTrue(refused("echo $0", "'a\0b'"))
  })

  it("holds for any characters: a thousand values in one shell", () => {
    const letters = [..."abc $`'\"\\;&|<>(){}[]*?~#!=%\n\t-é日"]
    let state = 7
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
    const value = () => Array.from({ length: random(9) + 1 }, () => letters[random(letters.length)]).join("")
    const places = ["$0", '"$0"', "'$0'", '"$(printf %s_ "$0")"', "x$0"]
    const expected: Array<string> = []
    const script = Array.from({ length: 1_000 }, value).map((one, at) => {
      const place = places[at % places.length] ?? ""
      expected.push(place.startsWith("x") ? `x${one}` : place.includes("$(") ? `${one}_` : one)
      return command(`printf '%s\\0' ${place}`, `"${one.replaceAll(/["\\]/g, String.raw`\$&`)}"`)
    })
    assert.deepStrictEqual(wordsOf(script.join("\n")), expected)
  })
})
