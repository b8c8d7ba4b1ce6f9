import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { approvals, permissions } from "../../src/permissions/TeleportPermissions.ts"
import { Files } from "../../src/platform/Files.ts"
import { content, MemoryDisk } from "../../src/platform/MemoryDisk.ts"
import type { DurableEvent } from "../../src/protocol/Event.ts"
import * as History from "../../src/session/History.ts"
import * as Journal from "../../src/session/Journal.ts"
import * as SessionPaths from "../../src/session/SessionPaths.ts"
import * as Teleport from "../../src/session/Teleport.ts"
import * as TeleportFile from "../../src/session/TeleportFile.ts"
import * as Section from "../../src/session/TeleportSection.ts"
import { tasks } from "../../src/tools/TeleportTasks.ts"
import { aTurn, block, call, configDir, ended, id, memory, prompt, request, started } from "./events.ts"

const sections = [
  Section.context,
  Section.ledger,
  Section.cost,
  Section.workers,
  Section.teammates,
  tasks,
  permissions,
  approvals,
]

const record = (sessionId: string, events: ReadonlyArray<DurableEvent>, at = 1000) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* TestClock.setTime(at)
      const journal = yield* Journal.open(sessionId)
      for (const event of events) yield* journal.append("main", event)
    }),
  )

const leave = (sessionId: string, more: ReadonlyMap<string, unknown> = new Map()) =>
  Effect.gen(function* () {
    const { hash } = yield* Files
    const options = { sessionId, sections, packed: more, version: "0.1.0", secrets: (text: string) => text }
    const { text } = yield* Teleport.leave(options)
    return { text, file: Result.getOrThrow(TeleportFile.decode(text, hash)) }
  })

const arrive = (file: TeleportFile.TeleportFile, options: Partial<Teleport.ArriveOptions> = {}) =>
  Teleport.arrive({
    file,
    cwd: "/there",
    sessionId: "keep",
    onConflict: "latest",
    version: "0.1.0",
    sections,
    ...options,
  })

/** As another machine would see it. */
const elsewhere = <A, E>(effect: Effect.Effect<A, E, Effect.Services<ReturnType<typeof arrive>>>) =>
  Effect.provide(effect, Layer.fresh(memory))

const tags = (sessionId: string) =>
  Effect.map(Journal.read(sessionId), ({ records }) => records.map(({ event }) => event._tag))

/** All that is kept of sessions. */
const whole = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const root = SessionPaths.sessionsDirectory({ configDir })
  const names = yield* fs.readDirectory(root, { recursive: true })
  const disk = yield* MemoryDisk
  const journal = disk.file(SessionPaths.journalPath({ configDir }, id(1)))
  return [...names.toSorted(), new TextDecoder().decode(content(journal))]
})

const waiting = [
  started(id(1), "/home/work"),
  ...aTurn(1),
  prompt("delete it"),
  request("r9"),
  block("r9", call("toolu_ask", { command: "rm x" }, "Bash")),
  ended("r9", "tool_use"),
  {
    _tag: "PermissionAsked",
    toolUseId: "toolu_ask",
    tool: "Bash",
    input: { command: "rm x" },
    why: "it deletes",
  },
  { _tag: "RulesGranted", behavior: "allow", rules: ["Bash(npm test)"], destination: "session" },
] satisfies ReadonlyArray<DurableEvent>

describe("Teleport", () => {
  it.effect(
    "arrives as it left: the same records, the same conversation, the same trace, and what was open is told",
    () =>
      Effect.gen(function* () {
        yield* record(id(1), waiting)
        const home = yield* Journal.read(id(1))
        const { file } = yield* leave(id(1))
        assert.deepStrictEqual(file.records, home.records)
        const arrived = yield* elsewhere(
          Effect.gen(function* () {
            const arrived = yield* arrive(file)
            const { records } = yield* Journal.read(id(1))
            assert.deepStrictEqual(records.slice(0, -1), home.records)
            const last = records.at(-1)?.event
            assert.deepInclude(last, { _tag: "SessionStarted", source: "import", cwd: "/there" })
            assert.deepStrictEqual(History.fold(records).messages(), History.fold(home.records).messages())
            const pending = History.fold(records).pending()
            assert.deepInclude(pending[0], { toolUseId: "toolu_ask", asked: true })
            assert.strictEqual(History.fold(records).traceId, file.manifest.traceId)
            return arrived
          }),
        )
        assert.strictEqual(arrived.outcome, "created")
        assert.match(arrived.notes.join("\n"), /--allowedTools "Bash\(npm test\)"/)
        assert.match(arrived.notes.join("\n"), /question about Bash was open; it is put again/)
      }).pipe(Effect.provide(memory)),
  )

  it.effect("keeps what it does not understand, and takes it along when it leaves again", () =>
    Effect.gen(function* () {
      yield* record(id(1), waiting)
      const { file } = yield* leave(id(1), new Map([["weather", { sky: "blue" }]]))
      const newer = { seq: 999, time: 5, agent: "main", event: { _tag: "Teleported", to: "Mars" } }
      yield* elsewhere(
        Effect.gen(function* () {
          yield* arrive({ ...file, records: [...file.records, newer] })
          const again = yield* leave(id(1))
          assert.deepStrictEqual(again.file.sections.get("weather"), { sky: "blue" })
          assert.deepInclude(again.file.records, newer)
        }),
      )
    }).pipe(Effect.provide(memory)),
  )

  it.effect("happens at once or not at all", () =>
    Effect.gen(function* () {
      yield* record(id(1), waiting)
      const { file } = yield* leave(id(1))
      const before = yield* whole
      const odd = { ...file, sections: new Map([...file.sections, ["cost", { usd: "much" }]]) }
      const refused = yield* Effect.flip(arrive(odd))
      assert.match(refused.message, /section "cost" is not readable/)
      assert.deepStrictEqual(yield* whole, before)
      const stranger = { ...file, records: file.records.map((one) => ({ ...one, time: one.time + 1 })) }
      assert.match((yield* Effect.flip(arrive(stranger))).message, /another session of this id.*--session-id new/)
      assert.deepStrictEqual(yield* whole, before)
      const busy = yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Journal.open(id(1))
          return yield* Effect.flip(arrive(file))
        }),
      )
      assert.strictEqual(busy._tag, "SessionBusy")
      assert.deepStrictEqual(yield* whole, before)
    }).pipe(Effect.provide(memory)),
  )

  it.effect("under a new id it is another session of the same trace, and has cost nothing yet", () =>
    Effect.gen(function* () {
      yield* record(id(1), [started(id(1), "/home/work"), ...aTurn(1)])
      const { file } = yield* leave(id(1))
      const { sessionId, traceId } = yield* arrive(file, { sessionId: "new" })
      assert.notStrictEqual(sessionId, id(1))
      const { records } = yield* Journal.read(sessionId)
      const history = History.fold(records)
      assert.strictEqual(history.traceId, traceId)
      assert.strictEqual(traceId, id(1).replaceAll("-", ""))
      assert.strictEqual(history.totals.turns, 0)
      assert.isDefined(SessionPaths.journalPath({ configDir }, sessionId))
    }).pipe(Effect.provide(memory)),
  )

  it.effect("the life that was written last keeps the id, unless told otherwise; the other one is kept whole", () =>
    Effect.gen(function* () {
      for (const onConflict of ["latest", "here", "there"] as const) {
        yield* elsewhere(
          Effect.gen(function* () {
            yield* record(id(1), [started(id(1), "/home/work"), ...aTurn(1)], 1000)
            const { file } = yield* leave(id(1))
            const there = {
              ...file,
              records: [...file.records, { seq: 900, time: 5000, agent: "main", event: prompt("abroad") }],
            }
            // Here it was written later.
            yield* record(id(1), [prompt("at home")], 6000)
            const { fork = "", outcome } = yield* arrive(there, { onConflict })
            assert.strictEqual(outcome, "merged")
            const said = (sessionId: string) =>
              Effect.map(Journal.read(sessionId), ({ records }) => JSON.stringify(records.map(({ event }) => event)))
            const [kept, copy] = [yield* said(id(1)), yield* said(fork)]
            const [winner, loser] = onConflict === "there" ? ["abroad", "at home"] : ["at home", "abroad"]
            assert.include(kept, winner)
            assert.notInclude(kept, `"content":"${loser}"`)
            assert.include(copy, loser)
            assert.match(kept, /went on in two places: here \(.+1970-01-01T00:00:06.+and there \(.+1970-01-01T00:00:05/)
            assert.include(yield* tags(fork), "SessionStarted")
          }),
        )
      }
    }),
  )

  it("describes sections by schemas that a newer version may add to", () => {
    const read = Section.cost.unpack({ usd: 1, replies: 2, usage: {}, currency: "EUR" })
    assert.isTrue(Result.isSuccess(read))
    assert.isTrue(Result.isFailure(Section.cost.unpack([])))
    assert.isTrue(Schema.is(TeleportFile.Manifest)({}) === false)
  })
})
