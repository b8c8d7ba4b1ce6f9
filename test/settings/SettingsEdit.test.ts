import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import { canonical, get, isObject, type Json, type JsonObject, without } from "../../src/settings/Merge.ts"
import { append, type Edit, edit, remove, set } from "../../src/settings/SettingsEdit.ts"
import { parse } from "../../src/settings/SettingsFile.ts"

const after = (text: string, ...edits: ReadonlyArray<Edit>) => Result.getOrThrow(edit(text, edits))
const refusal = (text: string, ...edits: ReadonlyArray<Edit>) => Result.getOrThrow(Result.flip(edit(text, edits)))

const written = `// what we all use
{
  "model": "opus", // the big one
  /* rules */
  "permissions": {
    "allow": ["Read", "Bash(npm test *)"], // safe
    "deny": [
      "WebFetch", // no network
    ],
  },
  "fromTheFuture": { "x": [1, 2] },
}
`

describe("an edit of a settings file", () => {
  it("replaces a value and nothing around it", () => {
    assert.strictEqual(after(written, set(["model"], "haiku")), written.replace('"opus"', '"haiku"'))
    assert.strictEqual(after(written, set(["fromTheFuture", "x", "1"], 3)), written.replace("[1, 2]", "[1, 3]"))
  })

  it("adds a key behind the last one, in the file's manner", () => {
    assert.strictEqual(
      after(written, set(["verbose"], true)),
      written.replace("[1, 2] },\n", '[1, 2] },\n  "verbose": true,\n'),
    )
    assert.strictEqual(after('{\n\t"a": 1 // one\n}', set(["b"], 2)), '{\n\t"a": 1, // one\n\t"b": 2\n}')
    assert.strictEqual(after('{"a":1}', set(["b"], [1, { c: 2 }])), '{"a":1,"b":[1,{"c":2}]}')
    assert.strictEqual(after('{ "a": 1 }', set(["b"], [1, 2])), '{ "a": 1, "b": [1, 2] }')
    assert.strictEqual(after("{ // none\n}", set(["a"], 1)), '{ // none\n  "a": 1\n}')
    assert.strictEqual(after('{"a": 1 // one\n}', set(["b"], 2)), '{"a": 1, // one\n  "b": 2\n}')
  })

  it("makes the objects on the way, and the file's first line", () => {
    assert.strictEqual(
      after("", set(["permissions", "defaultMode"], "plan")),
      '{\n  "permissions": {\n    "defaultMode": "plan"\n  }\n}\n',
    )
    assert.strictEqual(after("{}", set(["__proto__", "a"], 1)), '{\n  "__proto__": {\n    "a": 1\n  }\n}')
    assert.strictEqual(
      after('{\n    "a": {}\n}', set(["a", "b"], { c: 1 })),
      '{\n    "a": {\n        "b": {\n            "c": 1\n        }\n    }\n}',
    )
  })

  it("adds to a list, once", () => {
    const more = after(written, append(["permissions", "allow"], "Glob"))
    assert.strictEqual(more, written.replace('test *)"]', 'test *)", "Glob"]'))
    assert.strictEqual(after(more, append(["permissions", "allow"], "Glob")), more)
    assert.strictEqual(
      after(written, append(["permissions", "deny"], "Bash")),
      written.replace("// no network\n", '// no network\n      "Bash",\n'),
    )
    assert.strictEqual(after('{"a": 1}', append(["b"], "x")), '{"a": 1, "b": ["x"]}')
  })

  it("removes a key and keeps every comment", () => {
    assert.strictEqual(
      after(written, remove(["model"])),
      written.replace('"model": "opus", // the big one', "// the big one"),
    )
    assert.strictEqual(after('{\n  "a": 1, // about a\n  "b": 2\n}', remove(["b"])), '{\n  "a": 1 // about a\n}')
    assert.strictEqual(after('{ "a": 1, }', remove(["a"])), "{}")
    assert.strictEqual(after('{ "a": 1, "b": 2 }', remove(["a"])), '{ "b": 2 }')
    assert.strictEqual(after('{ "a": 1, "b": 2 }', remove(["b"])), '{ "a": 1 }')
    assert.strictEqual(after('{"a": 1 // one\n, "b": 2}', remove(["a"])), '{// one\n, "b": 2}'.replace("\n, ", "\n "))
    assert.strictEqual(after(written, remove(["nothing", "here"])), written)
  })

  it("counts the last of two keys that are the same, and removes both", () => {
    assert.strictEqual(after('{"a": 1, "a": 2}', set(["a"], 3)), '{"a": 1, "a": 3}')
    assert.strictEqual(after('{"a": 1, "a": 2}', remove(["a"])), "{}")
  })

  it("changes nothing where all is so already", () => {
    const odd = '{"a" :  {"y":1,   "x":2}}'
    assert.strictEqual(after(odd, set(["a"], { x: 2, y: 1 })), odd)
  })

  it("refuses a broken text and says where", () => {
    assert.deepInclude(refusal('{\n  "a": 1\n  "b": 2\n}', set(["a"], 2)), { reason: "broken", line: 3, column: 3 })
  })

  it("refuses what would destroy another value, and says where that is", () => {
    const taken = refusal('{"model": "opus"}', set(["model", "name"], 1))
    assert.deepInclude(taken, { reason: "conflict", line: 1, column: 11 })
    assert.match(taken.message, /"model\.name" needs an object here, and this is text/)
    assert.strictEqual(refusal('{"a": {}}', append(["a"], 1)).reason, "conflict")
    assert.strictEqual(refusal("{}", set([], 1)).reason, "conflict")
  })
})

/** What an edit means, without any text. */
const meant = (value: JsonObject, one: Edit): JsonObject => {
  if (one._tag === "Remove") {
    const rest = without(value, one.path)
    return isObject(rest) ? rest : {}
  }
  const before = get(value, one.path)
  const list = Array.isArray(before) ? before : []
  const next: Json =
    one._tag === "Set"
      ? one.value
      : list.some((item) => canonical(item) === canonical(one.value))
        ? list
        : [...list, one.value]
  const put = (at: Json | undefined, [key, ...rest]: ReadonlyArray<string>): Json =>
    key === undefined ? next : { ...(isObject(at) ? at : {}), [key]: put(get(at, [key]), rest) }
  const result = put(value, one.path)
  return isObject(result) ? result : {}
}

const comments = (text: string) => (text.match(/\/\*\d+\*\/|\/\/\d+/g) ?? []).sort()

describe("any edits of any file", () => {
  it.effect("do what they mean, and lose no comment outside the value", () =>
    Effect.gen(function* () {
      const pick = <A>(first: A, ...more: ReadonlyArray<A>) =>
        Effect.map(Random.nextIntBetween(0, more.length + 1), (index) => more[index - 1] ?? first)
      let serial = 0
      const space: Effect.Effect<string> = Effect.suspend(() =>
        pick("", "", " ", "\n  ", "\n", " /*@*/ ", " //@\n", "\n\t//@\n\t", "\n  /*@*/"),
      ).pipe(Effect.map((text) => text.replace("@", () => String(serial++))))
      const value = (depth: number): Effect.Effect<string> =>
        Effect.gen(function* () {
          const kind = depth > 2 ? 3 : yield* Random.nextIntBetween(0, 5)
          if (kind > 2) return yield* pick("1", '"x"', "true", "null", '"a,b:{}//"')
          const items: Array<string> = []
          const count = yield* Random.nextIntBetween(0, 4)
          for (let index = 0; index < count; index++) {
            const key = kind === 2 ? "" : `"${yield* pick("a", "b", "c", "d")}"${yield* pick("", " ", "\n")}:`
            const gap = kind === 2 ? "" : yield* pick("", " ", "\n  ")
            items.push(`${yield* space}${key}${gap}${yield* value(depth + 1)}${yield* space}`)
          }
          const trailing = count > 0 && (yield* Random.nextBoolean) ? `,${yield* space}` : ""
          const inner = items.join(",") + trailing || (yield* space)
          return kind === 2 ? `[${inner}]` : `{${inner}}`
        })
      for (let round = 0; round < 3000; round++) {
        const body = yield* value(0)
        let text = `${yield* space}${body.startsWith("{") ? body : `{"a":${body}}`}${yield* space}`
        for (let step = 0; step < 4; step++) {
          const before = Result.getOrThrow(parse(text)).value
          const path = [yield* pick("a", "b", "e"), ...(yield* pick([], ["c"], ["d", "e"]))]
          const one = yield* pick(set(path, "new"), set(path, { k: [1] }), append(path, "x"), remove(path))
          const result = edit(text, [one])
          if (Result.isFailure(result)) {
            assert.strictEqual(result.failure.reason, "conflict")
            continue
          }
          const parsed = parse(result.success)
          if (Result.isFailure(parsed))
            assert.fail(
              `${JSON.stringify(text)} by ${JSON.stringify(one)} became broken: ${JSON.stringify(result.success)}`,
            )
          assert.strictEqual(
            canonical(parsed.success.value),
            canonical(meant(before, one)),
            `${JSON.stringify(text)} by ${JSON.stringify(one)} became ${JSON.stringify(result.success)}`,
          )
          const inside = isObject(get(before, path)) || Array.isArray(get(before, path))
          if (
            !(inside && (one._tag === "Set" || one._tag === "Remove")) &&
            Result.getOrThrow(parse(text)).doubts.length === 0
          ) {
            assert.deepStrictEqual(
              comments(result.success),
              comments(text),
              `${JSON.stringify(text)} by ${JSON.stringify(one)}`,
            )
          }
          text = result.success
        }
      }
    }).pipe(Random.withSeed("settings")),
  )
})
