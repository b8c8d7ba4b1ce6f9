import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { Host } from "../../src/platform/Host.ts"
import { content, MemoryDisk, truncate, writeAt } from "../../src/platform/MemoryDisk.ts"
import type { DurableEvent } from "../../src/protocol/Event.ts"
import * as History from "../../src/session/History.ts"
import * as Import from "../../src/session/Import.ts"
import type { JournalRecord } from "../../src/session/JournalRecord.ts"
import * as Transcript from "../../src/session/Transcript.ts"
import {
  abandoned,
  aTurn,
  begun,
  block,
  call,
  configDir,
  done,
  ended,
  id,
  imported,
  memory,
  prompt,
  real,
  request,
  started,
  turnEnded,
} from "./events.ts"

const session = id(1)
const path = `${configDir}/projects/-work-my-app/${session}.jsonl`
const options = { sessionId: session, cwd: "/work/my.app", version: "0.1.0", gitBranch: "main" }

const recordsOf = (events: ReadonlyArray<DurableEvent>): ReadonlyArray<JournalRecord> =>
  events.map((event, at) => ({ seq: at + 1, time: 1000 * at, agent: "main", event }))

const write = (records: ReadonlyArray<JournalRecord>, from: ReadonlyArray<JournalRecord> = []) =>
  Effect.scoped(
    Effect.gen(function* () {
      const transcript = yield* Transcript.open({ ...options, records: from })
      for (const record of records) yield* transcript.write(record)
      return transcript.path
    }),
  )

const Line = Schema.Record(Schema.String, Schema.Unknown)
const decodeLine = Schema.decodeUnknownSync(Schema.fromJsonString(Line))
const textOf = Effect.map(MemoryDisk, (disk) => new TextDecoder().decode(content(disk.file(path))))
const linesOf = Effect.map(textOf, (text) =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => decodeLine(line)),
)
const exists = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.exists(path))

/** type, and what it says. */
const outline = (lines: ReadonlyArray<typeof Line.Type>) =>
  lines.map((line) => {
    if (line["type"] !== "user" && line["type"] !== "assistant")
      return `${line["type"]} ${line["subtype"] ?? ""}`.trim()
    const message = Schema.decodeUnknownSync(Schema.Struct({ content: Schema.Unknown }))(line["message"])
    const words =
      typeof message.content === "string"
        ? message.content
        : JSON.stringify(message.content).replace(/.*"(?:text|id|tool_use_id)":"([^"]*)".*/, "$1")
    return `${line["type"]} ${words}`
  })

const assertChained = (lines: ReadonlyArray<typeof Line.Type>) => {
  let parent: unknown = null
  for (const line of lines) {
    if (line["uuid"] === undefined) continue
    assert.strictEqual(line["parentUuid"], parent)
    parent = line["uuid"]
  }
}

describe("Transcript", () => {
  it.effect("writes the lines that other programs expect, chained, in the project's directory", () =>
    Effect.gen(function* () {
      const turn = aTurn(1)
      assert.strictEqual(yield* write(recordsOf([started(session, "/work/my.app"), ...turn])), path)
      const lines = yield* linesOf
      assert.deepStrictEqual(outline(lines), [
        "user question 1",
        "assistant looking",
        "assistant t1",
        "user t1",
        "assistant answer 1",
        "system turn_duration",
        "last-prompt",
      ])
      assertChained(lines)
      const [asked, , called, answered] = lines
      const { uuid, ...rest } = asked!
      assert.match(String(uuid), /^[0-9a-f-]{36}$/)
      assert.deepStrictEqual(
        { ...rest, promptId: "" },
        {
          parentUuid: null,
          isSidechain: false,
          userType: "external",
          cwd: "/work/my.app",
          sessionId: session,
          version: "0.1.0",
          gitBranch: "main",
          type: "user",
          message: { role: "user", content: "question 1" },
          promptId: "",
          timestamp: "1970-01-01T00:00:01.000Z",
        },
      )
      assert.deepStrictEqual(called!["message"], {
        id: "msg_r1a",
        type: "message",
        role: "assistant",
        model: "claude-test",
        content: [call("t1")],
        stop_reason: "tool_use",
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      })
      assert.strictEqual(called!["requestId"], "r1a")
      assert.strictEqual(answered!["toolUseResult"], "result of t1")
      assert.strictEqual(answered!["sourceToolAssistantUUID"], called!["uuid"])
    }).pipe(Effect.provide(memory)),
  )

  it.effect("leaves no line of an abandoned reply, nor of one that a crash cut off before anything of it began", () =>
    Effect.gen(function* () {
      yield* write(
        recordsOf([
          prompt("go"),
          request("a"),
          block("a", "one"),
          abandoned("a"),
          request("b", 2),
          block("b", "two"),
          ended("b", "max_tokens"),
          abandoned("b"),
          request("c"),
          block("c", "three"),
          prompt("again"),
          request("d"),
          block("d", "four"),
          ended("d"),
          turnEnded(),
        ]),
      )
      assert.deepStrictEqual(outline(yield* linesOf).slice(0, 3), ["user go", "user again", "assistant four"])
    }).pipe(Effect.provide(memory)),
  )

  it.effect("puts results and messages that come early behind the reply they belong to", () =>
    Effect.gen(function* () {
      yield* write(
        recordsOf([
          prompt("go"),
          request("a"),
          prompt("and this", "between_rounds"),
          block("a", call("t1")),
          begun("t1"),
          done("t1"),
          block("a", call("t2")),
          ended("a", "tool_use"),
          begun("t2"),
          done("t2"),
        ]),
      )
      const lines = yield* linesOf
      assert.deepStrictEqual(outline(lines), [
        "user go",
        "assistant t1",
        "assistant t2",
        "user and this",
        "user t1",
        "user t2",
      ])
      assertChained(lines)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("adds what a crash kept from it, wherever it was cut, and nothing twice", () =>
    Effect.gen(function* () {
      const records = recordsOf([started(session, "/work/my.app"), ...aTurn(1), ...aTurn(2)])
      yield* write(records)
      const whole = yield* textOf
      const disk = yield* MemoryDisk
      for (let cut = 0; cut <= whole.length; cut += 7) {
        const file = disk.file(path)
        truncate(file, 0, 0)
        writeAt(file, 0, new TextEncoder().encode(whole.slice(0, cut)), 0)
        yield* write([], records)
        const text = yield* textOf
        const torn =
          cut === 0 || whole[cut - 1] === "\n" || whole[cut] === "\n"
            ? undefined
            : whole.slice(whole.lastIndexOf("\n", cut - 1) + 1, cut)
        const sound = text.split("\n").filter((line) => line !== "" && line !== torn)
        const lines = sound.map((line) => decodeLine(line))
        assert.deepStrictEqual(
          outline(lines).filter((line) => line !== "last-prompt"),
          [1, 2].flatMap((n) => [
            `user question ${n}`,
            "assistant looking",
            `assistant t${n}`,
            `user t${n}`,
            `assistant answer ${n}`,
            "system turn_duration",
          ]),
        )
        assertChained(lines)
        yield* write([], records)
        assert.strictEqual(yield* textOf, text)
      }
    }).pipe(Effect.provide(memory)),
  )

  it.effect("goes on behind the last line of a foreign transcript", () =>
    Effect.gen(function* () {
      const disk = yield* MemoryDisk
      disk.makeDirectory(`${configDir}/projects/-work-my-app`, 0, { recursive: true })
      const foreign = { type: "user", uuid: id(77), parentUuid: null, message: { role: "user", content: "hello" } }
      const aside = { ...foreign, uuid: id(78), isSidechain: true }
      writeAt(
        disk.open(path, 0),
        0,
        new TextEncoder().encode(`${JSON.stringify(foreign)}\n${JSON.stringify(aside)}`),
        0,
      )
      yield* write(recordsOf([{ ...imported("user", "hello"), uuid: id(77) }, ...aTurn(1)]))
      const lines = yield* linesOf
      assert.strictEqual(lines[2]!["parentUuid"], id(77))
      assert.strictEqual(outline(lines).filter((line) => line === "user hello").length, 2)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("leaves no file of a session in which nothing was said", () =>
    Effect.gen(function* () {
      yield* write(recordsOf([started(session, "/work/my.app")]))
      assert.isFalse(yield* exists)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("can be imported again to the same conversation", () =>
    Effect.gen(function* () {
      const events = [started(session, "/work/my.app"), ...aTurn(1), ...aTurn(2)]
      yield* write(recordsOf(events))
      const { events: back, problems } = Import.events(yield* textOf)
      assert.deepStrictEqual(problems, [])
      const said = (history: History.History) =>
        JSON.stringify(history.messages().map(({ role, content }) => [role, content]))
      assert.strictEqual(
        said(History.from(back)).replaceAll("(no output)", ""),
        said(History.from(events)).replaceAll("(no output)", ""),
      )
    }).pipe(Effect.provide(memory)),
  )

  it.live("reports a disk that refuses once, and never fails", () => {
    const said: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => said.push(String(message)))])
    return Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const host = yield* Host
      const directory = `${host.configDir}/projects/-work-my-app`
      yield* fs.makeDirectory(directory, { recursive: true })
      const transcript = yield* Transcript.open(options)
      yield* fs.remove(directory, { recursive: true })
      yield* fs.writeFileString(directory, "a file in the way")
      for (const record of recordsOf([...aTurn(1), ...aTurn(2)])) yield* transcript.write(record)
      assert.strictEqual(said.length, 1)
      assert.match(said[0]!, /transcript stays incomplete/)
      yield* fs.remove(directory)
      yield* write([], recordsOf(aTurn(1)))
      assert.include(yield* fs.readFileString(transcript.path), "question 1")
    }).pipe(Effect.provide(Layer.merge(real, logger)))
  })
})
