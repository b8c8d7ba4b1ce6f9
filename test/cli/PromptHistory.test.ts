import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { rolldown } from "rolldown"
import * as Pastes from "../../src/cli/Pastes.ts"
import * as PromptHistory from "../../src/cli/PromptHistory.ts"

const place = Effect.acquireRelease(
  Effect.sync(() => path.join(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-history-")), "deep", "history.jsonl")),
  (file) => Effect.sync(() => fs.rmSync(path.join(file, "../.."), { recursive: true, force: true })),
)

const open = (file: string, project = "/w") => {
  const pastes = Pastes.make()
  return { pastes, history: PromptHistory.make(file, project, pastes) }
}

describe("what was typed before", () => {
  it.live("is recalled by project, the newest first and each once, also what another process adds meanwhile", () =>
    Effect.gen(function* () {
      const file = yield* place
      const { history } = open(file)
      assert.deepStrictEqual(yield* history.recall, [])
      yield* history.add("one", "s1")
      yield* open(file, "/elsewhere").history.add("other project", "s2")
      yield* open(file).history.add("two", "s3")
      yield* history.add("one", "s1")
      assert.deepStrictEqual(yield* history.recall, ["one", "two"])
    }),
  )

  it.live("keeps pastes, under numbers that nothing else has", () =>
    Effect.gen(function* () {
      const file = yield* place
      const first = open(file)
      yield* first.history.add(`see ${first.pastes.hold("a\nb")}`, "s1")
      yield* first.history.add(`big ${first.pastes.hold("x\n".repeat(100_000))}`, "s1")
      const second = open(file)
      assert.strictEqual(second.pastes.hold("mine\nown"), "[Pasted text #1 +1 line]")
      const [big = "", see = ""] = yield* second.history.recall
      assert.strictEqual(second.pastes.expand(see), "see a\nb")
      assert.strictEqual(second.pastes.expand(big), "big [Pasted text, not kept]")
    }),
  )

  it.live("survives lines that are none, and a line that was cut off", () =>
    Effect.gen(function* () {
      const file = yield* place
      fs.mkdirSync(path.dirname(file), { recursive: true })
      const foreign = {
        display: "red \u001b[31mcode",
        project: "/w",
        timestamp: 1,
        pastedContents: { "1": "odd" },
        more: true,
      }
      fs.writeFileSync(
        file,
        `nonsense\n[]\n{"display":3,"project":"/w"}\n${JSON.stringify(foreign)}\n{"display":"cut o`,
      )
      const { history } = open(file)
      yield* history.add("kept", "s")
      assert.deepStrictEqual(yield* history.recall, ["kept", "red code"])
    }),
  )

  it.live("loses nothing when two processes write at once", () =>
    Effect.gen(function* () {
      const file = yield* place
      const program = path.join(path.dirname(path.dirname(file)), "historian.mjs")
      yield* Effect.promise(async () => {
        const input = path.join(import.meta.dirname, "historian.ts")
        const bundle = await rolldown({ input, platform: "node", transform: { target: "node20" } })
        await bundle.write({ file: program, format: "esm", codeSplitting: false })
      })
      const run = (name: string) => once(spawn(process.execPath, [program, file, name], { stdio: "inherit" }), "close")
      const codes = yield* Effect.promise(() => Promise.all([run("a"), run("b")]))
      assert.deepStrictEqual(
        codes.map(([code]) => code),
        [0, 0],
      )
      const { history } = open(file)
      assert.lengthOf(yield* history.recall, 180)
    }),
  )

  it.live("is nobody else's to read, and never in the way", () =>
    Effect.gen(function* () {
      const file = yield* place
      yield* open(file).history.add("mine", "s")
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      const { history } = open("/dev/null/nowhere")
      yield* history.add("lost", "s")
      assert.deepStrictEqual(yield* history.recall, [])
    }),
  )
})
