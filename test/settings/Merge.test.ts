import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  canonical,
  get,
  isObject,
  type Json,
  type JsonObject,
  merge,
  mergeAll,
  only,
  without,
} from "../../src/settings/Merge.ts"

const Leaf = Schema.Union([Schema.Boolean, Schema.Int, Schema.String, Schema.Null])
/** One kind of value for each key, as settings have it. */
const Typed = Schema.Struct({
  model: Schema.optionalKey(Schema.String),
  fallbackModel: Schema.optionalKey(Schema.Array(Schema.String)),
  verbose: Schema.optionalKey(Leaf),
  permissions: Schema.optionalKey(
    Schema.Struct({
      allow: Schema.optionalKey(Schema.Array(Schema.String)),
      deny: Schema.optionalKey(Schema.Array(Schema.Union([Schema.String, Schema.Struct({ a: Schema.Int })]))),
      defaultMode: Schema.optionalKey(Schema.String),
    }),
  ),
  env: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
})
/** Any kind of value for any key. */
const Wild = Schema.Record(
  Schema.Literals(["a", "b", "__proto__", "toString"]),
  Schema.Union([Leaf, Schema.Array(Leaf), Schema.Record(Schema.Literals(["a", "__proto__"]), Leaf)]),
)

const list = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

describe("merge", () => {
  it.prop("is associative while each key keeps its kind", [Typed, Typed, Typed], ([a, b, c]) => {
    assert.deepStrictEqual(canonical(merge(merge(a, b), c)), canonical(merge(a, merge(b, c))))
  })

  it.prop("has the empty settings as its neutral element", [Typed], ([a]) => {
    assert.deepStrictEqual(canonical(merge({}, merge(a, {}))), canonical(merge(a, {})))
  })

  it.prop("says twice what it says once", [Typed], ([a]) => {
    assert.deepStrictEqual(canonical(merge(a, a)), canonical(merge({}, a)))
  })

  it.prop("lets the higher source win every scalar", [Wild, Wild], ([low, high]) => {
    const merged = merge(low, high)
    for (const [key, value] of Object.entries(high)) {
      if (typeof value !== "object" || value === null) assert.strictEqual(get(merged, [key]), value)
    }
  })

  it.prop("keeps every key of both", [Wild, Wild], ([low, high]) => {
    assert.deepStrictEqual(
      Object.keys(merge(low, high)).sort(),
      [...new Set([...Object.keys(low), ...Object.keys(high)])].sort(),
    )
  })

  it.prop("never drops and never repeats a rule", [Typed, Typed], ([low, high]) => {
    const rules = (value: JsonObject) => list(get(value, ["permissions", "allow"]))
    const merged = rules(merge(low, high))
    assert.deepStrictEqual(new Set(merged), new Set([...rules(low), ...rules(high)]))
    assert.strictEqual(new Set(merged).size, merged.length)
  })

  it.prop("does not touch prototypes", [Wild, Wild], ([low, high]) => {
    assert.strictEqual(Object.getPrototypeOf(merge(low, high)), Object.prototype)
    assert.isUndefined(Reflect.get({}, "a"))
  })

  it("puts the lower source's list items first", () => {
    const merged = mergeAll([{ l: ["user"] }, { l: ["project", "user"] }, { l: ["local"] }])
    assert.deepStrictEqual(merged, { l: ["user", "project", "local"] })
  })

  it("takes an ordered chain whole", () => {
    assert.deepStrictEqual(merge({ fallbackModel: ["a", "b"] }, { fallbackModel: ["c"] }), { fallbackModel: ["c"] })
  })

  it("takes objects in lists for the same when only the order of their keys differs", () => {
    assert.deepStrictEqual(merge({ l: [{ a: 1, b: 2 }] }, { l: [{ b: 2, a: 1 }] }), { l: [{ a: 1, b: 2 }] })
  })

  it("lets another kind of value replace the lower one", () => {
    assert.deepStrictEqual(merge({ a: ["x"], b: "y" }, { a: "z", b: { c: 1 } }), { a: "z", b: { c: 1 } })
  })
})

describe("paths", () => {
  it.prop(
    "what is taken out and what stays are the whole",
    [Wild, Schema.Literals(["a", "b", "__proto__"])],
    ([value, key]) => {
      const rest = without(value, [key])
      assert.isTrue(isObject(rest) && get(rest, [key]) === undefined)
      assert.strictEqual(
        canonical(isObject(rest) ? merge(only(value, [key]), rest) : null),
        canonical(merge({}, value)),
      )
    },
  )

  it("reaches into lists", () => {
    assert.strictEqual(get({ a: [{ b: 1 }] }, ["a", "0", "b"]), 1)
    assert.deepStrictEqual(without({ a: ["x", "y"] }, ["a", "0"]), { a: ["y"] })
    assert.isUndefined(get({ a: [1] }, ["a", "length"]))
  })
})
