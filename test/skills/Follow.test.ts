import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as NodeWatch from "../../src/platform/NodeWatch.ts"
import { becomes } from "../tools/processes.ts"
import { inFolder } from "./kit.ts"

const skill = (description: string) => `---\ndescription: ${description}\n---\nDo it.\n`

describe("Skills that change while a session is open", () => {
  it.live("are there at once: new ones, other ones, those of directories that work came to later", () =>
    inFolder(
      { ".claude/skills/a/SKILL.md": skill("one"), "apps/web/.claude/skills/w/SKILL.md": skill("web") },
      (folder) =>
        Effect.scoped(
          Effect.gen(function* () {
            const skills = yield* folder.session()
            let seen = ""
            const look = Effect.map(skills.catalog, ({ active }) => {
              seen = active.map(({ description, name }) => `${name}=${description}`).join(" ")
            })
            yield* Effect.forkScoped(Effect.forever(Effect.delay(look, "2 millis")))
            const shows = (what: string) => becomes(what, () => seen.includes(what))
            yield* skills.listing
            yield* Effect.forkScoped(Effect.provide(skills.follow, NodeWatch.layer))
            // Written again until the watch has begun and sees it.
            let times = 0
            yield* becomes("the watch has begun", () => {
              folder.put(".claude/skills/b/SKILL.md", skill(`two ${++times}`))
              return seen.includes("b=")
            })
            folder.put(".claude/skills/a/SKILL.md", skill("another"))
            yield* shows("a=another")
            folder.put(".claude/commands/ops/c.md", skill("three"))
            yield* shows("ops:c=three")
            assert.match((yield* skills.announcement) ?? "", /- a: another\n- b: two \d+\n- ops:c: three/)
            assert.deepStrictEqual(yield* skills.touched([folder.at("apps/web/x.ts")]), ["w"])
            fs.rmSync(folder.at(".claude/skills/b"), { recursive: true })
            yield* becomes("b is gone", () => !seen.includes("b="))
            yield* becomes("the nested one is watched", () => {
              folder.put("apps/web/.claude/skills/w/SKILL.md", skill(`wider ${++times}`))
              return seen.includes("w=wider")
            })
          }),
        ),
    ),
  )
})
