import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Skills, type SkillsShape } from "../../src/skills/Skills.ts"
import { SkillFork, SkillTool } from "../../src/skills/SkillTool.ts"
import { ToolFailure } from "../../src/tools/Tool.ts"
import { inFolder } from "./kit.ts"

const call = (skills: SkillsShape, input: unknown) =>
  Effect.gen(function* () {
    const { effects, run, summary } = yield* SkillTool.decode(input)
    const output = yield* run({ toolUseId: "t1", progress: () => Effect.void })
    return { ...output, summary, effects: yield* effects }
  }).pipe(Effect.provideService(Skills, skills))

const files = {
  ".claude/skills/fix/SKILL.md": "---\ndescription: x\nallowed-tools: Read\nmodel: opus\n---\nFix $0.\n",
  ".claude/skills/study/SKILL.md": "---\ndescription: x\ncontext: fork\n---\nStudy $ARGUMENTS.\n",
  ".claude/skills/mine/SKILL.md": "---\ndescription: x\ndisable-model-invocation: true\n---\nMine.\n",
}

describe("The Skill tool", () => {
  it.live("answers with the skill's name, and its text follows as a message", () =>
    inFolder(files, (folder) =>
      Effect.gen(function* () {
        const skills = yield* folder.session()
        const first = yield* call(skills, { skill: "/fix", args: "7" })
        assert.strictEqual(first.content, "Using the skill fix. Its instructions follow.")
        assert.match(first.messages?.[0] ?? "", /Fix 7\.$/)
        assert.deepInclude(first.structured, { success: true, commandName: "fix", status: "inline", model: "opus" })
        assert.deepStrictEqual([first.summary, first.effects], ["Skill fix 7", { skill: "fix 7" }])
        const second = yield* call(skills, { skill: "fix", args: "7" })
        assert.match(String(second.content), /loaded already/)
        assert.isUndefined(second.messages)
      }),
    ),
  )

  it.live("says why a skill is not used", () =>
    inFolder(files, (folder) =>
      Effect.gen(function* () {
        const skills = yield* folder.session()
        const error = yield* Effect.flip(call(skills, { skill: "mine" }))
        assert.instanceOf(error, ToolFailure)
        assert.match(error.message, /Only the user/)
        assert.match((yield* Effect.flip(call(skills, { skill: "fixx" }))).message, /Did you mean fix\?/)
        assert.match((yield* Effect.flip(call(skills, {}))).message, /do not fit Skill/)
      }),
    ),
  )

  it.live("runs a fork elsewhere where that is possible, else here", () =>
    inFolder(files, (folder) =>
      Effect.gen(function* () {
        const skills = yield* folder.session()
        const fork = (invocation: { readonly messages: ReadonlyArray<string> }) =>
          Effect.succeed(`done: ${invocation.messages[0]?.split("\n").at(-1)}`)
        const there = yield* Effect.provideService(call(skills, { skill: "study", args: "it" }), SkillFork, fork)
        assert.deepInclude(there.structured, { status: "forked", result: "done: Study it." })
        assert.isUndefined(there.messages)
        const here = yield* call(skills, { skill: "study", args: "it" })
        assert.match(here.messages?.[0] ?? "", /Study it\.$/)
      }),
    ),
  )
})
