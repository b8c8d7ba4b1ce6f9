/** What goes wrong with the machine under a session's tools: the session tells the model and goes on. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agents } from "../../src/agents/Agents.ts"
import { Person } from "../../src/permissions/Permissions.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { coding } from "../../src/tools/builtin/Coding.ts"
import { becomes, living, marker } from "../tools/processes.ts"
import { realWorld, smallDisk, temporary } from "./realWorld.ts"
import { begin, ended, only } from "./session.ts"

const options = { permissionMode: "bypassPermissions", tools: coding } as const

/** A reply for each prompt's calls, one after the other, and a word at the end. */
const calling = (...calls: ReadonlyArray<readonly [tool: string, input: Record<string, unknown>]>): Playbook => ({
  turns: [
    ...calls.map(([tool, input]) => ({ reply: [{ tool, input }] })),
    { reply: "Done." },
    { reply: "Still here." },
  ],
})

/** What became of each call. */
const play = (prompt = "Go") =>
  Effect.gen(function* () {
    const agent = yield* (yield* Agents).open(options)
    const events = yield* Stream.runCollect(agent.prompt(prompt))
    const results = only(events, "ToolEnded").map(({ outcome, content }) => ({ outcome, text: String(content) }))
    return { agent, events, results }
  })

describe("a command that hangs", () => {
  it.live("ends with the turn, and so does all that it started and that does not want to", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary("hang")
      const mark = marker()
      const command = `trap '' TERM INT HUP; (trap '' TERM; setsid sleep ${mark} &); sleep ${mark}; sleep ${mark}`
      yield* Effect.gen(function* () {
        const agent = yield* (yield* Agents).open(options)
        const turn = yield* begin(agent, "Go")
        yield* becomes("both sleep", () => living(mark).length >= 3)
        yield* agent.interrupt()
        const events = yield* turn.end
        assert.strictEqual(ended(events).terminal.reason, "aborted_tools")
        assert.strictEqual(only(events, "ToolEnded")[0]?.outcome, "cancelled")
        yield* becomes("all are gone", () => living(mark).length === 0)
        const next = yield* Stream.runCollect(agent.prompt("And now?"))
        assert.strictEqual(ended(next).terminal.reason, "completed")
      }).pipe(Effect.scoped, Effect.provide(realWorld(calling(["Bash", { command }]), cwd)))
    }).pipe(Effect.scoped),
  )
})

describe("a command that forks and leaves its group", () => {
  it.live("is gone when the session ends, though the program goes on", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary("fork")
      const mark = marker()
      const command = `(setsid bash -c '(setsid sleep ${mark} &) ; sleep ${mark}; true' >/dev/null 2>&1 &); echo started`
      yield* Effect.gen(function* () {
        const { results } = yield* Effect.scoped(play())
        assert.match(results[0]?.text ?? "", /started/)
        assert.deepStrictEqual(living(mark), [])
      }).pipe(Effect.provide(realWorld(calling(["Bash", { command }]), cwd)))
    }).pipe(Effect.scoped),
  )
})

describe("a disk that is full", () => {
  it.live("fails a write in clear words, keeps what was there, and leaves nothing beside it", ({ skip }) =>
    Effect.gen(function* () {
      const disk = yield* smallDisk
      if (disk === undefined) return skip("a full disk needs the right to mount one")
      const config = yield* temporary("full")
      const file = path.join(disk, "a.txt")
      fs.writeFileSync(file, "old\n")
      fs.writeFileSync(path.join(disk, "filler"), Buffer.alloc(1_020_000))
      const big = "x".repeat(40_000)
      const book = calling(
        ["Read", { file_path: file }],
        ["Write", { file_path: file, content: big }],
        ["Edit", { file_path: file, old_string: "old", new_string: big }],
        ["MultiEdit", { file_path: file, edits: [{ old_string: "old", new_string: big }] }],
        ["Edit", { file_path: file, old_string: "old", new_string: "new" }],
        ["Bash", { command: `head -c 3000000 /dev/zero > ${disk}/zeros` }],
      )
      const { results, events } = yield* play().pipe(Effect.scoped, Effect.provide(realWorld(book, disk, config)))
      assert.deepStrictEqual(
        results.map(({ outcome }) => outcome),
        ["completed", "failed", "failed", "failed", "completed", "failed"],
      )
      for (const { text } of results.slice(1, 4)) assert.match(text, /a\.txt.*no space left|disk is full/i, text)
      assert.match(results[5]?.text ?? "", /No space left on device/)
      assert.strictEqual(fs.readFileSync(file, "utf8"), "new\n")
      assert.deepStrictEqual(fs.readdirSync(disk).sort(), ["a.txt", "filler", "zeros"])
      assert.strictEqual(ended(events).terminal.reason, "completed")
    }).pipe(Effect.scoped),
  )

  it.live(
    "does not keep the model from the beginning of a long result, and it hears that the rest is lost",
    ({ skip }) =>
      Effect.gen(function* () {
        const disk = yield* smallDisk
        if (disk === undefined) return skip("a full disk needs the right to mount one")
        const cwd = yield* temporary("full")
        const book = calling(
          ["Bash", { command: `head -c 3000000 /dev/zero | tr '\\0' y; echo end` }],
          ["Write", { file_path: path.join(cwd, "a.txt"), content: "fits" }],
        )
        const { results, events } = yield* play().pipe(Effect.scoped, Effect.provide(realWorld(book, cwd, disk)))
        assert.match(results[0]?.text ?? "", /^y+/)
        assert.match(results[0]?.text ?? "", /ENOSPC: no space left/)
        assert.strictEqual(ended(events).terminal.reason, "completed")
        assert.strictEqual(fs.readFileSync(path.join(cwd, "a.txt"), "utf8"), "fits")
      }).pipe(Effect.scoped),
  )

  it.live("ends a session whose journal cannot be written, before the call that it could not record", ({ skip }) =>
    Effect.gen(function* () {
      const disk = yield* smallDisk
      if (disk === undefined) return skip("a full disk needs the right to mount one")
      const cwd = yield* temporary("full")
      const filler = path.join(disk, "filler")
      const book = calling(
        ["Bash", { command: `head -c 3000000 /dev/zero > ${filler}; true` }],
        ["Write", { file_path: path.join(cwd, "a.txt"), content: "never ".repeat(2_000) }],
      )
      const failed = yield* Effect.exit(play().pipe(Effect.scoped, Effect.provide(realWorld(book, cwd, disk))))
      assert.isFalse(fs.existsSync(path.join(cwd, "a.txt")))
      assert.match(JSON.stringify(failed), /ENOSPC|no space left/i)
    }).pipe(Effect.scoped),
  )
})

describe("a file that changes between read and edit", () => {
  it.live("keeps what somebody else wrote, also while a person is asked, until it is read again", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary("changed")
      const file = path.join(cwd, "a.txt")
      fs.writeFileSync(file, "one\n")
      const edit = { file_path: file, old_string: "one", new_string: "two" }
      const look = ["Read", { file_path: file }] as const
      const book = calling(
        look,
        ["Edit", edit],
        ["Edit", edit],
        look,
        ["Bash", { command: `echo 'one by a formatter' > ${file}` }],
        ["Edit", edit],
        look,
        ["Edit", edit],
      )
      let asked = 0
      const person: Person = {
        ask: () =>
          Effect.sync(() => {
            if (++asked === 1) fs.writeFileSync(file, "one by a person\n")
            return { allow: true }
          }),
      }
      const results = yield* Effect.gen(function* () {
        const agent = yield* (yield* Agents).open({ ...options, permissionMode: "default" })
        const events = yield* Stream.runCollect(agent.prompt("Go"))
        return only(events, "ToolEnded").map(({ tool, outcome, content }) => [tool, outcome, String(content)] as const)
      }).pipe(Effect.scoped, Effect.provide(realWorld(book, cwd)), Effect.provideService(Person, person))
      assert.deepStrictEqual(
        results.map(([tool, outcome]) => `${tool} ${outcome}`),
        [
          "Read completed",
          "Edit failed",
          "Edit failed",
          "Read completed",
          "Bash completed",
          "Edit failed",
          "Read completed",
          "Edit completed",
        ],
      )
      for (const at of [1, 2, 5]) assert.match(results[at]?.[2] ?? "", /has changed since it was last read/)
      assert.strictEqual(fs.readFileSync(file, "utf8"), "two by a formatter\n")
    }).pipe(Effect.scoped),
  )
})
