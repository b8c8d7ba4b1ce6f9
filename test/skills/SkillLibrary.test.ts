import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { leadOf } from "../../src/skills/SkillLibrary.ts"
import { type Folder, inFolder } from "./kit.ts"

const skill = (description: string) => `---\ndescription: ${description}\n---\nDo it.\n`

const load = (folder: Folder, more: Partial<Parameters<Folder["library"]["load"]>[0]> = {}) =>
  folder.library.load({ cwd: folder.root, managedDirectory: folder.managed, bundled: false, ...more })

const descriptions = (loaded: {
  readonly active: ReadonlyArray<{ readonly name: string; readonly description: string }>
}) => Object.fromEntries(loaded.active.map(({ description, name }) => [name, description]))

describe("SkillLibrary", () => {
  it.live("says of hooks what will not run", () =>
    inFolder(
      {
        ".claude/skills/a/SKILL.md":
          "---\ndescription: x\nhooks:\n  Stop:\n    - hooks: [{ type: cmd }]\n---\nDo it.\n",
      },
      (folder) =>
        Effect.gen(function* () {
          const [one] = (yield* load(folder)).active
          assert.deepInclude(one?.problems[0], {
            line: 3,
            message:
              '"hooks": Stop.0.hooks.0: has the type "cmd", which is none of command, http, mcp_tool, prompt, agent. It is ignored.',
          })
        }),
    ),
  )

  it.live("puts the machine's before the person's, theirs before the project's, a skill before a command", () =>
    inFolder(
      {
        ".claude/skills/a/SKILL.md": skill("project"),
        ".claude/skills/b/SKILL.md": skill("project"),
        ".claude/skills/c/SKILL.md": skill("project"),
        ".claude/commands/c.md": skill("project command"),
        ".claude/commands/d.md": skill("project command"),
        "more/.claude/skills/b/SKILL.md": skill("added"),
        "more/.claude/skills/e/SKILL.md": skill("added"),
        "more/.claude/commands/customize.md": skill("not the product's"),
      },
      (folder) =>
        Effect.gen(function* () {
          folder.mine("skills/a/SKILL.md", skill("mine"))
          folder.mine("skills/b/SKILL.md", skill("mine"))
          folder.mine("commands/c.md", skill("my command"))
          folder.mine("commands/d.md", skill("my command"))
          fs.mkdirSync(path.join(folder.managed, ".claude/skills/a"), { recursive: true })
          fs.writeFileSync(path.join(folder.managed, ".claude/skills/a/SKILL.md"), skill("managed"))
          const loaded = yield* load(folder, { addDirs: ["more"], bundled: true })
          const { init, ...rest } = descriptions(loaded)
          assert.match(init ?? "", /CLAUDE\.md/)
          assert.deepStrictEqual(rest, {
            a: "managed",
            b: "mine",
            c: "project",
            customize: "not the product's",
            d: "my command",
            e: "added",
          })
          const hidden = loaded.all.filter(({ shadowedBy }) => shadowedBy !== undefined)
          assert.strictEqual(hidden.length, 8)
          const a = hidden.find(({ skill: { name, source } }) => name === "a" && source.origin === "user")
          assert.strictEqual(a?.shadowedBy, path.join(folder.managed, ".claude/skills/a/SKILL.md"))
        }),
    ),
  )

  it.live("looks in every directory up to the root of the repository, the nearest first", () =>
    inFolder(
      {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".claude/skills/top/SKILL.md": skill("top"),
        ".claude/skills/both/SKILL.md": skill("far"),
        "packages/app/.claude/skills/both/SKILL.md": skill("near"),
        "packages/app/.claude/commands/here.md": "Here.\n",
      },
      (folder) =>
        Effect.gen(function* () {
          const inside = yield* load(folder, { cwd: folder.at("packages/app") })
          assert.deepStrictEqual(descriptions(inside), { both: "near", here: "Here.", top: "top" })
          fs.rmSync(folder.at(".git"), { recursive: true })
          const alone = yield* load(folder, { cwd: folder.at("packages/app") })
          assert.deepStrictEqual(Object.keys(descriptions(alone)), ["both", "here"])
        }),
    ),
  )

  it.live("calls a skill of a directory below by its directory where its name is taken", () =>
    inFolder(
      {
        ".claude/skills/deploy/SKILL.md": skill("root"),
        "apps/web/.claude/skills/deploy/SKILL.md": skill("web"),
        "apps/web/.claude/skills/lint/SKILL.md": skill("lint"),
      },
      (folder) =>
        Effect.gen(function* () {
          const loaded = yield* load(folder, { nested: [folder.at("apps/web")] })
          assert.deepStrictEqual(descriptions(loaded), {
            "apps/web:deploy": "web (for files in apps/web)",
            deploy: "root",
            lint: "lint",
          })
        }),
    ),
  )

  it.live("counts a directory once that is reached by two ways", () =>
    inFolder({ "shared/deploy/SKILL.md": skill("shared") }, (folder) =>
      Effect.gen(function* () {
        fs.mkdirSync(folder.at(".claude/skills"), { recursive: true })
        fs.mkdirSync(path.join(folder.config, "skills"), { recursive: true })
        fs.symlinkSync(folder.at("shared/deploy"), folder.at(".claude/skills/deploy"))
        fs.symlinkSync(folder.at("shared/deploy"), path.join(folder.config, "skills/ship"))
        const loaded = yield* load(folder)
        assert.deepStrictEqual(descriptions(loaded), { ship: "shared" })
        assert.lengthOf(loaded.all, 1)
      }),
    ),
  )

  it.live("leaves out what the flags and the policy leave out", () =>
    inFolder({ ".claude/skills/p/SKILL.md": skill("project") }, (folder) =>
      Effect.gen(function* () {
        folder.mine("skills/u/SKILL.md", skill("mine"))
        const names = (more: Partial<Parameters<Folder["library"]["load"]>[0]>) =>
          Effect.map(load(folder, more), (loaded) => Object.keys(descriptions(loaded)))
        assert.deepStrictEqual(yield* names({ sources: ["user"] }), ["u"])
        assert.deepStrictEqual(yield* names({ sources: ["project"] }), ["p"])
        assert.deepStrictEqual(yield* names({ sources: [] }), [])
        assert.deepStrictEqual(yield* names({ locked: true, bundled: true }), ["customize", "init"])
      }),
    ),
  )

  it.live("takes in what plugins and servers bring, for as long as their scope lasts", () =>
    inFolder(
      {
        "plugin/skills/review/SKILL.md": "---\nname: fancy\ndescription: A plugin's\n---\nIn ${CLAUDE_PLUGIN_ROOT}.\n",
        ".claude/skills/review/SKILL.md": skill("project"),
      },
      (folder) =>
        Effect.gen(function* () {
          const plugin = { name: "tools", root: folder.at("plugin"), data: folder.at("data") }
          yield* Effect.scoped(
            Effect.gen(function* () {
              yield* folder.library.register([
                { plugin, form: "skill", directory: folder.at("plugin/skills") },
                {
                  origin: "mcp",
                  name: "mcp__github__triage",
                  data: { description: "From a server", "allowed-tools": "Bash" },
                  body: Effect.succeed("!`id`"),
                },
                { origin: "mcp", name: "review", data: { description: "A server's" }, body: Effect.succeed("x") },
              ])
              assert.deepStrictEqual(descriptions(yield* load(folder)), {
                mcp__github__triage: "From a server",
                review: "project",
                "tools:fancy": "A plugin's",
              })
              const skills = yield* folder.session()
              assert.strictEqual((yield* skills.find("fancy"))?.name, "tools:fancy")
              const { messages } = yield* skills.invoke("tools:fancy", "", "model")
              assert.match(messages.join(""), new RegExp(`In ${folder.at("plugin")}\\.`))
              const served = yield* skills.invoke("mcp__github__triage", "", "model")
              assert.deepStrictEqual([served.messages, served.allowedTools], [["!`id`"], []])
            }),
          )
          assert.deepStrictEqual(Object.keys(descriptions(yield* load(folder))), ["review"])
        }),
    ),
  )

  it.live("reads a body when it is used, as it is then", () =>
    inFolder({ ".claude/skills/a/SKILL.md": "---\ndescription: x\n---\nOld.\n" }, (folder) =>
      Effect.gen(function* () {
        const { active } = yield* load(folder)
        folder.put(".claude/skills/a/SKILL.md", "---\ndescription: x\n---\nNew.\n")
        const [first] = active
        assert.strictEqual(first === undefined ? "" : yield* folder.library.body(first), "New.\n")
      }),
    ),
  )

  it.live("reads 200 skills quickly when it has seen them before", () =>
    inFolder({}, (folder) =>
      Effect.gen(function* () {
        for (let at = 0; at < 200; at++) folder.put(`.claude/skills/s${at}/SKILL.md`, `---\ndescription: Skill ${at} does things\nallowed-tools: Read, Bash(git log *)\n---\n${"Text.\n".repeat(50)}`) // prettier-ignore
        assert.lengthOf((yield* load(folder)).active, 200)
        assert.lengthOf((yield* load(folder)).active, 200)
      }),
    ),
  )

  it("finds the first paragraph", () => {
    assert.strictEqual(leadOf("<!-- x -->\n# T\nText right below.\n\nMore"), "Text right below.")
    assert.strictEqual(leadOf("# Only a title\n"), "Only a title")
    assert.strictEqual(leadOf("\n\n---\n\nAfter a rule."), "After a rule.")
    assert.isUndefined(leadOf(" \n\n"))
  })
})
