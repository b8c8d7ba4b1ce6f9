import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { LineReader } from "../../src/cli/LineReader.ts"
import { ask } from "../../src/cli/TrustDialogue.ts"
import type { Review } from "../../src/settings/Trust.ts"
import * as TrustStore from "../../src/settings/TrustStore.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const review: Review = {
  source: { kind: "project", name: "/work/.claude/settings.json" },
  keys: ["hooks"],
  hash: "abc",
}

const dialogue = Effect.fnUntraced(function* (typed: ReadonlyArray<string>) {
  const left = [...typed]
  const written: Array<string> = []
  const reader: LineReader = {
    read: () =>
      Effect.sync(() => {
        const text = left.shift()
        return text === undefined ? { _tag: "End" } : { _tag: "Line", text }
      }),
  }
  const out = { write: (text: string) => Effect.sync(() => void written.push(text)) }
  const answer = yield* ask([{ review, text: "settings.json wants:\n{ hooks }" }], { cwd: "/work", reader, out })
  const approved = yield* TrustStore.approved
  return { answer, shown: written.join(""), trusted: approved(review) }
}, Effect.provide(MemoryWorkspace.layer()))

describe("the question about a folder's own configuration", () => {
  it.effect("shows what waits, and remembers a yes", () =>
    Effect.gen(function* () {
      const { answer, shown, trusted } = yield* dialogue(["what?", "y"])
      assert.strictEqual(answer, "agreed")
      assert.include(shown, "settings.json wants:\n{ hooks }")
      assert.isTrue(trusted)
    }),
  )

  it.effect("goes on without it at a no, and leaves at q and at the end of input; nothing is remembered", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* dialogue(["n"]), { answer: "declined", trusted: false })
      assert.deepInclude(yield* dialogue(["q"]), { answer: "leave", trusted: false })
      assert.deepInclude(yield* dialogue([]), { answer: "leave", trusted: false })
    }),
  )
})
