/** Going back from the command line and over the control protocol, also after a process was killed. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { appeared, endedWith, linesOf, world } from "./world.ts"

const id = "55555555-5555-4555-8555-555555555555"
const message = "66666666-6666-4666-8666-666666666666"
const keeping = { env: { CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING: "true" } }
const print = ["--dangerously-skip-permissions", "--output-format", "stream-json"]

const bash = (command: string) => ({
  rules: [{ when: { tool: "Bash" }, reply: "Done." }, { reply: [{ tool: "Bash", input: { command } }] }],
})

describe.concurrent("troupe rewind", () => {
  it.live("brings back what a command had changed when the process was killed", () =>
    Effect.gen(function* () {
      const w = yield* world(bash("echo changed > kept.txt; rm gone.txt; echo new > new.txt; touch done; sleep 60"))
      w.write("kept.txt", "kept\n")
      w.write("gone.txt", "gone\n")
      const child = yield* w.start(["-p", "change it", "--session-id", id, ...print], keeping)
      yield* appeared(path.join(w.work, "done"))
      yield* child.signal("SIGKILL")
      yield* child.ended
      const listed = yield* w.run(["rewind", id])
      endedWith(listed, 0)
      assert.match(listed.out, /1 {2}\d{4}-\d\d-\d\d \d\d:\d\d UTC {2}change it {2}4 files/)
      const looked = yield* w.run(["rewind", id, "--to", "1", "--code", "--dry-run", "--json"])
      endedWith(looked, 0)
      const { files } = JSON.parse(looked.out)
      assert.deepStrictEqual(
        files.map((file: { action: string; path: string }) => [file.action, path.basename(file.path)]),
        [
          ["removed", "done"],
          ["restored", "gone.txt"],
          ["restored", "kept.txt"],
          ["removed", "new.txt"],
        ],
      )
      assert.strictEqual(w.read("kept.txt"), "changed\n")
      // From anywhere: it is the session's own directory that goes back.
      endedWith(yield* w.run(["rewind", id, "--to", "1"], { cwd: w.directory }), 0)
      assert.deepStrictEqual(fs.readdirSync(w.work).toSorted(), ["gone.txt", "kept.txt"])
      assert.strictEqual(w.read("kept.txt"), "kept\n")
      assert.strictEqual(w.read("gone.txt"), "gone\n")
      const kept = path.join(w.config, "file-history", id)
      for (const name of fs.readdirSync(kept))
        assert.strictEqual(fs.statSync(path.join(kept, name)).mode & 0o77, 0, name)
      const again = yield* w.run(["rewind", id, "--to", "9"])
      endedWith(again, 1)
      assert.include(again.err, 'There is no checkpoint "9"')
    }),
  )

  it.live("is what --rewind-files and the control request rewind_files do to files", () =>
    Effect.gen(function* () {
      const w = yield* world(bash("echo two > a.txt"))
      w.write("a.txt", "one\n")
      const flags = ["--input-format", "stream-json", "--session-id", id, "-p", ...print]
      const child = yield* w.start(flags, { ...keeping, input: "open" })
      const say = (line: object) => child.type(`${JSON.stringify(line)}\n`)
      yield* say({ type: "user", uuid: message, message: { role: "user", content: "change it" } })
      yield* child.until((out) => out.includes('"type":"result"'))
      const request = { subtype: "rewind_files", user_message_id: message }
      yield* say({ type: "control_request", request_id: "r1", request: { ...request, dry_run: true } })
      yield* child.until((out) => out.includes('"request_id":"r1"'))
      assert.strictEqual(w.read("a.txt"), "two\n")
      yield* say({ type: "control_request", request_id: "r2", request })
      yield* say({ type: "control_request", request_id: "r3", request: { ...request, user_message_id: "nobody" } })
      yield* child.until((out) => out.includes('"request_id":"r3"'))
      yield* child.close
      const ended = yield* child.ended
      endedWith(ended, 0)
      assert.strictEqual(w.read("a.txt"), "one\n")
      const answers = linesOf(ended.out).flatMap((line) => (line.type === "control_response" ? [line["response"]] : []))
      const changed = { canRewind: true, filesChanged: [path.join(w.work, "a.txt")], insertions: 1, deletions: 1 }
      assert.deepStrictEqual(answers, [
        { subtype: "success", request_id: "r1", response: changed },
        { subtype: "success", request_id: "r2", response: changed },
        {
          subtype: "success",
          request_id: "r3",
          response: { canRewind: false, error: 'There is no checkpoint "nobody": there are 2, from 1 on.' },
        },
      ])
      w.write("a.txt", "two\n")
      const refused = yield* w.run(["--resume", id, "--rewind-files", message])
      endedWith(refused, 1)
      assert.match(refused.err, /a\.txt: it was changed since/)
    }),
  )

  it.live("has no files to bring back where settings forbid keeping them", () =>
    Effect.gen(function* () {
      const w = yield* world(bash("echo two > a.txt"))
      w.write("a.txt", "one\n")
      const off = { env: { ...keeping.env, CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING: "1" } }
      endedWith(yield* w.run(["-p", "change it", "--session-id", id, ...print], off), 0)
      assert.isFalse(fs.existsSync(path.join(w.config, "file-history")))
      const done = yield* w.run(["rewind", id, "--to", "1", "--code"])
      endedWith(done, 0)
      assert.include(done.out, "0 files put back.")
    }),
  )
})
