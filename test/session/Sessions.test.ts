import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { content, MemoryDisk, truncate, writeAt } from "../../src/platform/MemoryDisk.ts"
import type { DurableEvent } from "../../src/protocol/Event.ts"
import * as History from "../../src/session/History.ts"
import * as Journal from "../../src/session/Journal.ts"
import * as SessionPaths from "../../src/session/SessionPaths.ts"
import * as SessionIndex from "../../src/session/SessionIndex.ts"
import * as Sessions from "../../src/session/Sessions.ts"
import * as Transcript from "../../src/session/Transcript.ts"
import { aTurn, configDir, done, id, memory, prompt, started } from "./events.ts"

const record = (sessionId: string, events: ReadonlyArray<DurableEvent>, at: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* TestClock.setTime(at)
      const journal = yield* Journal.open(sessionId)
      for (const event of events) yield* journal.append("main", event)
    }),
  )

/** Flips a bit of the first such words in a journal. */
const damage = (sessionId: string, words: string, at: number) =>
  Effect.map(MemoryDisk, (disk) => {
    const file = disk.file(SessionPaths.journalPath({ configDir }, sessionId))
    const where = new TextDecoder().decode(content(file)).indexOf(words)
    assert.isAtLeast(where, 0)
    writeAt(file, where, Uint8Array.of((content(file)[where] ?? 0) ^ 1), at)
  })

const foreign = (sessionId: string, cwd: string, words: string, at: number) =>
  Effect.map(MemoryDisk, (disk) => {
    const path = SessionPaths.transcriptPath({ configDir }, cwd, sessionId)
    disk.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0, { recursive: true })
    const line = {
      type: "user",
      uuid: id(900),
      parentUuid: null,
      cwd,
      sessionId,
      version: "2.1.81",
      message: { role: "user", content: words },
    }
    writeAt(disk.open(path, at), 0, new TextEncoder().encode(`${JSON.stringify(line)}\n`), at)
    return path
  })

describe("Sessions", () => {
  it.effect("lists what was said in, the last used first, ours and others", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1), "/a"), prompt("summary please", "prompt", true), ...aTurn(1)], 1000)
      yield* record(id(2), [started(id(2), "/a")], 2000)
      yield* foreign(id(3), "/b", "from elsewhere\nmore", 3000)
      yield* foreign(id(1), "/a", "the same session", 4000)
      const list = yield* SessionIndex.list
      assert.deepStrictEqual(
        list.map(({ sessionId, kind, cwd, title, modified }) => [sessionId, kind, cwd, title, modified]),
        [
          [id(3), "foreign", "/b", "from elsewhere", 3000],
          [id(1), "own", "/a", "question 1", 1000],
        ],
      )
    }).pipe(Effect.provide(memory)),
  )

  it.effect("finds the latest of a directory, also one that moved there", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1), "/a"), ...aTurn(1)], 1000)
      yield* record(id(2), [started(id(2), "/b"), ...aTurn(1)], 2000)
      yield* record(id(3), [started(id(3), "/a")], 3000)
      yield* foreign(id(4), "/c.d", "hello", 4000)
      yield* foreign(id(5), "/c/d", "another with the same name", 5000)
      assert.strictEqual(yield* Sessions.latest("/a"), id(1))
      assert.strictEqual(yield* Sessions.latest("/b"), id(2))
      assert.strictEqual(yield* Sessions.latest("/c.d"), id(4))
      assert.strictEqual(yield* Sessions.latest("/nowhere"), undefined)
      const long = prompt("x".repeat(60_000))
      yield* record(id(2), [long, long, { ...started(id(2), "/a"), source: "resume" } as DurableEvent], 6000)
      assert.strictEqual(yield* Sessions.latest("/a"), id(2))
      assert.strictEqual(yield* Sessions.latest("/b"), undefined)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("finds the latest also when the only prompt in it is damaged, and tells what is wrong with it", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1), "/a"), ...aTurn(1)], 1000)
      yield* record(id(2), [started(id(2), "/b"), prompt("the only words")], 2000)
      yield* record(id(3), [started(id(3), "/b")], 3000)
      yield* damage(id(2), "only words", 2000)
      assert.strictEqual(yield* Sessions.latest("/b"), id(2))
      assert.strictEqual(yield* Sessions.latest("/a"), id(1))
      const listed = (yield* SessionIndex.list).find((one) => one.sessionId === id(2))
      assert.match(listed?.title ?? "", /damaged/)
      const { problems } = yield* Effect.scoped(Journal.open(id(2)))
      assert.match(problems.join(), /damaged/)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("knows the directory of a journal whose first record is damaged by its transcript", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1), "/a"), ...aTurn(1)], 1000)
      yield* record(id(2), [started(id(2), "/b"), prompt("hello")], 2000)
      yield* foreign(id(2), "/b", "hello", 2000)
      yield* damage(id(2), "SessionStarted", 2000)
      assert.strictEqual(yield* Sessions.latest("/b"), id(2))
      assert.strictEqual(yield* Sessions.latest("/a"), id(1))
    }).pipe(Effect.provide(memory)),
  )

  it.effect("does not go on with a session of which only the unfinished first words are cut off", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1), "/a"), ...aTurn(1)], 1000)
      yield* record(id(2), [started(id(2), "/a"), prompt("half a sentence")], 2000)
      const disk = yield* MemoryDisk
      const file = disk.file(SessionPaths.journalPath({ configDir }, id(2)))
      truncate(file, file.length - 20, 2000)
      assert.strictEqual(yield* Sessions.latest("/a"), id(1))
    }).pipe(Effect.provide(memory)),
  )

  it.effect("locates a journal first, then a transcript of any project, and nothing that is no id", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1))], 1000)
      yield* foreign(id(1), "/a", "x", 1000)
      const path = yield* foreign(id(2), "/some/where", "x", 1000)
      assert.strictEqual((yield* Sessions.locate(id(1)))?.kind, "own")
      assert.deepStrictEqual(yield* Sessions.locate(id(2)), { kind: "foreign", sessionId: id(2), path })
      assert.strictEqual(yield* Sessions.locate(id(3)), undefined)
      const disk = yield* MemoryDisk
      writeAt(disk.open(`${configDir}/evil.jsonl`, 0), 0, new Uint8Array(9), 0)
      for (const bad of ["", "..", "../../evil", `../${id(1)}`]) {
        assert.strictEqual(yield* Sessions.locate(bad), undefined)
      }
    }).pipe(Effect.provide(memory)),
  )

  it.effect("turns to the transcript when nothing in the journal is readable, and keeps the damaged one", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1))], 1000)
      yield* foreign(id(1), "/a", "all of it", 1000)
      const disk = yield* MemoryDisk
      writeAt(disk.file(SessionPaths.journalPath({ configDir }, id(1))), 0, new Uint8Array(60), 0)
      const found = (yield* Sessions.locate(id(1)))!
      assert.strictEqual(found.kind, "foreign")
      yield* Sessions.adopt(found)
      assert.strictEqual((yield* Journal.read(id(1))).records.length, 2)
      const names = [...disk.directory(SessionPaths.sessionDirectory({ configDir }, id(1))).children.keys()]
      assert.strictEqual(names.filter((name) => name.includes("damaged")).length, 1)
      disk.remove(found.path)
      writeAt(disk.file(SessionPaths.journalPath({ configDir }, id(1))), 0, new Uint8Array(1000), 0)
      assert.strictEqual((yield* Sessions.locate(id(1)))?.kind, "own")
    }).pipe(Effect.provide(memory)),
  )

  it.effect("forks a session that is in use: a copy with its own id, blobs included", () =>
    Effect.gen(function* () {
      const events = [started(id(1), "/a"), ...aTurn(1), done("zz", "x".repeat(100_000))]
      yield* TestClock.setTime(500)
      const source = yield* Journal.open(id(1))
      for (const event of events) yield* source.append("main", event)
      yield* TestClock.setTime(700)
      const found = (yield* Sessions.locate(id(1)))!
      assert.deepStrictEqual(yield* Sessions.fork(found, id(2)), [])
      const disk = yield* MemoryDisk
      disk.remove(`${configDir}/troupe/sessions/${id(1)}/blobs`, { recursive: true })
      const copy = yield* Journal.open(id(2))
      assert.deepStrictEqual(copy.problems, [])
      assert.deepStrictEqual(
        copy.records.slice(0, -1).map(({ event, time }) => [event, time]),
        events.map((event) => [event, 500]),
      )
      assert.deepStrictEqual(copy.records.at(-1)?.event, {
        _tag: "SessionStarted",
        sessionId: id(2),
        cwd: "/a",
        version: "0.1.0",
        source: "fork",
        forkedFrom: { sessionId: id(1), sequence: events.length },
      })
      assert.strictEqual((yield* Effect.flip(Sessions.fork(found, id(2))))._tag, "SessionBusy")
      const transcript = yield* Transcript.open({ sessionId: id(2), cwd: "/a", version: "1", records: copy.records })
      const text = new TextDecoder().decode(disk.file(transcript.path).buffer)
      assert.match(text, new RegExp(`"forkedFrom":\\{"sessionId":"${id(1)}","messageUuid":`))
    }).pipe(Effect.provide(memory)),
  )

  it.effect("never forks over a session that exists", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1)), ...aTurn(1)], 1)
      yield* record(id(2), [started(id(2)), ...aTurn(2)], 1)
      const error = yield* Effect.flip(Sessions.fork((yield* Sessions.locate(id(1)))!, id(2)))
      assert.match(error.message, /exists already/)
      assert.strictEqual((yield* Journal.read(id(2))).records.length, 12)
      const bad = yield* Effect.flip(Sessions.fork((yield* Sessions.locate(id(1)))!, "../x"))
      assert.match(bad.message, /UUID/)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("adopts a foreign transcript under its id, and forks one under another", () =>
    Effect.gen(function* () {
      yield* foreign(id(3), "/b", "from elsewhere", 3000)
      const found = (yield* Sessions.locate(id(3)))!
      assert.deepStrictEqual(yield* Sessions.fork(found, id(4)), [])
      assert.deepStrictEqual(yield* Sessions.adopt(found), [])
      for (const sessionId of [id(3), id(4)]) {
        const { records } = yield* Journal.read(sessionId)
        const history = History.from(records.map(({ event }) => event))
        assert.strictEqual(history.sessionId, sessionId)
        assert.strictEqual(history.cwd, "/b")
        assert.strictEqual(history.firstPrompt, "from elsewhere")
        assert.strictEqual((yield* Sessions.locate(sessionId))?.kind, "own")
      }
      assert.deepStrictEqual(yield* Sessions.adopt((yield* Sessions.locate(id(3)))!), [])
    }).pipe(Effect.provide(memory)),
  )
})

describe("SessionPaths", () => {
  it("names a project as the ecosystem does", () => {
    assert.strictEqual(SessionPaths.projectName("/home/me/my_app.v2"), "-home-me-my-app-v2")
    assert.strictEqual(SessionPaths.projectName("C:\\Users\\Zoë"), "C--Users-Zo-")
  })

  it("cuts a long name and tells two apart that begin alike", () => {
    const base = `/${"d".repeat(250)}`
    const one = SessionPaths.projectName(`${base}/one`)
    assert.match(one, /^-d{199}-[0-9a-z]+$/)
    assert.notStrictEqual(one, SessionPaths.projectName(`${base}/two`))
    assert.isTrue(SessionPaths.isProjectName(`${one.slice(0, 200)}-otherhash`, `${base}/one`))
  })

  it("takes UUIDs for session ids, and nothing else", () => {
    assert.isTrue(SessionPaths.isSessionId(id(1)))
    for (const bad of ["", "a", `${id(1)} `, `${id(1)}\n`, `../${id(1)}`]) assert.isFalse(SessionPaths.isSessionId(bad))
  })
})
