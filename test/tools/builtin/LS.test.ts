import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { LS } from "../../../src/tools/builtin/LS.ts"
import { call, inWorkspace, refusal, said } from "./kit.ts"

describe("LS", () => {
  it.live("lists names, hidden ones too, directories with a slash, without those to ignore", () =>
    inWorkspace(({ put, root, at }) =>
      Effect.gen(function* () {
        for (const name of ["b.ts", "a.log", ".env", "src/x", "node_modules/y"]) put(name, "")
        fs.symlinkSync("nowhere", at("dangling"))
        assert.strictEqual(
          yield* said(LS, { path: root, ignore: ["*.log", "**/node_modules/**"] }),
          `${root}/\n- .env\n- b.ts\n- dangling\n- src/`,
        )
        fs.mkdirSync(at("empty"))
        assert.strictEqual(yield* said(LS, { path: "empty" }), `${at("empty")}/\n[empty]`)
        assert.match(yield* refusal(LS, { path: "b.ts" }), /is a file/)
        assert.match(yield* refusal(LS, { path: "nope" }), /There is no file/)
        assert.match(yield* refusal(LS, {}), /path/)
      }),
    ),
  )

  it.live("stops at a thousand entries and says so", () =>
    inWorkspace(({ put, root }) =>
      Effect.gen(function* () {
        for (let i = 0; i < 1_003; i++) put(`f${i}`, "")
        const output = yield* call(LS, { path: root })
        assert.match(String(output.content), /\[1000 of 1003 entries/)
        assert.deepInclude(output.structured, { truncated: true })
      }),
    ),
  )
})
