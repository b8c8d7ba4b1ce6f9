/** Going back, through the door: real files, real commands, a scripted model. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Agent } from "../../src/agents/Agent.ts"
import { Agents, type OpenError } from "../../src/agents/Agents.ts"
import * as Toolset from "../../src/agents/Toolset.ts"
import { MostFiles } from "../../src/session/WorkTree.ts"
import { Limits } from "../../src/session/FileHistory.ts"
import type { Event } from "../../src/protocol/Event.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import { realWorld, temporary } from "./realWorld.ts"
import { only } from "./session.ts"

type Call = readonly [tool: string, input: Readonly<Record<string, unknown>>]

/** Each prompt is answered by its calls, then by a word. */
const book = (...prompts: ReadonlyArray<ReadonlyArray<Call>>): Playbook => ({
  turns: prompts.flatMap((calls) => [
    ...(calls.length === 0 ? [] : [{ reply: calls.map(([tool, input]) => ({ tool, input })) }]),
    { reply: "done" },
  ]),
})

const bash = (command: string): Call => ["Bash", { command }]

type Needs = Agents | ScriptedModel | Scope.Scope
type Open = (options?: {
  readonly checkpoints?: boolean | undefined
  readonly resume?: string
}) => Effect.Effect<Agent, OpenError, Agents | Scope.Scope>

interface Scene {
  readonly cwd: string
  readonly write: (name: string, text: string | Uint8Array) => void
  readonly read: (name: string) => string | undefined
  /** Every file, by its name, with what it holds. */
  readonly all: () => Readonly<Record<string, string>>
  readonly git: (...args: ReadonlyArray<string>) => string
}

const scene = (cwd: string): Scene => {
  const at = (name: string) => path.join(cwd, name)
  return {
    cwd,
    write: (name, text) => {
      fs.mkdirSync(path.dirname(at(name)), { recursive: true })
      fs.writeFileSync(at(name), text)
    },
    read: (name) => (fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8") : undefined),
    all: () =>
      Object.fromEntries(
        fs
          .readdirSync(cwd, { recursive: true, encoding: "utf8", withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => path.relative(cwd, path.join(entry.parentPath, entry.name)))
          .filter((name) => !name.startsWith(".git/"))
          .toSorted()
          .map((name) => [name, fs.readFileSync(at(name), "latin1")]),
      ),
    git: (...args) =>
      execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.org", ...args], { cwd, encoding: "utf8" }),
  }
}

const appeared = (file: string) =>
  Effect.repeat(
    Effect.sync(() => fs.existsSync(file)),
    { until: (there) => there, schedule: Schedule.spaced("10 millis") },
  )

const say = (agent: Agent, prompt: string) => Stream.runCollect(agent.prompt(prompt))

/** A session in a directory of its own, with its configuration beside it. */
const inScene = <A, E>(playbook: Playbook, act: (world: Scene, open: Open) => Effect.Effect<A, E, Needs>) =>
  Effect.gen(function* () {
    const base = yield* temporary("rewind")
    const cwd = path.join(base, "work")
    fs.mkdirSync(cwd)
    const open: Open = ({ resume, ...options } = {}) =>
      Effect.flatMap(Agents, (agents) => {
        const all = { permissionMode: "bypassPermissions", tools: Toolset.all, checkpoints: true, ...options } as const
        return resume === undefined ? agents.open(all) : agents.resume(resume, all)
      })
    return yield* act(scene(cwd), open).pipe(
      Effect.scoped,
      Effect.provide(realWorld(playbook, cwd, path.join(base, "config"))),
    )
  })

describe("going back", () => {
  it.live("undoes what tools and commands did to files since a prompt, and leaves the rest alone", () =>
    inScene(
      book(
        [bash("echo one > made.txt && sed -i s/a/b/ kept.txt && rm gone.txt && mv old.txt new.txt && chmod +x run.sh")],
        [["Write", { file_path: "again.txt", content: "two" }], bash("mkdir -p deep/er && echo x > deep/er/file.bin")],
      ),
      (world, open) =>
        Effect.gen(function* () {
          for (const [name, text] of Object.entries({ kept: "aaa\n", gone: "bye\n", old: "old\n", same: "same\n" })) {
            world.write(`${name}.txt`, text)
          }
          world.write("run.sh", "#!/bin/sh\n")
          world.write("bytes.bin", new Uint8Array([0, 255, 1, 254]))
          const before = world.all()
          const agent = yield* open()
          yield* say(agent, "first")
          const between = world.all()
          assert.deepStrictEqual(Object.keys(between), [
            "bytes.bin",
            "kept.txt",
            "made.txt",
            "new.txt",
            "run.sh",
            "same.txt",
          ])
          yield* say(agent, "second")
          assert.include(Object.keys(world.all()), "deep/er/file.bin")

          const points = yield* agent.checkpoints
          assert.deepStrictEqual(
            points.map(({ files, text }) => [text, files.map((file) => path.relative(world.cwd, file))]),
            [
              ["first", ["gone.txt", "kept.txt", "made.txt", "new.txt", "old.txt", "run.sh"]],
              ["second", ["again.txt", "deep/er/file.bin"]],
            ],
          )
          const looked = yield* agent.rewind("2", { what: "code", dryRun: true })
          assert.deepStrictEqual(
            looked.files.map(({ action, path: at }) => [action, path.relative(world.cwd, at)]),
            [
              ["removed", "again.txt"],
              ["removed", "deep/er/file.bin"],
            ],
          )
          yield* agent.rewind("2", { what: "code" })
          assert.deepStrictEqual(world.all(), between)
          assert.isFalse(fs.existsSync(path.join(world.cwd, "deep")), "an empty directory stayed")

          yield* agent.rewind("1", { what: "code" })
          assert.deepStrictEqual(world.all(), before)
          assert.strictEqual(fs.statSync(path.join(world.cwd, "run.sh")).mode & 0o111, 0)

          // The second going back is taken back, then the first.
          const rewinds = (yield* agent.checkpoints).filter(({ kind }) => kind === "rewind")
          assert.lengthOf(rewinds, 2)
          yield* agent.rewind(rewinds[1]?.id ?? "", { what: "code" })
          assert.deepStrictEqual(world.all(), between)
          yield* agent.rewind(rewinds[0]?.id ?? "", { what: "code" })
          assert.strictEqual(world.read("deep/er/file.bin"), "x\n")
        }),
    ),
  )

  it.live("brings back what git has without having copied it, and touches nothing of git", () =>
    inScene(
      book([bash("echo changed > tracked.txt; rm other.txt; git add -A 2>/dev/null; echo new > dirty.txt")]),
      (world, open) =>
        Effect.gen(function* () {
          for (let i = 0; i < 40; i++) world.write(`src/file${i}.txt`, `file ${i}\n`)
          world.write("tracked.txt", "tracked\n")
          world.write("other.txt", "other\n")
          world.git("init", "-q", "-b", "main")
          world.git("add", "-A")
          world.git("commit", "-qm", "begin")
          world.write("dirty.txt", "not committed\n")
          // Git looks again, long after the files were written: their times are no longer in doubt.
          const old = (yield* Clock.currentTimeMillis) / 1000 - 60
          for (const name of Object.keys(world.all())) fs.utimesSync(path.join(world.cwd, name), old, old)
          world.git("update-index", "--refresh")
          const before = world.all()
          const agent = yield* open()
          yield* say(agent, "change it")
          const [index, head] = [fs.readFileSync(path.join(world.cwd, ".git/index")), world.git("rev-parse", "HEAD")]
          const copies = path.join(path.dirname(world.cwd), "config/file-history", agent.sessionId)
          assert.isBelow(fs.readdirSync(copies).length, 12, "files that git has were copied")
          const { files } = yield* agent.rewind("1", { what: "code" })
          assert.lengthOf(files, 3)
          assert.deepStrictEqual(world.all(), before)
          assert.deepStrictEqual(fs.readFileSync(path.join(world.cwd, ".git/index")), index)
          assert.strictEqual(world.git("rev-parse", "HEAD"), head)
        }),
    ),
  )

  it.live("says what somebody else has changed, and overwrites it only when told", () =>
    inScene(book([["Write", { file_path: "a.txt", content: "model" }]]), (world, open) =>
      Effect.gen(function* () {
        const agent = yield* open()
        yield* say(agent, "write")
        world.write("a.txt", "person")
        const refused = yield* Effect.flip(agent.rewind("1", { what: "code" }))
        assert.strictEqual(refused._tag, "RewindRefused")
        assert.include(refused.message, "a.txt")
        assert.strictEqual(world.read("a.txt"), "person")
        yield* agent.rewind("1", { what: "code", force: true })
        assert.isUndefined(world.read("a.txt"))
        // Not even that is lost.
        const rewind = (yield* agent.checkpoints).find(({ kind }) => kind === "rewind")
        yield* agent.rewind(rewind?.id ?? "", { what: "code" })
        assert.strictEqual(world.read("a.txt"), "person")
      }),
    ),
  )

  it.live("goes through no link that was put in the way", () =>
    inScene(book([bash("echo x > dir/a.txt; echo y > b.txt; rm c.txt; ln -s ../outside/c.txt c.txt")]), (world, open) =>
      Effect.gen(function* () {
        world.write("dir/a.txt", "a")
        world.write("b.txt", "b")
        world.write("c.txt", "c")
        const outside = path.join(path.dirname(world.cwd), "outside")
        fs.mkdirSync(outside)
        for (const name of ["a.txt", "b.txt", "c.txt"]) fs.writeFileSync(path.join(outside, name), "theirs")
        const agent = yield* open()
        yield* say(agent, "go")
        fs.renameSync(path.join(world.cwd, "dir"), path.join(world.cwd, "moved"))
        fs.symlinkSync(outside, path.join(world.cwd, "dir"))
        const { files } = yield* agent.rewind("1", { what: "code", force: true })
        const through = files.find((file) => file.path.endsWith("dir/a.txt"))
        assert.match(through?.problem ?? "", /link/)
        assert.strictEqual(world.read("b.txt"), "b")
        // The link itself gave way.
        assert.isTrue(fs.lstatSync(path.join(world.cwd, "c.txt")).isFile())
        assert.strictEqual(world.read("c.txt"), "c")
        for (const name of ["a.txt", "b.txt", "c.txt"]) {
          assert.strictEqual(fs.readFileSync(path.join(outside, name), "utf8"), "theirs")
        }
      }),
    ),
  )

  it.live(
    "takes the conversation back: the model is shown what was before the prompt, and is told again what it forgot",
    () =>
      inScene(book([], [["Write", { file_path: "a.txt", content: "1" }]], []), (world, open) =>
        Effect.gen(function* () {
          const agent = yield* open()
          yield* say(agent, "one")
          yield* say(agent, "two")
          const report = yield* agent.rewind("2")
          assert.isTrue(report.conversation)
          assert.strictEqual(report.to.text, "two")
          assert.isUndefined(world.read("a.txt"))
          yield* say(agent, "three")
          const last = (yield* ScriptedModel.requests).at(-1)
          const shown = JSON.stringify(last?.body.messages)
          assert.include(shown, "one")
          assert.include(shown, "three")
          assert.notInclude(shown, "two")
          const lines = fs
            .readFileSync(agent.transcriptPath, "utf8")
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line))
          const third = lines.find(({ message }) => message?.content === "three")
          const parent = lines.find(({ uuid }) => uuid === third.parentUuid)
          const second = lines.find(({ message }) => message?.content === "two")
          assert.strictEqual(parent.uuid, second.parentUuid)
          const points = yield* agent.checkpoints
          assert.deepStrictEqual(
            points.map(({ current, kind, text }) => [kind, text, current]),
            [
              ["prompt", "one", true],
              ["prompt", "two", false],
              ["rewind", "the conversation went back", true],
              ["rewind", "files went back", true],
              ["prompt", "three", true],
            ],
          )
          // Back to before the going back: both are there again.
          yield* agent.rewind("3")
          assert.strictEqual(world.read("a.txt"), "1")
        }),
      ),
  )

  it.live("keeps nothing of what is too large, and says so when it goes back", () =>
    inScene(book([bash("echo more >> huge.txt; echo more >> small.txt")]), (world, open) =>
      Effect.gen(function* () {
        world.write("huge.txt", "x".repeat(5_000))
        world.write("small.txt", "s")
        const agent = yield* open()
        yield* say(agent, "go")
        const { files } = yield* agent.rewind("1", { what: "code" })
        assert.deepStrictEqual(
          files.map(({ path: at, problem }) => [path.basename(at), problem]),
          [
            ["huge.txt", "its content was not kept"],
            ["small.txt", undefined],
          ],
        )
        assert.strictEqual(world.read("small.txt"), "s")
      }).pipe(Effect.provideService(Limits, { file: 1_000, session: 100_000 })),
    ),
  )

  it.live("looks at no workspace that is too large, says so once, and still takes back what tools changed", () =>
    inScene(
      book([bash("echo b > b1.txt"), ["Write", { file_path: "w.txt", content: "w" }]], [bash("echo c > c.txt")]),
      (world, open) =>
        Effect.gen(function* () {
          for (let i = 0; i < 12; i++) world.write(`f${i}.txt`, "f")
          const agent = yield* open()
          const events: ReadonlyArray<Event> = [...(yield* say(agent, "go")), ...(yield* say(agent, "on"))]
          const said = only(events, "Diagnosed").filter(({ message }) => message.startsWith("not checkpointed"))
          assert.lengthOf(said, 1)
          yield* agent.rewind("1", { what: "code" })
          assert.isUndefined(world.read("w.txt"))
          assert.strictEqual(world.read("b1.txt"), "b\n")
        }).pipe(Effect.provideService(MostFiles, 10)),
    ),
  )

  it.live("counts what an agent that was sent out has changed, and what work in the background changes", () =>
    inScene(
      {
        rules: [
          { when: { tool: "Agent" }, reply: "All done." },
          { when: { tool: "Bash", user: "errand" }, reply: "The errand is done." },
          { when: { user: "errand" }, reply: [{ tool: "Bash", input: { command: "echo sub > sub.txt" } }] },
          {
            when: { user: "first" },
            once: true,
            reply: [
              { tool: "Agent", input: { description: "go", prompt: "errand", subagent_type: "general-purpose" } },
            ],
          },
          {
            when: { user: "second" },
            once: true,
            reply: [
              {
                tool: "Bash",
                input: {
                  command: "while [ ! -e .go ]; do sleep 0.02; done; echo late > late.txt; sleep 60",
                  run_in_background: true,
                },
              },
            ],
          },
          { reply: "done" },
        ],
      },
      (world, open) =>
        Effect.gen(function* () {
          const agent = yield* open()
          yield* say(agent, "first")
          assert.strictEqual(world.read("sub.txt"), "sub\n")
          yield* say(agent, "second")
          world.write(".go", "")
          yield* appeared(path.join(world.cwd, "late.txt"))
          const changed = yield* agent.watch
          yield* say(agent, "third")
          // A look may have come between the two files.
          const isLate = ({ path }: { readonly path: string }) => path.endsWith("late.txt")
          yield* Stream.runHead(
            Stream.filter(changed, (event) => event._tag === "Checkpointed" && event.changes.some(isLate)),
          )
          const files = (yield* agent.checkpoints).map((point) => point.files.map((file) => path.basename(file)))
          assert.deepStrictEqual(files.slice(0, 2), [["sub.txt"], [".go", "late.txt"]])
          yield* agent.rewind("1", { what: "code" })
          assert.deepStrictEqual(world.all(), {})
        }),
    ),
  )

  it.live("goes back in a later life of the session, and in a copy of it", () =>
    inScene(book([bash("echo b > a.txt")], [bash("echo c > a.txt")]), (world, open) =>
      Effect.gen(function* () {
        world.write("a.txt", "a\n")
        const id = yield* Effect.scoped(
          Effect.gen(function* () {
            const agent = yield* open()
            yield* say(agent, "one")
            return agent.sessionId
          }),
        )
        yield* Effect.scoped(
          Effect.gen(function* () {
            const agents = yield* Agents
            const copy = yield* agents.fork(id, { checkpoints: true, cwd: world.cwd })
            const { files } = yield* copy.rewind("1", { what: "code", dryRun: true })
            assert.deepStrictEqual(
              files.map(({ problem }) => problem),
              [undefined],
            )
          }),
        )
        const agent = yield* open({ resume: id })
        yield* say(agent, "two")
        yield* agent.rewind("2", { what: "code" })
        assert.strictEqual(world.read("a.txt"), "b\n")
        yield* agent.rewind("1", { what: "code" })
        assert.strictEqual(world.read("a.txt"), "a\n")
      }),
    ),
  )

  it.live("is refused while a turn runs", () =>
    inScene(book([bash("sleep 20; echo over")]), (_, open) =>
      Effect.gen(function* () {
        const agent = yield* open()
        const seen = yield* agent.watch
        yield* Effect.forkChild(say(agent, "wait"))
        yield* Stream.runHead(Stream.filter(seen, ({ _tag }) => _tag === "ToolStarted"))
        const refused = yield* Effect.flip(agent.rewind("1"))
        assert.include(refused.message, "turn is running")
      }),
    ),
  )

  it.live("keeps nothing where nobody asks for it", () =>
    inScene(book([["Write", { file_path: "a.txt", content: "1" }]]), (world, open) =>
      Effect.gen(function* () {
        const agent = yield* open({ checkpoints: undefined })
        const events = yield* say(agent, "go")
        assert.lengthOf(only(events, "Checkpointed"), 0)
        assert.isFalse(fs.existsSync(path.join(path.dirname(world.cwd), "config/file-history")))
      }),
    ),
  )
})
