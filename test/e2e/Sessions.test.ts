/** `troupe sessions`: the command itself, on what real sessions left behind. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as fs from "node:fs"
import * as path from "node:path"
import { noTerminal, terminal } from "./terminal.ts"
import { appeared, endedWith, world } from "./world.ts"

const one = "11111111-1111-4111-8111-111111111111"
const two = "22222222-2222-4222-8222-222222222222"
const three = "1111abcd-3333-4333-8333-333333333333"

const playbook = {
  rules: [
    { when: { tool: {} }, reply: "The file says <b>hello</b> & more." },
    {
      when: { prompt: { equals: "look" } },
      reply: [{ tool: "Bash", input: { command: "echo '<script>x</script>'" } }],
    },
    {
      when: { prompt: { equals: "wait" } },
      reply: [{ tool: "Bash", input: { command: "touch here; until [ -e go ]; do sleep 0.02; done" } }],
    },
    { reply: "A flaky test is\none that passes on Tuesdays." },
  ],
}

const begun = Effect.fnUntraced(function* () {
  const here = yield* world(playbook)
  const said = (prompt: string, id: string, cwd = here.work) =>
    Effect.map(here.run(["-p", prompt, "--session-id", id, "--dangerously-skip-permissions"], { cwd }), (ended) =>
      endedWith(ended, 0),
    )
  const sessions = (...argv: ReadonlyArray<string>) => here.run(["sessions", ...argv])
  const journal = (id: string) => path.join(here.config, "troupe/sessions", id, "journal.ndjson")
  const project = path.join(here.config, "projects", here.work.replace(/[^a-zA-Z0-9]/g, "-"))
  const age = (id: string, days: number) => {
    const then = fs.statSync(journal(id)).mtimeMs / 1000 - days * 86_400
    for (const file of [journal(id), path.join(project, `${id}.jsonl`)]) fs.utimesSync(file, then, then)
  }
  return { ...here, said, sessions, journal, project, age }
})

const ids = (json: string): ReadonlyArray<string> => JSON.parse(json).map(({ id }: { readonly id: string }) => id)

describe.concurrent("troupe sessions", () => {
  it.live("are meant by what the list shows of them, whatever the command", () =>
    Effect.gen(function* () {
      const { run, said } = yield* begun()
      yield* said("what is flaky?", one)
      yield* said("once more", three)
      const runs = [
        ["context", "show", "11111111"],
        ["rewind", "what is flaky?"],
        ["replay", "11111111"],
        ["teleport", "export", "11111111"],
        ["sessions", "show", "latest"],
      ]
      for (const argv of runs) endedWith(yield* run(argv), 0)
      const several = yield* run(["rewind", "1111"])
      endedWith(several, 1)
      assert.include(several.err, '"1111" is more than one session')
    }).pipe(Effect.scoped),
  )

  it.live("lists the sessions of this directory, the last used first, and every one with --all", () =>
    Effect.gen(function* () {
      const { directory, said, sessions } = yield* begun()
      const other = path.join(directory, "other")
      fs.mkdirSync(other)
      yield* said("what is flaky?", one)
      yield* said("and here?", two, other)
      yield* said("once more", three)
      const list = yield* sessions("list")
      endedWith(list, 0)
      assert.match(
        list.out,
        /^1111abcd {2}just now {4}once more\n11111111 .* what is flaky\?\n\n1 session in other.*--all/,
      )
      assert.deepStrictEqual(ids((yield* sessions("list", "--all", "--json")).out), [three, two, one])
      assert.deepStrictEqual(ids((yield* sessions("list", "--json", "--search", "FLAKY")).out), [one])
      const [first] = JSON.parse((yield* sessions("list", "--json")).out)
      assert.deepInclude(first, { title: "once more", named: false, tags: [], prompts: 1, source: "troupe" })
    }),
  )

  it.live("finds words in prompts and replies, not in what tools said, and shows the line", () =>
    Effect.gen(function* () {
      const { said, sessions } = yield* begun()
      yield* said('say "quoted" things', one)
      yield* said("look", two)
      const found = yield* sessions("search", "tuesdays", "PASSES")
      endedWith(found, 0)
      assert.match(found.out, /11111111.*\n {4}● one that passes on Tuesdays\.\n/)
      assert.notInclude(found.out, "22222222")
      assert.match((yield* sessions("search", '"quoted"')).out, /› say "quoted" things/)
      const none = yield* sessions("search", "script")
      endedWith(none, 1)
      assert.match(none.out, /Nothing was found/)
    }),
  )

  it.live("renames, tags and untags; by the beginning of an id, and by the title", () =>
    Effect.gen(function* () {
      const { journal, project, said, sessions } = yield* begun()
      yield* said("what is flaky?", one)
      yield* said("another", three)
      endedWith(yield* sessions("rename", "11111111", "Flaky\u001b[31m tests"), 0)
      endedWith(yield* sessions("tag", "flaky [31m tests", "#ci", "release,slow"), 0)
      endedWith(yield* sessions("untag", "flaky", "slow"), 0)
      const [named] = JSON.parse((yield* sessions("list", "--json", "--tag", "ci")).out)
      assert.deepInclude(named, { id: one, title: "Flaky [31m tests", named: true, tags: ["ci", "release"] })
      const transcript = fs.readFileSync(path.join(project, `${one}.jsonl`), "utf8")
      assert.match(transcript, /"type":"custom-title","customTitle":"Flaky \[31m tests"/)
      assert.match(transcript, /"type":"tag","tag":"ci, release","tags":\["ci","release"\][^\n]*\n$/)
      const unclear = yield* sessions("show", "1111")
      endedWith(unclear, 1)
      assert.match(unclear.err, /more than one session[^]*1111abcd {2}another[^]*/)
      const nothing = yield* sessions("show", "flakey [31m tests")
      endedWith(nothing, 1)
      assert.match(nothing.err, /no session "flakey[^]*11111111 {2}Flaky/)
      // What it is called is remembered by the journal alone.
      fs.rmSync(path.join(path.dirname(path.dirname(journal(one))), "..", "sessions.json"), { force: true })
      assert.include((yield* sessions("list")).out, "#ci #release")
    }),
  )

  it.live("shows one, and exports it as Markdown, as a safe page and as JSON", () =>
    Effect.gen(function* () {
      const { read, said, sessions, work } = yield* begun()
      yield* said("look", one)
      const shown = yield* sessions("show", one)
      endedWith(shown, 0)
      assert.match(shown.out, /› look\n {2}⚒ Bash echo '<script>x<\/script>'\n● The file says <b>hello<\/b>/)
      assert.match(shown.out, new RegExp(`To go on: troupe --resume ${one}`))
      const markdown = yield* sessions("export", one)
      endedWith(markdown, 0)
      assert.match(markdown.out, /^# look\n[^]*> look\n[^]*<details><summary><code>Bash echo '&lt;script&gt;/)
      endedWith(yield* sessions("export", one, "-o", "out.html"), 0)
      const page = read("out.html")
      assert.notInclude(page, "<script>")
      assert.notInclude(page, "<b>hello")
      assert.match(page, /Content-Security-Policy[^]*<details><summary>Bash echo &#39;&lt;script&gt;/)
      assert.strictEqual(fs.statSync(path.join(work, "out.html")).mode & 0o777, 0o600)
      const { items, title } = JSON.parse((yield* sessions("export", one, "--format", "json")).out)
      assert.strictEqual(title, "look")
      assert.deepStrictEqual(
        items.map(({ kind }: { readonly kind: string }) => kind),
        ["prompt", "call", "reply"],
      )
      assert.deepInclude(items[1], { tool: "Bash", outcome: "completed", result: "<script>x</script>" })
    }),
  )

  it.live("deletes with --yes, and everything of it; never one that is in use", () =>
    Effect.gen(function* () {
      const { config, journal, project, said, sessions, start, work, write } = yield* begun()
      yield* said("what is flaky?", one)
      fs.mkdirSync(path.join(config, "file-history", one), { recursive: true })
      fs.mkdirSync(path.join(project, one, "subagents"), { recursive: true })
      const asked = yield* sessions("delete", one)
      endedWith(asked, 1)
      assert.match(asked.err, /add --yes/)
      assert.isTrue(fs.existsSync(journal(one)))
      const slip = yield* sessions("delete", one, two, "--yes")
      endedWith(slip, 1)
      assert.isTrue(fs.existsSync(journal(one)))
      endedWith(yield* sessions("delete", one, "--yes"), 0)
      for (const file of [
        path.dirname(journal(one)),
        path.join(config, "file-history", one),
        path.join(project, one),
      ]) {
        assert.isFalse(fs.existsSync(file), file)
      }
      assert.deepStrictEqual(
        fs.readdirSync(project).filter((name) => name.includes(one)),
        [],
      )
      assert.deepStrictEqual(fs.readdirSync(path.join(config, "troupe/sessions")), [])

      const running = yield* start(["-p", "wait", "--session-id", two, "--dangerously-skip-permissions"])
      yield* appeared(path.join(work, "here"))
      for (const argv of [
        ["delete", two, "--yes"],
        ["rename", two, "x"],
      ]) {
        const refused = yield* sessions(...argv)
        endedWith(refused, 1)
        assert.include(refused.err, `session ${two} is in use by process ${running.pid}`)
      }
      write("go", "")
      endedWith(yield* running.ended, 0)
      assert.isTrue(fs.existsSync(journal(two)))
    }),
  )

  it.live("cleans up what nobody has used for long, and only when it is certain how long that is", () =>
    Effect.gen(function* () {
      const { age, config, journal, said, sessions, write } = yield* begun()
      yield* said("old", one)
      yield* said("young", two)
      age(one, 31)
      age(two, 29)
      const would = yield* sessions("cleanup", "--dry-run")
      endedWith(would, 0)
      assert.match(would.out, /11111111[^\n]*old[^\n]*\nWould delete 1 session not used for 30 days/)
      const settings = path.join(config, "settings.json")
      for (const wrong of ['{"cleanupPeriodDays":0}', '{"cleanupPeriodDays":1.5}', '{"cleanupPeriodDays":']) {
        write(settings, wrong)
        const refused = yield* sessions("cleanup")
        endedWith(refused, 1)
        assert.match(refused.err, /nothing is deleted: .*settings\.json/)
      }
      assert.isTrue(fs.existsSync(journal(one)))
      write(settings, '{"cleanupPeriodDays":20}')
      assert.deepInclude(JSON.parse((yield* sessions("cleanup", "--dry-run", "--json")).out), {
        days: 20,
        dryRun: true,
      })
      write(settings, '{"cleanupPeriodDays":30}')
      endedWith(yield* sessions("cleanup"), 0)
      assert.isFalse(fs.existsSync(journal(one)))
      assert.isTrue(fs.existsSync(journal(two)))
    }),
  )

  it.live("cleans up by itself beside a session, which stays itself", () =>
    Effect.gen(function* () {
      const { age, config, journal, said, start, work, write } = yield* begun()
      yield* said("old", one)
      age(one, 31)
      fs.rmSync(path.join(config, "troupe/sessions.cleaned"), { force: true })
      const running = yield* start(["-p", "wait", "--session-id", two, "--dangerously-skip-permissions"])
      yield* appeared(path.join(work, "here"))
      // No signal tells when a background cleaning is done, only what it has done.
      yield* Effect.repeat(
        Effect.sync(() => fs.existsSync(journal(one))),
        { while: (there) => there, schedule: Schedule.spaced("20 millis") },
      )
      write("go", "")
      endedWith(yield* running.ended, 0)
      assert.isTrue(fs.existsSync(journal(two)))
    }),
  )

  it.live.skipIf(noTerminal)(
    "shows what was said before when one goes on, and names, tags and exports it at the prompt",
    () =>
      Effect.gen(function* () {
        const here = yield* begun()
        yield* here.said("what is flaky?", one)
        const at = yield* terminal(here, ["--resume", one])
        yield* at.shows(/Earlier:[^]*› what is flaky\?[^]*one that passes on Tuesdays\./)
        for (const [keys, answer] of [
          ["/rename On flakes", "title: On flakes"],
          ["/tag ci #slow", "#ci #slow"],
          ["/tag ci", /\n[^\n#]*#slow/],
          ["/export talk.html", "written to"],
        ] as const) {
          yield* at.shows("› ")
          yield* at.press(`${keys}\r`)
          yield* at.shows(answer)
        }
        yield* at.shows("› ")
        yield* at.press("\u0004")
        assert.strictEqual((yield* at.ended).code, 0)
        assert.include(here.read("talk.html"), "<title>On flakes</title>")
        const [named] = JSON.parse((yield* here.sessions("list", "--json")).out)
        assert.deepInclude(named, { title: "On flakes", tags: ["slow"] })
      }),
  )
})
