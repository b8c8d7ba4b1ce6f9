import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { execFileSync } from "node:child_process"
import { mkdirSync, rmSync, symlinkSync } from "node:fs"
import { fromCause } from "../../src/platform/FileError.ts"
import { Files } from "../../src/platform/Files.ts"
import { Host } from "../../src/platform/Host.ts"
import { content, MemoryDisk, truncate, writeAt } from "../../src/platform/MemoryDisk.ts"
import type { DurableEvent } from "../../src/protocol/Event.ts"
import * as Journal from "../../src/session/Journal.ts"
import * as Records from "../../src/session/JournalRecord.ts"
import * as SessionPaths from "../../src/session/SessionPaths.ts"
import * as SessionIndex from "../../src/session/SessionIndex.ts"
import * as Sessions from "../../src/session/Sessions.ts"
import * as Transcript from "../../src/session/Transcript.ts"
import { aTurn, block, configDir, done, id, memory, prompt, real, started } from "./events.ts"

const session = id(1)
const path = `${configDir}/troupe/sessions/${session}/journal.ndjson`

const record = (events: ReadonlyArray<DurableEvent>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const journal = yield* Journal.open(session)
      for (const event of events) yield* journal.append("main", event)
    }),
  )

const reopen = Effect.scoped(Journal.open(session))

const bytesOf = Effect.map(MemoryDisk, (disk) => content(disk.file(path)).slice())

const replace = (bytes: Uint8Array) =>
  Effect.map(MemoryDisk, (disk) => {
    const file = disk.file(path)
    truncate(file, 0, 0)
    writeAt(file, 0, bytes, 0)
  })

const beside = Effect.map(MemoryDisk, (disk) =>
  [...disk.directory(`${configDir}/troupe/sessions/${session}`).children.keys()].filter((name) =>
    name.includes("damaged"),
  ),
)

const linesOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes).split("\n").slice(0, -1)
const fromLines = (lines: ReadonlyArray<string>) => new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""))

const small: ReadonlyArray<DurableEvent> = [started(), ...aTurn(1)]

describe("Journal", () => {
  it.effect("gives back what was appended, in order, with the time of the clock", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5000)
      yield* record(small)
      const { records, problems } = yield* reopen
      assert.deepStrictEqual(problems, [])
      assert.deepStrictEqual(
        records.map(({ event }) => event),
        small,
      )
      assert.deepStrictEqual(
        records.map(({ seq }) => seq),
        small.map((_, at) => at + 1),
      )
      assert.isTrue(records.every(({ time, agent }) => time === 5000 && agent === "main"))
    }).pipe(Effect.provide(memory)),
  )

  it.effect("has the bytes in the file when append returns, without waiting for anything", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.open(session)
      const services = yield* Effect.context()
      Effect.runSyncWith(services)(journal.append("main", started()))
      assert.include(new TextDecoder().decode(yield* bytesOf), '"kind":"SessionStarted"')
    }).pipe(Effect.provide(memory)),
  )

  it.effect("reads while another one writes, and changes nothing", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.open(session)
      yield* journal.append("main", started())
      const torn = new Uint8Array([...(yield* bytesOf), 123, 34])
      yield* replace(torn)
      const seen = yield* Journal.read(session)
      assert.strictEqual(seen.records.length, 1)
      assert.strictEqual(seen.problems.length, 1)
      assert.deepStrictEqual(yield* bytesOf, torn)
      assert.deepStrictEqual(yield* beside, [])
    }).pipe(Effect.provide(memory)),
  )

  it.effect("keeps every whole record when the file is cut at any byte, and goes on behind it", () =>
    Effect.gen(function* () {
      yield* record(small)
      const whole = yield* bytesOf
      const ends: Array<number> = []
      for (const line of linesOf(whole)) ends.push((ends.at(-1) ?? -1) + line.length + 1)
      for (let cut = 0; cut < whole.length; cut++) {
        yield* replace(whole.subarray(0, cut))
        const complete = ends.filter((end) => end <= cut).length
        const first = yield* Effect.scoped(
          Effect.gen(function* () {
            const journal = yield* Journal.open(session)
            yield* journal.append("main", prompt("on"))
            return journal
          }),
        )
        assert.strictEqual(first.records.length, complete, `cut at ${cut}`)
        const boundary = cut === 0 || ends.includes(cut) || ends.includes(cut - 1)
        assert.strictEqual(first.problems.length, boundary ? 0 : 1, `cut at ${cut}`)
        const second = yield* reopen
        assert.deepStrictEqual(second.problems, [], `cut at ${cut}`)
        assert.strictEqual(second.records.length, complete + 1, `cut at ${cut}`)
      }
    }).pipe(Effect.provide(memory)),
  )

  it.effect("loses at most one record to a flipped byte anywhere, says so, and is sound the next time", () =>
    Effect.gen(function* () {
      yield* record(small.slice(0, 5))
      const whole = yield* bytesOf
      const expected = (yield* reopen).records
      for (let at = 0; at < whole.length; at++) {
        // The last one makes a line end of it, the middle one no UTF-8.
        for (const mask of [0x01, 0x80, whole[at]! ^ 10]) {
          if (mask === 0) continue
          const flipped = whole.slice()
          flipped[at] = flipped[at]! ^ mask
          yield* replace(flipped)
          const { records, problems } = yield* reopen
          assert.isAtLeast(problems.length, 1, `byte ${at}`)
          assert.isAtLeast(records.length, expected.length - 1, `byte ${at}`)
          const kept = new Set(records.map(({ seq }) => seq))
          assert.deepStrictEqual(
            records,
            expected.filter(({ seq }) => kept.has(seq)),
            `byte ${at}`,
          )
          const again = yield* reopen
          assert.deepStrictEqual(again.problems, [], `byte ${at}`)
          assert.deepStrictEqual(again.records, records, `byte ${at}`)
        }
      }
    }).pipe(Effect.provide(memory)),
  )

  it.effect("bridges a missing line, drops a repeated one, restores the order of swapped ones", () =>
    Effect.gen(function* () {
      yield* record(small)
      const whole = yield* bytesOf
      const lines = linesOf(whole)
      const seqs = lines.map((_, at) => at + 1)
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, ReadonlyArray<number>, RegExp]> = [
        [lines.toSpliced(4, 1), seqs.toSpliced(4, 1), /1 record\(s\) before record 6 are missing/],
        [lines.toSpliced(4, 0, lines[4]!), seqs, /record 5 stands behind record 5/],
        [lines.toSpliced(4, 2, lines[5]!, lines[4]!), seqs, /the order was restored/],
        [lines.toSpliced(4, 0, "", "not a record"), seqs, /line 6: damaged/],
      ]
      for (const [damaged, expected, problem] of cases) {
        yield* replace(fromLines(damaged))
        const { records, problems } = yield* reopen
        assert.deepStrictEqual(
          records.map(({ seq }) => seq),
          expected,
        )
        assert.match(problems.join("\n"), problem)
        assert.deepStrictEqual((yield* reopen).problems, [])
      }
    }).pipe(Effect.provide(memory)),
  )

  it.effect("keeps what it repaired beside the journal", () =>
    Effect.gen(function* () {
      yield* record(small)
      const whole = yield* bytesOf
      yield* replace(whole.subarray(0, whole.length - 10))
      yield* reopen
      const [name] = yield* beside
      const disk = yield* MemoryDisk
      const kept = disk.file(`${configDir}/troupe/sessions/${session}/${name}`)
      assert.isTrue(
        linesOf(whole)
          .at(-1)!
          .startsWith(new TextDecoder().decode(content(kept))),
      )
      assert.isAbove(kept.length, 50)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("keeps a record of a newer version in the file and skips it", () =>
    Effect.gen(function* () {
      yield* record(small)
      const tail = (yield* Journal.read(session)).records.length
      const last = JSON.parse(linesOf(yield* bytesOf).at(-1)!) as { readonly sum: string }
      const event = `"event":{"_tag":"Dreamt","of":"sheep"}`
      const odd = Records.encode(last.sum, { seq: tail + 1, time: 1, agent: "main", kind: "Dreamt", payload: event })
      const broken = `"event":{"_tag":"PromptReceived","content":7}`
      const wrong = Records.encode(odd.sum, {
        seq: tail + 2,
        time: 1,
        agent: "main",
        kind: "PromptReceived",
        payload: broken,
      })
      yield* replace(new Uint8Array([...(yield* bytesOf), ...odd.bytes, ...wrong.bytes]))
      yield* record([prompt("on")])
      const { records, problems } = yield* reopen
      assert.strictEqual(records.length, small.length + 1)
      assert.strictEqual(records.at(-1)?.seq, tail + 3)
      assert.match(problems.join("\n"), /"Dreamt" is of a newer version/)
      assert.match(problems.join("\n"), /its PromptReceived is not readable/)
      assert.include(new TextDecoder().decode(yield* bytesOf), "sheep")
    }).pipe(Effect.provide(memory)),
  )

  it.effect("puts a large event into a file of its own and reads it back as if it were not", () =>
    Effect.gen(function* () {
      const large = done("t1", "ä".repeat(100_000))
      yield* record([started(), large, large])
      assert.isBelow((yield* bytesOf).length, 10_000)
      const { records, problems } = yield* reopen
      assert.deepStrictEqual(problems, [])
      assert.deepStrictEqual(records[1]?.event, large)
      const disk = yield* MemoryDisk
      const blobs = disk.directory(`${configDir}/troupe/sessions/${session}/blobs`)
      assert.strictEqual(blobs.children.size, 1)
      assert.strictEqual(blobs.mode, 0o700)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("keeps the beginning of a large event whose file is missing or damaged", () =>
    Effect.gen(function* () {
      const large = done("t1", "x".repeat(100_000))
      const thought = block("r", { type: "thinking", thinking: "y".repeat(70_000), signature: "s" })
      yield* record([started(), large, thought, prompt("on")])
      const disk = yield* MemoryDisk
      const directory = `${configDir}/troupe/sessions/${session}/blobs`
      const [one, two] = [...disk.directory(directory).children.keys()]
      writeAt(disk.file(`${directory}/${one}`), 50, new Uint8Array([0]), 0)
      disk.remove(`${directory}/${two}`)
      const { records, problems } = yield* reopen
      assert.strictEqual(records.length, 4)
      assert.match(problems.join("\n"), /record 2: its content \w+ is damaged; its beginning is kept/)
      assert.match(problems.join("\n"), /record 3: its content \w+ is missing/)
      const event = records[1]!.event
      assert.isTrue(event._tag === "ToolEnded" && /^x{1024}… \[98976 more/.test(String(event.content)))
      const lost = records[2]!.event
      assert.isTrue(lost._tag === "BlockReceived" && lost.block.type === "text")
    }).pipe(Effect.provide(memory)),
  )

  it.effect("refuses what is no session id before it becomes a path", () =>
    Effect.gen(function* () {
      for (const bad of ["../../etc", "", "abc", `${session}/..`]) {
        const error = yield* Effect.flip(Effect.scoped(Journal.open(bad)))
        assert.match(error.message, /a session id is a UUID/)
        assert.strictEqual((yield* Effect.flip(Journal.read(bad)))._tag, "JournalError")
      }
    }).pipe(Effect.provide(memory)),
  )

  it.effect("creates a session from records at once, and never over another one", () =>
    Effect.gen(function* () {
      const large = done("t1", "x".repeat(100_000))
      const records = [started(), large].map((event, at) => ({ seq: at + 1, time: at, agent: "main", event }))
      yield* Journal.create(session, records)
      assert.deepStrictEqual((yield* reopen).records, records)
      const error = yield* Effect.flip(Journal.create(session, records))
      assert.match(error.message, /exists already/)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("tells a second opener that the session is in use, until the first one is done", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Journal.open(session).pipe(Scope.provide(scope))
      const error = yield* Effect.flip(reopen)
      assert.strictEqual(error._tag, "SessionBusy")
      yield* Scope.close(scope, Exit.void)
      yield* reopen
    }).pipe(Effect.provide(memory)),
  )
})

/** A disk that counts syncs, and fills up when told to. */
const observed = () => {
  const seen = { syncs: 0, full: false }
  const layer = Layer.effect(
    Files,
    Effect.map(Files, (files) =>
      Files.of({
        ...files,
        openAppend: (at) =>
          Effect.map(files.openAppend(at), (handle) => ({
            ...handle,
            appendUnsafe: (data) => {
              if (!seen.full) return handle.appendUnsafe(data)
              handle.appendUnsafe(data.slice(0, 40))
              throw fromCause("append to", at, Object.assign(new Error("no space"), { code: "ENOSPC" }))
            },
            sync: Effect.sync(() => void seen.syncs++),
          })),
      }),
    ),
  ).pipe(Layer.provideMerge(memory))
  return { seen, layer }
}

describe("Journal on a watched disk", () => {
  it.effect("syncs within 100 ms of the first append, and rests when nothing is new", () => {
    const { seen, layer } = observed()
    return Effect.gen(function* () {
      const journal = yield* Journal.open(session)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(seen.syncs, 0)
      yield* journal.append("main", started())
      yield* TestClock.adjust("60 millis")
      yield* journal.append("main", prompt("a"))
      yield* TestClock.adjust("39 millis")
      assert.strictEqual(seen.syncs, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(seen.syncs, 1)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(seen.syncs, 1)
      yield* journal.append("main", prompt("b"))
      yield* TestClock.adjust("100 millis")
      assert.strictEqual(seen.syncs, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("sets no timer while nothing is new", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let sleeps = 0
      const counting: Clock.Clock = {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
        currentTimeMillis: clock.currentTimeMillis,
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
        currentTimeNanos: clock.currentTimeNanos,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) => Effect.suspend(() => (sleeps++, clock.sleep(duration))),
      }
      const journal = yield* Journal.open(session).pipe(Effect.provideService(Clock.Clock, counting))
      yield* journal.append("main", started())
      yield* TestClock.adjust("100 millis")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(sleeps, 1)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("syncs at once when asked, once, and at the end", () => {
    const { seen, layer } = observed()
    return Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const journal = yield* Journal.open(session)
          yield* journal.append("main", started())
          yield* journal.sync
          assert.strictEqual(seen.syncs, 1)
          yield* journal.sync
          assert.strictEqual(seen.syncs, 1)
          yield* journal.append("main", prompt("a"))
        }),
      )
      assert.strictEqual(seen.syncs, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("survives a full disk: the append fails, later ones are written, nothing before is lost", () => {
    const { seen, layer } = observed()
    return Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const journal = yield* Journal.open(session)
          yield* journal.append("main", started())
          seen.full = true
          const error = yield* Effect.flip(journal.append("main", prompt("lost")))
          assert.match(error.message, /disk is full/)
          yield* Effect.flip(journal.append("main", prompt("lost too")))
          seen.full = false
          yield* journal.append("main", prompt("kept"))
        }),
      )
      const { records, problems } = yield* reopen
      assert.deepStrictEqual(
        records.map(({ event }) => (event._tag === "PromptReceived" ? event.content : event._tag)),
        ["SessionStarted", "kept"],
      )
      assert.isAtLeast(problems.length, 1)
    }).pipe(Effect.provide(layer))
  })
})

describe("Journal on a real disk", () => {
  it.live("is closed to other users, and is repaired in place", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { configDir } = yield* Host
      yield* record([...small, done("t9", "x".repeat(100_000))])
      const directory = `${configDir}/troupe/sessions/${session}`
      const modeOf = (at: string) => Effect.map(fs.stat(at), (info) => info.mode & 0o777)
      const file = `${directory}/journal.ndjson`
      for (const at of [`${configDir}/troupe`, directory, `${directory}/blobs`])
        assert.strictEqual(yield* modeOf(at), 0o700, at)
      assert.strictEqual(yield* modeOf(file), 0o600)
      const whole = yield* fs.readFile(file)
      for (const damaged of [
        whole.subarray(0, whole.length - 3),
        whole.map((byte, at) => (at === 300 ? byte ^ 1 : byte)),
      ]) {
        yield* fs.writeFile(file, damaged)
        const { records, problems } = yield* reopen
        assert.strictEqual(records.length, small.length)
        assert.isAtLeast(problems.length, 1)
        assert.strictEqual(yield* modeOf(file), 0o600)
        assert.deepStrictEqual((yield* reopen).problems, [])
      }
      const names = (yield* fs.readDirectory(directory)).filter((name) => name.includes("damaged"))
      assert.strictEqual(names.length, 2)
      for (const name of names) assert.strictEqual(yield* modeOf(`${directory}/${name}`), 0o600)
    }).pipe(Effect.provide(real)),
  )

  it.live("names the process that holds a session", () =>
    Effect.gen(function* () {
      yield* Journal.open(session)
      const error = yield* Effect.flip(reopen)
      assert.strictEqual(error._tag, "SessionBusy")
      assert.match(error.message, new RegExp(`process ${process.pid}.*--fork-session`))
    }).pipe(Effect.provide(real)),
  )

  it.live("opens ten thousand records", () =>
    Effect.gen(function* () {
      yield* record([started(), ...Array.from({ length: 910 }, (_, n) => aTurn(n)).flat()])
      const { records, problems } = yield* reopen
      assert.deepStrictEqual(problems, [])
      assert.isAbove(records.length, 10_000)
    }).pipe(Effect.provide(real)),
  )

  it.live("fails with what to do when the directory cannot be made", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { configDir } = yield* Host
      yield* fs.writeFileString(configDir, "a file in the way")
      const error = yield* Effect.flip(reopen)
      assert.strictEqual(error._tag, "JournalError")
    }).pipe(Effect.provide(real)),
  )

  it.live("refuses what is no regular file at once, instead of waiting for it for ever", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { configDir } = yield* Host
      const directory = `${configDir}/troupe/sessions/${session}`
      const path = `${directory}/journal.ndjson`
      yield* fs.makeDirectory(directory, { recursive: true })
      const pipe = `${directory}/pipe`
      execFileSync("mkfifo", [pipe])
      const kinds = [() => execFileSync("mkfifo", [path]), () => symlinkSync(pipe, path), () => mkdirSync(path)]
      for (const make of kinds) {
        make()
        for (const attempt of [reopen, Journal.read(session), Journal.create(session, [])]) {
          const error = yield* Effect.flip(Effect.asVoid(attempt))
          assert.strictEqual(error._tag, "JournalError")
          assert.match(error.message, /not a regular file|a directory, not a file/)
        }
        assert.strictEqual(yield* Sessions.latest("/work"), undefined)
        assert.deepStrictEqual(yield* SessionIndex.list, [])
        assert.deepInclude(yield* Sessions.locate(session), { kind: "own", path })
        rmSync(path, { recursive: true })
      }
    }).pipe(Effect.timeout("5 seconds"), Effect.provide(real)),
  )

  it.live("does not take up a transcript that is no regular file", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const host = yield* Host
      const path = SessionPaths.transcriptPath(host, "/work", session)
      yield* fs.makeDirectory(path.slice(0, path.lastIndexOf("/")), { recursive: true })
      execFileSync("mkfifo", [path])
      const transcript = yield* Transcript.open({ sessionId: session, cwd: "/work", version: "1" })
      yield* transcript.write({ seq: 1, time: 1, agent: "main", event: prompt("hello") })
      assert.isUndefined(yield* Sessions.latest("/work"))
      const error = yield* Effect.flip(Sessions.adopt({ kind: "foreign", sessionId: session, path }))
      assert.include(error.message, "not a regular file")
    }).pipe(Effect.scoped, Effect.timeout("5 seconds"), Effect.provide(real)),
  )
})
