import { execFile } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type { ContentBlock } from "../../src/protocol/Content.ts"
import type { Message } from "../../src/protocol/Message.ts"
import * as Playbook from "../../src/testing/Playbook.ts"
import * as Player from "../../src/testing/Player.ts"
import type { Reply } from "../../src/testing/Reply.ts"
import * as Timing from "../../src/testing/Timing.ts"
import { assistant, body, result, user } from "./conversation.ts"

const load = (name: string) => Playbook.load(new URL(`../../evals/playbooks/${name}.yaml`, import.meta.url).pathname)

/** The least a tool must do for a playbook to go on. */
type Tools = (name: string, input: Readonly<Record<string, string>>) => Effect.Effect<readonly [string, boolean]>

/** Plays to the end: replies of the model, results of the tools, until it calls none. */
const perform = Effect.fnUntraced(function* (book: Playbook.Playbook, prompt: string, cwd: string, tools: Tools) {
  const player = Player.make(book, { cache: "always" })
  const messages: Array<Message> = [user(prompt)]
  const replies: Array<Reply> = []
  const rules: Array<string> = []
  for (;;) {
    const answer = player.play(
      body(messages, { system: `You are tested.\nWorking directory: ${cwd}\nGo.`, max_tokens: 8192 }),
    )
    if (answer._tag === "Refused") return assert.fail(answer.refusal.message)
    replies.push(answer.reply)
    rules.push(answer.note.rule ?? "")
    const { content } = answer.reply.whole
    messages.push(assistant(content))
    const results: Array<ContentBlock> = []
    for (const block of content) {
      if (block.type !== "tool_use") continue
      const [text, isError] = yield* tools(block.name, block.input as Readonly<Record<string, string>>)
      results.push(result(block.id, text, isError))
    }
    if (results.length === 0) return { replies, rules, messages }
    messages.push(user(results))
  }
})

/** How long the model takes to say it all, with drawn delays at their mean. */
const millisOf = (replies: ReadonlyArray<Reply>): number =>
  replies
    .flatMap(({ events }) => events)
    .reduce((sum, { delay }) => {
      if (delay === undefined) return sum
      return (
        sum +
        (typeof delay === "object" ? (Timing.millis(delay.min) + Timing.millis(delay.max)) / 2 : Timing.millis(delay))
      )
    }, 0)

const shell = (command: string, cwd: string) =>
  Effect.callback<readonly [string, boolean]>((resume) => {
    // Vitest's own settings must not reach the tests of the workspace.
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env
    execFile("/bin/sh", ["-c", command], { cwd, env }, (error, stdout, stderr) =>
      resume(Effect.succeed([stdout + stderr, error !== null])),
    )
  })

const realTools = (cwd: string) =>
  Effect.map(FileSystem.FileSystem, (fs): Tools => (name, input) => {
    const path = input["file_path"] ?? ""
    const attempt = Effect.gen(function* () {
      if (name === "Bash") return yield* shell(input["command"] ?? "", cwd)
      if (name === "Write") {
        yield* fs.writeFileString(path, input["content"] ?? "")
        return ["written", false] as const
      }
      if (name !== "Read" && name !== "Edit") return yield* shell(`ls '${input["path"]}'`, cwd)
      const text = yield* fs.readFileString(path)
      if (name === "Read") return [text, false] as const
      if (!text.includes(input["old_string"] ?? "?")) return ["old_string was not found", true] as const
      yield* fs.writeFileString(path, text.replace(input["old_string"] ?? "", input["new_string"] ?? ""))
      return ["edited", false] as const
    })
    return Effect.catch(attempt, (error) => Effect.succeed([error.message, true] as const))
  })

const stage = Effect.fnUntraced(function* (book: Playbook.Playbook) {
  const fs = yield* FileSystem.FileSystem
  const cwd = yield* fs.realPath(yield* fs.makeTempDirectoryScoped())
  for (const [path, text] of Object.entries(book.workspace ?? {})) yield* fs.writeFileString(`${cwd}/${path}`, text)
  return { cwd, fs }
})

describe("the playbooks of the repository", () => {
  it.live("demo: a failing test is found, fixed, and passes, in six to ten seconds", () =>
    Effect.gen(function* () {
      const book = yield* load("demo")
      const { cwd, fs } = yield* stage(book)
      const { replies, rules } = yield* perform(book, "Fix the failing test.", cwd, yield* realTools(cwd))
      assert.deepStrictEqual(rules, [
        "look around",
        "read both files",
        "see it fail",
        "fix it",
        "see it pass",
        "sum up",
      ])
      assert.include(yield* fs.readFileString(`${cwd}/math.js`), "a + b")
      const millis = millisOf(replies)
      assert.isTrue(millis > 5000 && millis < 9000, `${millis} ms`)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)),
  )

  it.live("demo: says that it is a script when anything else comes", () =>
    Effect.gen(function* () {
      const book = yield* load("demo")
      const failing: Tools = () => Effect.succeed(["permission denied", true])
      const { rules } = yield* perform(book, "Fix it.", "/nowhere", failing)
      assert.strictEqual(rules.at(-1), "unexpected result")
      const player = Player.make(book, { cache: "always" })
      const answer = player.play(body([user("Fix it."), assistant("Done."), user("Now write a poem.")]))
      assert.strictEqual(answer.note.rule, "anything else")
    }).pipe(Effect.provide(NodeFileSystem.layer)),
  )

  it.live("crash: ten tools, one line in the witness file", () =>
    Effect.gen(function* () {
      const book = yield* load("crash")
      const { cwd, fs } = yield* stage(book)
      const witness = `${yield* fs.makeTempDirectoryScoped()}/witness.txt`
      const tools = yield* realTools(cwd)
      const { messages } = yield* perform(book, `Do the ten steps. Witness: ${witness}`, cwd, tools)
      const results = messages.flatMap(({ role, content }) =>
        role === "user" && typeof content !== "string" ? content : [],
      )
      assert.strictEqual(results.length, 10)
      assert.isTrue(results.every((block) => block.type === "tool_result" && block.is_error === false))
      assert.strictEqual(yield* fs.readFileString(witness), "ran\n")
      assert.strictEqual(yield* fs.readFileString(`${cwd}/a.txt`), "beta\n")
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer)),
  )

  it.live("crash: goes on after a resume wherever it was interrupted", () =>
    Effect.gen(function* () {
      const book = yield* load("crash")
      const fine: Tools = () => Effect.succeed(["ok", false])
      const { messages } = yield* perform(book, "Do the ten steps. Witness: /w", "/x", fine)
      // A new process, a synthetic result, and another prompt: the next reply is still the one whose turn it is.
      const resumed = Player.make(book, { cache: "always" })
      const system = "Working directory: /x"
      for (let at = 2; at < messages.length; at += 2) {
        const history = [...messages.slice(0, at), ...messages.slice(at, at + 1), user("Go on.")]
        const answer = resumed.play(body(history, { system }))
        assert.strictEqual(answer._tag, "Replied", `after message ${at}`)
      }
    }).pipe(Effect.provide(NodeFileSystem.layer)),
  )
})
