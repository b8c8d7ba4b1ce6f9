import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import type { Invocation, SkillsShape } from "../../src/skills/Skills.ts"
import { inFolder } from "./kit.ts"

const skill = (head: string, body = "Do it.\n") => `---\n${head}\n---\n${body}`

const told = (skills: SkillsShape, name: string, args = "", by: "model" | "person" = "model") =>
  Effect.map(skills.invoke(name, args, by), ({ messages }) => messages.join("\n"))
const refusal = (skills: SkillsShape, name: string, by: "model" | "person" = "model") =>
  Effect.map(Effect.flip(skills.invoke(name, "", by)), ({ message, reason }) => `${reason}: ${message}`)

describe("Skills", () => {
  it.live("gives the model a skill's text with everything filled in", () =>
    inFolder(
      {
        ".claude/skills/fix/SKILL.md": skill("description: x\narguments: [issue]\neffort: high", "Fix $issue in ${CLAUDE_PROJECT_DIR} (${CLAUDE_SESSION_ID}, ${CLAUDE_EFFORT}) with ${CLAUDE_SKILL_DIR}/x. Data: ${CLAUDE_PLUGIN_DATA}\n"),
        ".claude/commands/plain.md": "Say hello.\n",
      }, // prettier-ignore
      (folder) =>
        Effect.gen(function* () {
          const skills = yield* folder.session()
          const directory = folder.at(".claude/skills/fix")
          assert.strictEqual(
            yield* told(skills, "fix", "12 more"),
            `Base directory for this skill: ${directory}\n\nFix 12 in ${folder.root} (session-1, high) with ${directory}/x. Data: \${CLAUDE_PLUGIN_DATA}`,
          )
          assert.strictEqual(yield* told(skills, "plain", "to Ada"), "Say hello.\n\nARGUMENTS: to Ada")
          assert.strictEqual(yield* told(skills, "/plain"), "Say hello.")
        }),
    ),
  )

  it.live("does not say the same again while the model has it before it", () =>
    inFolder({ ".claude/commands/a.md": "Text $0.\n" }, (folder) =>
      Effect.gen(function* () {
        const skills = yield* folder.session()
        assert.strictEqual(yield* told(skills, "a", "1"), "Text 1.")
        assert.match(yield* told(skills, "a", "1"), /loaded already/)
        assert.strictEqual(yield* told(skills, "a", "2"), "Text 2.")
        const usage = yield* skills.usage
        assert.deepStrictEqual(
          usage.map(({ byModel, invocations, name }) => [name, invocations, byModel]),
          [["a", 3, 3]],
        )
        assert.isAbove(usage[0]?.tokens ?? 0, usage[0]?.lastTokens ?? 0)
        // After a compaction it stands there again, and still counts as there.
        assert.deepStrictEqual(
          (yield* skills.compacted).map(({ content }) => content),
          ["Text 2."],
        )
        assert.match(yield* told(skills, "a", "2"), /loaded already/)
      }),
    ),
  )

  it.live("keeps the newest of what was used through a compaction, within its limits", () =>
    inFolder({}, (folder) =>
      Effect.gen(function* () {
        for (let at = 0; at < 8; at++) folder.put(`.claude/commands/c${at}.md`, `c${at} ${"some words ".repeat(4_000)}`)
        const skills = yield* folder.session()
        for (let at = 0; at < 8; at++) yield* skills.invoke(`c${at}`, "", "person")
        const kept = yield* skills.compacted
        assert.strictEqual(kept[0]?.name, "c7")
        assert.isTrue(kept.every(({ cut, tokens }) => cut && tokens <= 5_000))
        assert.isTrue(kept.slice(0, 4).every(({ tokens }) => tokens > 4_500))
        assert.isAtMost(
          kept.reduce((sum, { tokens }) => sum + tokens, 0),
          25_000,
        )
        assert.isAtLeast(kept.length, 5)
        // Only its beginning is there, so using it again brings the whole text.
        assert.notMatch(yield* told(skills, "c7"), /loaded already/)
      }),
    ),
  )

  it.live("refuses what is not meant for whoever asks, with the way out", () =>
    inFolder(
      {
        ".claude/skills/deploy/SKILL.md": skill("description: x\ndisable-model-invocation: true"),
        ".claude/skills/facts/SKILL.md": skill("description: x\nuser-invocable: false"),
        ".claude/skills/off/SKILL.md": skill("description: x"),
        ".claude/skills/denied/SKILL.md": skill("description: x"),
        ".claude/skills/mine/SKILL.md": skill("description: x"),
      },
      (folder) =>
        Effect.gen(function* () {
          const overrides = { off: "off", mine: "user-invocable-only" }
          const skills = yield* folder.session(
            { within: ["facts"], isDenied: (name) => name === "denied" },
            { skillOverrides: overrides },
          )
          assert.match(yield* refusal(skills, "deploy"), /^NotForModel: .*type \/deploy/)
          assert.match(yield* refusal(skills, "facts", "person"), /^NotForPeople/)
          assert.match(yield* refusal(skills, "off", "person"), /^Off: .*skillOverrides/)
          assert.match(yield* refusal(skills, "mine"), /^NotForModel/)
          assert.match(yield* refusal(skills, "facts"), /^Recursive: .*already/)
          assert.match(yield* refusal(skills, "deplyo"), /^Unknown: .*Did you mean deploy\?/)
          assert.isNotEmpty(yield* told(skills, "deploy", "", "person"))
          const { text } = yield* skills.listing
          assert.deepStrictEqual(
            text.split("\n").map((line) => line.split(":")[0]),
            ["- customize"],
          )
        }),
    ),
  )

  it.live("ends a skill that goes round in circles", () =>
    inFolder({ ".claude/commands/loop.md": "Use the skill loop with $0 and one more.\n" }, (folder) =>
      Effect.gen(function* () {
        const skills = yield* folder.session()
        const uses = yield* Effect.forEach(Array.from({ length: 20 }), (_, at) =>
          Effect.result(skills.invoke("loop", String(at), "model")),
        )
        assert.lengthOf(
          uses.filter(({ _tag }) => _tag === "Success"),
          8,
        )
        yield* skills.turnBegan
        assert.match(yield* told(skills, "loop", "again"), /Use the skill/)
      }),
    ),
  )

  it.live("understands what a person types behind a slash", () =>
    inFolder(
      {
        ".claude/commands/write-tests.md": "Tests for $ARGUMENTS.\n",
        ".claude/commands/fix-issue.md": "Fix $ARGUMENTS.\n",
        ".claude/commands/ops/backup.md": "Back up.\n",
        ".claude/skills/research/SKILL.md": skill(
          "description: x\ncontext: fork\nagent: Explore",
          "Research $ARGUMENTS.",
        ),
      },
      (folder) =>
        Effect.gen(function* () {
          const skills = yield* folder.session({ builtins: ["help", "compact"] })
          const typed = Effect.fnUntraced(function* (text: string) {
            const meant = yield* skills.expandPrompt(text)
            if (meant?._tag !== "Command") return meant?.message
            return (yield* meant.use).flatMap(({ messages }) => messages)
          })
          assert.deepStrictEqual(yield* typed("/fix-issue 123 now "), ["Fix 123 now."])
          assert.deepStrictEqual(yield* typed("/write-tests /fix-issue 7"), ["Tests for 7.", "Fix 7."])
          assert.deepStrictEqual(yield* typed("/write-tests /research 8"), ["Tests for /research 8."])
          assert.deepStrictEqual(yield* typed("/ops:backup"), ["Back up."])
          assert.match(String(yield* typed("/backup")), /loaded already/)
          for (const text of ["hello", "/help me", "/usr/bin/env is missing", "/ x", "// note", "/*", "a /fix-issue"]) {
            assert.isUndefined(yield* typed(text), text)
          }
          assert.strictEqual(
            yield* typed("/fix-isue 1"),
            "There is no command /fix-isue. Did you mean /fix-issue? /help lists them all.",
          )
          assert.match(String(yield* typed("/halp")), /\/help/)
          const research = yield* skills.expandPrompt("/research the parser")
          const [one] = research?._tag === "Command" ? yield* research.use : []
          assert.deepStrictEqual(one?.fork, { agent: "Explore", background: true })
        }),
    ),
  )

  it.live("brings along what it opens, but nothing that nobody has agreed to", () =>
    inFolder(
      {
        ".claude/skills/commit/SKILL.md": skill(
          "description: x\nallowed-tools: Bash(git add *) Bash(${CLAUDE_SKILL_DIR}/run.sh *)\ndisallowed-tools: WebFetch\nmodel: haiku\nhooks: { Stop: [] }",
          "Status: !`echo ran`\n",
        ),
      },
      (folder) =>
        Effect.gen(function* () {
          const brought: Array<Invocation> = []
          const bring = (invocation: Invocation) => Effect.sync(() => void brought.push(invocation))
          const agreed = yield* folder.session({ bring })
          const { messages } = yield* agreed.invoke("commit", "", "person")
          assert.match(messages[0] ?? "", /Status: ran$/)
          const [one] = brought
          assert.deepStrictEqual(one?.allowedTools, [
            `Bash(git add *)`,
            `Bash(${folder.at(".claude/skills/commit")}/run.sh *)`,
          ])
          assert.deepStrictEqual([one?.disallowedTools, one?.model, one?.hooks], [["WebFetch"], "haiku", { Stop: [] }])
          assert.deepStrictEqual(yield* agreed.reviews, [])

          const stranger = yield* folder.session({ trusted: () => false })
          const withheld = yield* stranger.invoke("commit", "", "model")
          assert.match(withheld.messages[0] ?? "", /\[not run, because nobody has agreed to it yet: echo ran\]/)
          assert.deepStrictEqual(
            [withheld.allowedTools, withheld.hooks, withheld.disallowedTools],
            [[], undefined, ["WebFetch"]],
          )
          const [review] = yield* stranger.reviews
          assert.deepStrictEqual(review?.keys, ["allowed-tools", "hooks", "shell"])
          assert.strictEqual(review?.source.name, folder.at(".claude/skills/commit/SKILL.md"))
          assert.deepStrictEqual(withheld.withheld, review)
        }),
    ),
  )

  it.live("asks again only when what executes has changed", () =>
    inFolder({ ".claude/skills/a/SKILL.md": skill("description: x", "!`ls`\nProse.\n") }, (folder) =>
      Effect.gen(function* () {
        const reviewed = Effect.gen(function* () {
          const skills = yield* folder.session({ trusted: () => false })
          return (yield* skills.reviews)[0]?.hash
        })
        const first = yield* reviewed
        folder.put(".claude/skills/a/SKILL.md", skill("description: other", "More prose.\n\n!`ls`\n"))
        assert.strictEqual(yield* reviewed, first)
        folder.put(".claude/skills/a/SKILL.md", skill("description: other", "!`ls -la`\n"))
        assert.notStrictEqual(yield* reviewed, first)
        folder.put(".claude/skills/a/SKILL.md", skill("description: other", "Nothing.\n"))
        assert.isUndefined(yield* reviewed)
      }),
    ),
  )

  it.live("lists every name, and the descriptions of what matters most while there is room", () =>
    inFolder({}, (folder) =>
      Effect.gen(function* () {
        for (let at = 0; at < 30; at++)
          folder.put(`.claude/skills/s${at}/SKILL.md`, skill(`description: ${"about things ".repeat(20)}${at}`))
        folder.put(".claude/skills/used/SKILL.md", skill("description: The one in use"))
        folder.put(".claude/skills/quiet/SKILL.md", skill("description: never said"))
        folder.put(".claude/skills/long/SKILL.md", skill(`description: ${"word ".repeat(1_000)}`))
        const skills = yield* folder.session({ contextWindow: 50_000 }, { skillOverrides: { quiet: "name-only" } })
        yield* skills.invoke("used", "", "person")
        const { shortened, text } = yield* skills.listing
        const lines = text.split("\n")
        assert.lengthOf(lines, 34)
        assert.include(lines, "- used: The one in use")
        assert.include(lines, "- quiet")
        assert.isAtMost(text.length, 2_000)
        assert.isAbove(shortened.length, 20)
        const wide = yield* (yield* folder.session({ contextWindow: 1_000_000 })).listing
        const long = wide.text.split("\n").find((line) => line.startsWith("- long:"))
        assert.isAtMost(long?.length ?? 0, 1_536 + "- long: ".length)
        assert.match(long ?? "", /…$/)
      }),
    ),
  )

  it.live("tells the model what has changed, once, also when the session is resumed", () =>
    inFolder(
      {
        ".claude/skills/a/SKILL.md": skill("description: one"),
        ".claude/skills/b/SKILL.md": skill("description: two"),
      },
      (folder) =>
        Effect.gen(function* () {
          const skills = yield* folder.session()
          const { text } = yield* skills.listing
          assert.isUndefined(yield* skills.announcement)
          fs.rmSync(folder.at(".claude/skills/b"), { recursive: true })
          folder.put(".claude/skills/c/SKILL.md", skill("description: three"))
          folder.put(".claude/skills/a/SKILL.md", skill("description: another one"))
          assert.deepStrictEqual(yield* skills.reload, { added: ["c"], removed: ["b"] })
          const news = yield* skills.announcement
          assert.strictEqual(
            news,
            "The skills you can use have changed:\n- a: another one\n- c: three\n- b (no longer available)",
          )
          assert.isUndefined(yield* skills.announcement)
          const resumed = yield* folder.session({ told: [text, news ?? ""] })
          assert.isUndefined(yield* resumed.announcement)
          folder.put(".claude/skills/d/SKILL.md", skill("description: four"))
          const later = yield* folder.session({ told: [text, news ?? ""] })
          assert.strictEqual(yield* later.announcement, "The skills you can use have changed:\n- d: four")
        }),
    ),
  )

  it.live("brings in the skills of a directory when work comes there, and those that wait for files", () =>
    inFolder(
      {
        ".claude/skills/deploy/SKILL.md": skill("description: root"),
        ".claude/skills/styles/SKILL.md": skill("description: css\npaths: src/**/*.{css,scss}"),
        "apps/web/.claude/skills/deploy/SKILL.md": skill("description: web"),
        "apps/web/src/a.ts": "",
      },
      (folder) =>
        Effect.gen(function* () {
          const skills = yield* folder.session()
          const { text } = yield* skills.listing
          assert.notInclude(text, "styles")
          assert.isUndefined(yield* skills.find("apps/web:deploy"))
          assert.deepStrictEqual(yield* skills.touched([folder.at("README.md"), folder.at("src/x/a.ts")]), [])
          assert.deepStrictEqual(yield* skills.touched([folder.at("src/x/a.css")]), ["styles"])
          assert.deepStrictEqual(yield* skills.touched([folder.at("apps/web/src/a.ts")]), ["apps/web:deploy"])
          assert.deepStrictEqual(yield* skills.touched([folder.at("apps/web/src/b.ts")]), [])
          assert.match((yield* skills.announcement) ?? "", /- apps\/web:deploy: web.*\n- styles: css/)
          assert.match(yield* told(skills, "deploy"), /- apps\/web:deploy: for files in apps\/web/)
        }),
    ),
  )

  it.live("suggests a skill that fits the task by its words", () =>
    inFolder(
      { ".claude/skills/changelog/SKILL.md": skill("description: Writes the changelog of a release from the commits") },
      (folder) =>
        Effect.gen(function* () {
          const skills = yield* folder.session()
          const { considered, hint } = yield* skills.consider("write the changelog for this release")
          assert.strictEqual(considered[0]?.name, "changelog")
          assert.match(hint ?? "", /the skill changelog/)
          assert.isUndefined((yield* skills.consider("why is the sky blue?")).hint)
          const strict = yield* folder.session({}, { troupe: { skills: { threshold: 0.99 } } })
          assert.isUndefined((yield* strict.consider("write the changelog for this release")).hint)
        }),
    ),
  )

  it.live("attaches the files it refers to, and none from elsewhere", () =>
    inFolder(
      {
        ".claude/commands/review.md": 'Compare @src/old.ts with @$0, "@src/none.ts", @/etc/passwd, @../out.txt, @link.txt and @.env. mail@src/old.ts\n!`echo @src/secret.ts`\n',
        "src/old.ts": "old content\n",
        "src/new.ts": "new content\n",
        "src/secret.ts": "not this one\n",
        ".env": "TOKEN=hunter2\n",
      }, // prettier-ignore
      (folder) =>
        Effect.gen(function* () {
          fs.writeFileSync(folder.at("../out.txt"), "outside")
          fs.symlinkSync(folder.at("../out.txt"), folder.at("link.txt"))
          const skills = yield* folder.session()
          const text = yield* told(skills, "review", "src/new.ts")
          assert.match(text, /<file path="src\/old\.ts">\nold content\n<\/file>/)
          assert.match(text, /<file path="src\/new\.ts">\nnew content\n<\/file>/)
          assert.strictEqual(text.split("<file ").length, 3)
          for (const secret of ["hunter2", "outside", "not this one", "root:"]) assert.notInclude(text, secret)
        }),
    ),
  )

  it.live("lists commands and skills for people with where they come from", () =>
    inFolder(
      {
        ".claude/commands/a.md": "---\nargument-hint: <file>\n---\nDoes a.\n",
        ".claude/skills/b/SKILL.md": skill("description: b\nuser-invocable: false"),
      },
      (folder) =>
        Effect.gen(function* () {
          folder.mine("skills/c/SKILL.md", skill("description: Does c"))
          const skills = yield* folder.session({}, { disableBundledSkills: true })
          const help = yield* skills.help
          assert.deepStrictEqual(
            help.map(({ description, form, hint, name, origin }) => [name, hint, description, origin, form]),
            [
              ["a", "<file>", "Does a.", "project", "command"],
              ["c", undefined, "Does c", "user", "skill"],
            ],
          )
        }),
    ),
  )
})
