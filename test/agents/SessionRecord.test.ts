import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agents } from "../../src/agents/Agents.ts"
import { WorthSaving } from "../../src/agents/SessionRecord.ts"
import { Host } from "../../src/platform/Host.ts"
import * as SessionPaths from "../../src/session/SessionPaths.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { echo, hurried, note, open } from "./session.ts"

const id = "6f1c9c52-6f6c-4f9e-9d9e-0a4b5f3f7e11"
const tools = [echo, note]

const book = {
  rules: [
    { when: { tool: {} }, reply: "Done." },
    {
      when: { user: "Go" },
      reply: [
        { tool: "Note", input: { text: "a" } },
        { tool: "Echo", input: { text: "b" } },
      ],
    },
    { reply: "On we go." },
  ],
}

const begun = Effect.gen(function* () {
  const agent = yield* open({ sessionId: id })
  for (const prompt of ["Go", "And now?", "Go"]) yield* hurried(Stream.runDrain(agent.prompt(prompt)))
  yield* agent.rename("Three turns")
}).pipe(Effect.scoped)

/** Goes on with it, and answers what the model was told and what was recorded in the transcript. */
const goneOn = Effect.gen(function* () {
  const agents = yield* Agents
  const fs = yield* FileSystem.FileSystem
  const agent = yield* agents.resume(id, { tools, permissionMode: "bypassPermissions" })
  yield* hurried(Stream.runDrain(agent.prompt("Well?")))
  const told = (yield* ScriptedModel.requests).at(-1)?.body
  const lines = (yield* fs.readFileString(agent.transcriptPath)).trimEnd().split("\n")
  return {
    messages: told?.messages,
    system: told?.system,
    about: agent.about(),
    lines: lines.length,
    problems: agent.problems,
  }
}).pipe(Effect.scoped)

const files = Effect.gen(function* () {
  const host = yield* Host
  const fs = yield* FileSystem.FileSystem
  const directory = SessionPaths.sessionDirectory(host, id)
  const paths = [
    `${directory}/journal.ndjson`,
    `${directory}/index.json`,
    SessionPaths.transcriptPath(host, host.cwd, id),
  ]
  const [journal = "", index = "", transcript = ""] = paths
  const contents = yield* Effect.forEach(paths, (path) => fs.readFile(path))
  const back = Effect.forEach(paths, (path, at) => fs.writeFile(path, contents[at] ?? new Uint8Array()), {
    discard: true,
  })
  return { fs, journal, index, transcript, back }
})

const world = TestRuntime.layer(book).pipe(Layer.provideMerge(Layer.succeed(WorthSaving, 0)))

describe("what is saved of a session", () => {
  it.effect(
    "makes no difference to how it goes on: whole, missing, damaged, of another time or of another journal",
    () =>
      Effect.gen(function* () {
        yield* begun
        const { back, fs, index, journal, transcript } = yield* files
        const usual = yield* goneOn
        assert.deepStrictEqual(usual.about, { title: "Three turns", tags: [] })
        assert.deepStrictEqual(usual.problems, [])
        const later = yield* fs.readFile(index)
        const cases: Readonly<Record<string, Effect.Effect<unknown, unknown>>> = {
          missing: fs.remove(index),
          damaged: Effect.flatMap(fs.readFileString(index), (text) =>
            fs.writeFileString(index, text.replace("Three", "Tree")),
          ),
          cut: Effect.flatMap(fs.readFile(index), (bytes) => fs.writeFile(index, bytes.slice(0, -9))),
          empty: fs.writeFile(index, new Uint8Array()),
          "of a later time": fs.writeFile(index, later),
          "without its transcript": fs.remove(transcript),
        }
        for (const [name, change] of Object.entries(cases)) {
          yield* back
          yield* change
          assert.deepStrictEqual(yield* goneOn, usual, name)
        }
        // The file ends in the middle of a record, as a crash leaves it.
        yield* back
        yield* Effect.flatMap(fs.readFile(journal), (bytes) => fs.writeFile(journal, bytes.slice(0, -20)))
        const { problems, ...rest } = yield* goneOn
        assert.deepStrictEqual(rest.messages, usual.messages)
        assert.match(problems.join(), /cut off after \d+ bytes and set aside/)
      }).pipe(Effect.provide(world)),
  )

  it.effect("is what it is opened from: of the journal only what came later is read", () =>
    Effect.gen(function* () {
      yield* begun
      const { fs, journal } = yield* files
      // Nobody would open a journal with such a beginning without mending it.
      const bytes = yield* fs.readFile(journal)
      bytes[30] = (bytes[30] ?? 0) ^ 1
      yield* fs.writeFile(journal, bytes)
      assert.deepStrictEqual((yield* goneOn).problems, [])
    }).pipe(Effect.provide(world)),
  )
})
