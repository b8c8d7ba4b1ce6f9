import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Permissions from "../../src/permissions/Permissions.ts"
import * as RuleBook from "../../src/permissions/RuleBook.ts"
import { Git } from "../../src/platform/Git.ts"
import * as RecorderModule from "../../src/session/Recorder.ts"
import * as ShellPermission from "../../src/skills/ShellPermission.ts"
import { Skills } from "../../src/skills/Skills.ts"
import { SkillTool } from "../../src/skills/SkillTool.ts"
import { Bash } from "../../src/tools/builtin/Bash.ts"
import * as Examine from "../../src/tools/Examine.ts"
import { ToolCatalog } from "../../src/tools/ToolCatalog.ts"
import { inFolder } from "./kit.ts"

const rule = (behavior: "allow" | "ask" | "deny", text: string) =>
  ({ behavior, text, source: { kind: "user" } }) as const

describe("The permission of a command in a skill's text", () => {
  it.live("comes from the rules in force and those of the skill, and nobody is asked", () =>
    inFolder({ ".claude/commands/x.md": "---\nallowed-tools: Bash(npm test *)\n---\n!`npm test x`" }, (folder) =>
      Effect.scoped(
        Effect.gen(function* () {
          const book = RuleBook.make({
            cwd: folder.root,
            home: folder.config,
            settings: {
              ...RuleBook.noSettings,
              rules: [rule("deny", "Bash(rm *)"), rule("ask", "Bash(npm publish *)")],
            },
            own: [rule("deny", "Skill(secret *)")],
          })
          const catalog = yield* ToolCatalog
          yield* catalog.register(Bash)
          const skills = yield* folder.session()
          yield* catalog.register(SkillTool).pipe(Effect.provideService(Skills, skills))
          const permissions = Layer.effect(
            Permissions.Permissions,
            Permissions.make(book, { home: folder.config, roots: [folder.root], cwd: () => folder.root }),
          ).pipe(Layer.provideMerge(Layer.succeed(RecorderModule.Recorder, RecorderModule.nowhere("x"))))
          yield* Effect.gen(function* () {
            const mayRun = yield* ShellPermission.make(book)
            const says = (command: string, ...allowed: ReadonlyArray<string>) =>
              Effect.map(mayRun(command, allowed), ({ behavior }) => behavior)
            assert.strictEqual(yield* says("ls"), "allow")
            assert.strictEqual(yield* says("npm test x"), "ask")
            assert.strictEqual(yield* says("npm test x", "Bash(npm test *)"), "allow")
            assert.strictEqual(yield* says("npm test x"), "ask")
            assert.strictEqual(yield* says("npm test x; id -u > y", "Bash(npm test *)"), "ask")
            assert.strictEqual(yield* says("rm x", "Bash"), "deny")
            assert.strictEqual(yield* says("npm publish x", "Bash"), "ask")

            // Rules about skills know which one is meant.
            const examine = yield* Examine.make
            const { settle } = yield* Permissions.Permissions
            const judged = Effect.fnUntraced(function* (skill: string) {
              const prepared = yield* examine({ id: "1", name: "Skill", input: { skill, args: "now" } }, 0)
              return prepared._tag === "Ready" ? (yield* settle(prepared.ask.call)).decision : prepared.why
            })
            assert.deepStrictEqual([yield* judged("x"), yield* judged("secret")], ["allow", "deny"])
          }).pipe(Effect.provide(Layer.merge(permissions, Git.layer)))
        }),
      ),
    ),
  )

  it("is lent and taken back", () => {
    const book = RuleBook.make({ cwd: "/", home: "/", settings: RuleBook.noSettings, own: [] })
    const rules = [rule("allow", "Read")]
    const first = book.lend(rules)
    const second = book.lend(rules)
    assert.lengthOf(book.rules().entries, 2)
    first()
    first()
    assert.lengthOf(book.rules().entries, 1)
    second()
    assert.lengthOf(book.rules().entries, 0)
  })
})
