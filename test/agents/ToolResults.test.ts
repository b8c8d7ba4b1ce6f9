/** What the built-in tools answer on real files, as the model, the transcript and the next life of a session get it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agents } from "../../src/agents/Agents.ts"
import type { Event } from "../../src/protocol/Event.ts"
import { coding } from "../../src/tools/builtin/Coding.ts"
import { pdf } from "../tools/builtin/pdf.ts"
import { realWorld, temporary } from "./realWorld.ts"
import { ended, only } from "./session.ts"

const options = { permissionMode: "bypassPermissions", tools: coding } as const

type Call = readonly [tool: string, input: Record<string, unknown>]

/** One call after the other; `undefined` ends a turn. */
const turnsOf = (calls: ReadonlyArray<Call | undefined>) =>
  calls.map((one) => (one === undefined ? { reply: "Done." } : { reply: [{ tool: one[0], input: one[1] }] }))

const play = (cwd: string, ...calls: ReadonlyArray<Call>) =>
  Effect.gen(function* () {
    const agent = yield* (yield* Agents).open(options)
    const events: ReadonlyArray<Event> = yield* Stream.runCollect(agent.prompt("Go"))
    assert.strictEqual(ended(events).terminal.reason, "completed")
    return only(events, "ToolEnded")
  }).pipe(Effect.scoped, Effect.provide(realWorld({ turns: turnsOf([...calls, undefined]) }, cwd)))

const Line = Schema.Struct({ toolUseResult: Schema.optionalKey(Schema.Unknown) })
const decodeLine = Schema.decodeUnknownSync(Schema.fromJsonString(Line))
const toolUseResults = (transcript: string): ReadonlyArray<unknown> =>
  fs
    .readFileSync(transcript, "utf8")
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      const { toolUseResult } = decodeLine(line)
      return toolUseResult === undefined ? [] : [toolUseResult]
    })

describe("a result over its cap", () => {
  it.live("is on disk as a whole, and the model has its beginning and the way to the rest", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary("caps")
      const lines = Array.from({ length: 5_000 }, (_, index) => `needle ${index} ${"x".repeat(40)}\n`)
      fs.writeFileSync(path.join(cwd, "a.txt"), lines.join(""))
      const input = { pattern: "needle", output_mode: "content", head_limit: 0, path: "a.txt" }
      const [result] = yield* play(cwd, ["Grep", input])
      assert.strictEqual(result?.outcome, "completed")
      const told = String(result?.content)
      assert.isBelow(told.length, 3_000)
      assert.match(told, /^<persisted-output>/)
      const whole = fs.readFileSync(/is in (\S+\.txt)/.exec(told)?.[1] ?? "", "utf8")
      assert.match(whole, /^a\.txt:1:needle 0 x.*\na\.txt:5000:needle 4999 x+$/s)
    }).pipe(Effect.scoped),
  )
})

describe("pages of a PDF", () => {
  it.live("reach the model as a document that the API takes", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary("pdf")
      const file_path = path.join(cwd, "long.pdf")
      fs.writeFileSync(file_path, pdf(Array.from({ length: 30 }, (_, index) => `Words of page ${index + 1}`)))
      const [part, text] = yield* play(
        cwd,
        ["Read", { file_path, pages: "4-6" }],
        ["Read", { file_path, pages: "4-16" }],
      )
      assert.deepInclude(part?.structured, { type: "parts", firstPage: 4 })
      const [block] = typeof part?.content === "object" ? part.content : []
      assert(block?.type === "document")
      assert.strictEqual(block.title, "long.pdf, pages 4 to 6 of 30")
      assert.match(String(text?.content), /Words of page 16\n\[Only the words/)
    }).pipe(Effect.scoped),
  )
})

describe("a session that is resumed", () => {
  it.live("knows from the typed output of earlier calls which files it has seen", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary("resumed")
      const at = (name: string) => path.join(cwd, name)
      fs.writeFileSync(at("read.txt"), "one\n")
      fs.writeFileSync(at("unread.txt"), "one\n")
      const edit = (name: string, from: string, to: string) =>
        ["Edit", { file_path: at(name), old_string: from, new_string: to }] as const
      const calls = [
        ["Read", { file_path: at("read.txt") }],
        ["Write", { file_path: at("made.txt"), content: "one\n" }],
        edit("read.txt", "one", "two"),
      ] as const
      const later = [edit("read.txt", "two", "three"), edit("made.txt", "one", "two"), edit("unread.txt", "one", "two")]
      const turns = turnsOf([...calls, undefined, ...later, undefined])
      yield* Effect.gen(function* () {
        const agents = yield* Agents
        const agent = yield* Effect.scoped(
          Effect.gen(function* () {
            const first = yield* agents.open(options)
            yield* Stream.runDrain(first.prompt("Go"))
            return first
          }),
        )
        const lines = toolUseResults(agent.transcriptPath)
        assert.deepInclude(lines[0], { type: "text" })
        assert.deepInclude(lines[1], { type: "create", filePath: at("made.txt"), content: "one\n", originalFile: null })
        assert.deepInclude(lines[2], {
          filePath: at("read.txt"),
          oldString: "one",
          newString: "two",
          originalFile: "one\n",
          userModified: false,
          replaceAll: false,
          structuredPatch: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ["-one", "+two"] }],
        })
        const resumed = yield* agents.resume(agent.sessionId, options)
        const events = yield* Stream.runCollect(resumed.prompt("Go on"))
        assert.deepStrictEqual(
          only(events, "ToolEnded").map(({ outcome }) => outcome),
          ["completed", "completed", "failed"],
        )
      }).pipe(Effect.scoped, Effect.provide(realWorld({ turns }, cwd)))
    }).pipe(Effect.scoped),
  )
})
