/** A session goes to another directory and process, by file and from hand to hand, and nothing of it changes on the way. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as path from "node:path"
import { endedWith, resultOf, world } from "./world.ts"

const one = "11111111-1111-4111-8111-111111111111"

const talk = {
  rules: [
    { when: { prompt: { equals: "look" }, tool: {} }, reply: "It says plum." },
    { when: { prompt: { equals: "look" } }, reply: [{ tool: "Read", input: { file_path: "note.txt" } }] },
    { reply: "Noted." },
  ],
}

const journal = (config: string, id: string) => path.join(config, "troupe/sessions", id, "journal.ndjson")

/** Lets everything through to the scripted server and keeps the bytes of each request as they came. */
const witness = (to: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ server: http.Server; bodies: Array<string> }>((resume) => {
        const bodies: Array<string> = []
        const server = http.createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const body = Buffer.concat(chunks)
            if (body.length > 0) bodies.push(body.toString("utf8"))
            const onward = http.request(
              new URL(request.url ?? "/", to),
              { method: request.method, headers: { ...request.headers, host: new URL(to).host } },
              (answer) => {
                response.writeHead(answer.statusCode ?? 500, answer.headers)
                answer.pipe(response)
              },
            )
            onward.on("error", () => response.destroy())
            onward.end(body)
          })
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, bodies })))
      }),
      ({ server }) => Effect.sync(() => void server.close()),
    ),
    ({ bodies, server }) => {
      const address = server.address()
      const { port } = address as AddressInfo
      return { url: `http://127.0.0.1:${port}`, bodies }
    },
  )

describe.concurrent("teleport", () => {
  it.live(
    "the next request abroad is the one of home, byte for byte, with one message more that names the directory",
    () =>
      Effect.gen(function* () {
        const { config, directory, env, run, work, write } = yield* world(talk)
        const { bodies, url } = yield* witness(String(env["ANTHROPIC_BASE_URL"]))
        const at = { ANTHROPIC_BASE_URL: url }
        write("note.txt", "plum\n")
        endedWith(yield* run(["-p", "look", "--session-id", one], { env: at }), 0)
        endedWith(yield* run(["teleport", "export", one, "--output", "../out.teleport"]), 0)

        // Another place: its own configuration, another directory.
        const abroad = path.join(directory, "abroad")
        fs.mkdirSync(abroad)
        const there = { cwd: abroad, env: { ...at, CLAUDE_CONFIG_DIR: path.join(directory, "config-abroad") } }
        const came = yield* run(["teleport", "import", "../out.teleport", "--json"], there)
        endedWith(came, 0)
        assert.deepInclude(JSON.parse(came.out), { sessionId: one, outcome: "created", cwd: abroad })

        const before = bodies.length
        endedWith(yield* run(["-p", "next", "--resume", one], { env: at }), 0)
        endedWith(yield* run(["-p", "next", "--resume", one], there), 0)
        const [home = "", away = ""] = bodies.slice(before)
        assert.strictEqual(bodies.length, before + 2)
        assert.isAbove(home.length, 1000)
        assert.isFalse(home.includes(abroad))

        const added =
          /\{"type":"text","text":"<system-reminder>\\nThis session goes on in another directory: (?:[^"\\]|\\.)*"\},/.exec(
            away,
          )
        assert.isNotNull(added)
        assert.include(added[0], abroad)
        assert.include(added[0], work)
        assert.strictEqual(away.replace(added[0], ""), home)
        assert.isTrue(fs.existsSync(journal(config, one)))

        // It is said once.
        endedWith(yield* run(["-p", "and on", "--resume", one], there), 0)
        assert.strictEqual(bodies.at(-1)?.split("This session goes on in another directory").length, 2)
      }),
  )

  it.live("so it is with a whole project: instructions, skills, agents, a rule and a repository travel with it", () =>
    Effect.gen(function* () {
      const { directory, env, run, work, write } = yield* world(talk)
      const { bodies, url } = yield* witness(String(env["ANTHROPIC_BASE_URL"]))
      const at = { ANTHROPIC_BASE_URL: url }
      write("note.txt", "plum\n")
      write("CLAUDE.md", "Always say please.\n")
      write(".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: ships it\n---\nShip.\n")
      write(".claude/agents/judge.md", "---\nname: judge\ndescription: judges things\n---\nJudge.\n")
      write(".claude/rules/texts.md", "---\npaths: '*.txt'\n---\nTexts are short.\n")
      for (const args of [
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
      ])
        execFileSync("git", args, { cwd: work })
      endedWith(yield* run(["-p", "look", "--session-id", one], { env: at }), 0)
      endedWith(yield* run(["teleport", "export", one, "--output", "../out.teleport", "--with-work-tree"]), 0)
      const target = path.join(directory, "copy")
      const there = { env: { ...at, CLAUDE_CONFIG_DIR: path.join(directory, "other") } }
      endedWith(yield* run(["teleport", "import", "../out.teleport", "--with-work-tree", "--cwd", target], there), 0)
      const before = bodies.length
      endedWith(yield* run(["-p", "next", "--resume", one], { env: at }), 0)
      endedWith(yield* run(["-p", "next", "--resume", one], { ...there, cwd: target }), 0)
      const [home = "", away = ""] = bodies.slice(before)
      assert.include(home, "Always say please.")
      assert.include(home, "ships it")
      const added =
        /\{"type":"text","text":"<system-reminder>\\nThis session goes on in another directory: (?:[^"\\]|\\.)*"\},/.exec(
          away,
        )
      assert.isNotNull(added, away.slice(-2000))
      assert.strictEqual(away.replace(added[0], ""), home)
    }),
  )

  it.live("secrets stay at home, and the conversation is whole all the same", () =>
    Effect.gen(function* () {
      const key = "sk-ant-api03-abcdefghijklmnop1234"
      const { directory, read, requests, run, write } = yield* world(talk)
      write("note.txt", `plum\nANTHROPIC=${key}\npassword: "hunter2-x9"\nmine: plum-9-plum\n`)
      endedWith(yield* run(["-p", "look", "--session-id", one]), 0)
      const out = yield* run(["teleport", "export", "--latest", "--output", "out.teleport", "--json"], {
        env: { MY_SERVICE_TOKEN: "plum-9-plum" },
      })
      endedWith(out, 0)
      const told: unknown = JSON.parse(out.out)
      assert.deepInclude(told, { sessionId: one, traceId: one.replaceAll("-", "") })
      assert.match(out.out, /a key of Anthropic/)
      const text = read("out.teleport")
      assert.notInclude(text, key)
      assert.notInclude(text, "hunter2")
      assert.notInclude(text, "MY_SERVICE_TOKEN")
      assert.notInclude(text, "plum-9-plum")
      assert.include(text, "mine: [redacted]")
      const env = { CLAUDE_CONFIG_DIR: path.join(directory, "other") }
      endedWith(yield* run(["teleport", "import", "out.teleport"], { env }), 0)
      const next = yield* run(["-p", "next", "--resume", one], { env })
      endedWith(next, 0)
      const last = (yield* requests).at(-1)
      assert.isUndefined(last?.note.problem)
      assert.include(JSON.stringify(last?.body.messages), "[redacted: a key of Anthropic]")
    }),
  )

  it.live("a session that went on in two places has both lives afterwards, and says who wrote when", () =>
    Effect.gen(function* () {
      const { config, directory, run, work } = yield* world(talk)
      const env = { CLAUDE_CONFIG_DIR: path.join(directory, "other") }
      endedWith(yield* run(["-p", "begin", "--session-id", one]), 0)
      endedWith(yield* run(["teleport", "export", one, "--output", "a"]), 0)
      endedWith(yield* run(["teleport", "import", "a"], { env }), 0)
      endedWith(yield* run(["-p", "at home", "--resume", one]), 0)
      endedWith(yield* run(["-p", "abroad", "--resume", one], { env }), 0)
      endedWith(yield* run(["teleport", "export", one, "--output", "b"], { env }), 0)
      const home = fs.readFileSync(journal(config, one), "utf8")

      const refused = yield* run(["teleport", "import", "b", "--on-conflict", "refuse"])
      endedWith(refused, 1)
      assert.strictEqual(fs.readFileSync(journal(config, one), "utf8"), home)

      const merged = yield* run(["teleport", "import", "b", "--json"])
      endedWith(merged, 0)
      const { fork, notes, outcome } = JSON.parse(merged.out)
      assert.strictEqual(outcome, "merged")
      assert.match(
        String(notes),
        /here \(.+\) with \d+ records, the last of .+, and there \(.+\) with \d+, the last of/,
      )
      const kept = fs.readFileSync(journal(config, one), "utf8")
      assert.include(kept, "abroad")
      assert.notInclude(kept, "at home")
      assert.include(kept, "in two places")
      const lost = fs.readFileSync(journal(config, fork), "utf8")
      assert.include(lost, "at home")
      const on = resultOf(yield* run(["-p", "more", "--resume", fork, "--output-format", "json"]))
      assert.strictEqual(on["result"], "Noted.")

      // Again: all of it is here.
      const again = yield* run(["teleport", "import", "b", "--json"])
      assert.deepInclude(JSON.parse(again.out), { sessionId: one, outcome: "moved", cwd: work })
      // And the other way round: here it is further on.
      endedWith(yield* run(["-p", "further", "--resume", one]), 0)
      const behind = yield* run(["teleport", "import", "b", "--json"])
      assert.deepInclude(JSON.parse(behind.out), { outcome: "behind" })
    }),
  )

  it.live("the work tree travels with what is not committed, and leaves its repository as it was", () =>
    Effect.gen(function* () {
      const { directory, env, run, work, write } = yield* world(talk)
      const git = (cwd: string, ...args: ReadonlyArray<string>) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" })
      git(work, "init", "-q", "-b", "trunk")
      write("src/a.txt", "one\n")
      write(".gitignore", "out/\n")
      git(work, "add", ".")
      git(work, "commit", "-qm", "first")
      write("src/a.txt", "two\n")
      write("src/new.txt", "fresh\n")
      write("out/built", "x")
      write(".env", "KEY=1")
      write("staged.txt", "s\n")
      git(work, "add", "staged.txt")
      write(".git/hooks/post-checkout", `#!/bin/sh\ntouch ${directory}/ran\n`)
      write(".git/hooks/post-index-change", `#!/bin/sh\ntouch ${directory}/ran\n`)
      for (const hook of ["post-checkout", "post-index-change"])
        fs.chmodSync(path.join(work, ".git/hooks", hook), 0o755)
      git(work, "config", "core.fsmonitor", `touch ${directory}/ran`)
      git(work, "config", "filter.x.clean", `touch ${directory}/ran; cat`)
      write(".gitattributes", "*.txt filter=x\n")
      const look = () =>
        [".git/index", ".git/HEAD", ".git/refs/heads/trunk"].map((name) =>
          fs.readFileSync(path.join(work, name), "hex"),
        )
      const objects = () => fs.readdirSync(path.join(work, ".git/objects"), { recursive: true }).length
      endedWith(yield* run(["-p", "begin", "--session-id", one], { cwd: path.join(work, "src") }), 0)
      fs.rmSync(path.join(directory, "ran"), { force: true })
      const before = [look(), objects()]
      const file = path.join(directory, "with.teleport")
      const out = yield* run(["teleport", "export", one, "--output", file, "--with-work-tree"])
      endedWith(out, 0)
      assert.include(out.out, ".env")
      assert.deepStrictEqual([look(), objects()], before)

      const target = path.join(directory, "fresh/copy")
      const there = { CLAUDE_CONFIG_DIR: path.join(directory, "other") }
      const full = yield* run(["teleport", "import", file, "--cwd", work, "--with-work-tree"], { env: there })
      endedWith(full, 1)
      assert.match(full.err, /not empty/)
      const came = yield* run(["teleport", "import", file, "--cwd", target, "--with-work-tree", "--json"], {
        env: there,
      })
      endedWith(came, 0)
      assert.deepInclude(JSON.parse(came.out), { cwd: path.join(target, "src"), outcome: "created" })
      assert.isFalse(fs.existsSync(path.join(directory, "ran")))
      assert.strictEqual(fs.readFileSync(path.join(target, "src/a.txt"), "utf8"), "two\n")
      assert.strictEqual(fs.readFileSync(path.join(target, "src/new.txt"), "utf8"), "fresh\n")
      assert.isFalse(fs.existsSync(path.join(target, ".env")))
      assert.isFalse(fs.existsSync(path.join(target, "out")))
      assert.strictEqual(
        git(target, "status", "--porcelain"),
        " M src/a.txt\n?? .gitattributes\n?? src/new.txt\n?? staged.txt\n",
      )
      assert.strictEqual(git(target, "rev-parse", "HEAD"), git(work, "rev-parse", "HEAD"))
      assert.strictEqual(git(target, "branch", "--show-current"), "trunk\n")
      assert.deepStrictEqual(fs.readdirSync(path.join(directory, "fresh")), ["copy"])
      assert.isDefined(env)
      endedWith(yield* run(["-p", "on", "--resume", one], { env: there, cwd: path.join(target, "src") }), 0)
    }),
  )

  it.live("a question that is open at home is asked again abroad, and answered there it is done there", () =>
    Effect.gen(function* () {
      const made = yield* world({
        rules: [
          { when: { tool: {} }, reply: "Written." },
          { when: { turn: 1 }, reply: [{ tool: "Write", input: { file_path: "a.txt", content: "x" } }] },
          { reply: "Written." },
        ],
      })
      const { directory, run, start, work } = made
      const flags = ["--input-format", "stream-json", "--output-format=stream-json", "--verbose"]
      const talking = [...flags, "--permission-prompt-tool=stdio"]
      const say = (content: string) => `${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`
      const question = (out: string) =>
        out.split("\n").find((line) => line.includes('"subtype":"can_use_tool"') && line.endsWith("}"))

      const home = yield* start([...talking, "--session-id", one], { input: "open" })
      yield* home.type(say("go"))
      yield* home.until((out) => question(out) !== undefined)
      // It is open there all the while.
      const out = yield* run(["teleport", "export", one, "--output", "live.teleport", "--json"])
      endedWith(out, 0)
      const abroad = path.join(directory, "abroad")
      fs.mkdirSync(abroad)
      const there = { cwd: abroad, env: { CLAUDE_CONFIG_DIR: path.join(directory, "other") } }
      const came = yield* run(["teleport", "import", path.join(work, "live.teleport")], there)
      endedWith(came, 0)
      assert.match(came.out, /A question about Write was open/)

      const away = yield* start([...talking, "--resume", one], { ...there, input: "open" })
      yield* away.type(say("go on"))
      let asked: string | undefined
      yield* away.until((out) => (asked = question(out)) !== undefined)
      const { request_id } = JSON.parse(asked ?? "{}")
      const response = {
        subtype: "success",
        request_id,
        response: { behavior: "allow", updatedInput: { file_path: "a.txt", content: "x" } },
      }
      yield* away.type(`${JSON.stringify({ type: "control_response", response })}\n`)
      yield* away.close
      endedWith(yield* away.ended, 0)
      assert.strictEqual(fs.readFileSync(path.join(abroad, "a.txt"), "utf8"), "x")
      assert.isFalse(fs.existsSync(path.join(work, "a.txt")))
      yield* home.close
      yield* home.ended
    }),
  )
})
