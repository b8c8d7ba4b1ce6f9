import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { answer, type SkillsJob } from "../../src/cli/SkillsView.ts"
import { inFolder } from "../skills/kit.ts"

const job = (what: SkillsJob["what"], about?: string, json = false): SkillsJob => ({
  what,
  about,
  json,
  addDirs: [],
  settingSources: ["project"],
})

const files = {
  ".claude/skills/deploy/SKILL.md":
    "---\ndescription: Deploys to staging\nargument-hint: <env>\nalowed-tools: Read\n---\nDeploy $0 with care.\n",
  ".claude/commands/deploy.md": "An old command.\n",
  ".claude/commands/empty.md": "",
}

describe("troupe skills", () => {
  it.live("lists what there is, what is hidden, and that something is wrong", () =>
    inFolder(files, () =>
      Effect.gen(function* () {
        const { code, text } = yield* answer(job("list"), 80)
        assert.strictEqual(code, 0)
        assert.match(text, /\/deploy <env> {2}\(project skill\)\n {6}Deploys to staging/)
        assert.match(text, /\/init .*\(bundled skill, only typed\)/)
        assert.match(text, /Hidden by another one[^]*commands\/deploy\.md \(.*SKILL\.md counts\)/)
        assert.match(text, /2 problems: see troupe skills validate/)
        const listed: unknown = JSON.parse((yield* answer(job("list", undefined, true), 80)).text)
        assert.hasAllKeys(listed, ["active", "all", "failed"])
      }),
    ),
  )

  it.live("shows one of them, or the nearest name", () =>
    inFolder(files, () =>
      Effect.gen(function* () {
        const { text } = yield* answer(job("show", "deploy"), 80)
        assert.match(text, /file: .*\.claude\/skills\/deploy\/SKILL\.md\n/)
        assert.match(text, /\n\nDeploy \$0 with care\.\n$/)
        const wrong = yield* answer(job("show", "deplyo"), 80)
        assert.deepStrictEqual(wrong, {
          text: "There is no skill deplyo. Did you mean deploy? See troupe skills list.\n",
          code: 1,
        })
      }),
    ),
  )

  it.live("says what is wrong and where", () =>
    inFolder(files, (folder) =>
      Effect.gen(function* () {
        const all = yield* answer(job("validate"), 80)
        assert.strictEqual(all.code, 1)
        assert.match(all.text, /error {2}.*empty\.md: the file is empty/)
        assert.match(all.text, /warning {2}.*SKILL\.md:4:1: "alowed-tools" is no field.*did you mean "allowed-tools"/)
        for (const path of [".claude/skills/deploy", ".claude/skills/deploy/SKILL.md", ".claude/skills"]) {
          const one = yield* answer(job("validate", folder.at(path)), 80)
          assert.strictEqual(one.code, 0)
          assert.match(one.text, /1 good, 0 that cannot be used, 1 problem\./)
        }
        for (const path of [".", ".claude"])
          assert.match((yield* answer(job("validate", folder.at(path)), 80)).text, /1 good, 1 that/)
        assert.strictEqual((yield* answer(job("validate", folder.at("nowhere")), 80)).code, 1)
      }),
    ),
  )

  it.live("explains which fit a task", () =>
    inFolder(files, () =>
      Effect.gen(function* () {
        const { text } = yield* answer(job("explain", "deploy to staging"), 80)
        assert.match(text, /✓ 0\.\d\d {2}deploy +deploy \+2\.4/)
        assert.match((yield* answer(job("explain", "hello"), 80)).text, /^No skill scores 0\.55/)
      }),
    ),
  )
})
