/** `troupe agents`: the command itself, on real files. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { endedWith, world } from "./world.ts"

const project = Effect.gen(function* () {
  const here = yield* world({ rules: [{ when: {}, reply: "Hi." }] })
  const agents = path.join(here.work, ".claude", "agents")
  fs.mkdirSync(agents, { recursive: true })
  const put = (name: string, text: string) => fs.writeFileSync(path.join(agents, name), text)
  put("fine.md", "---\nname: fine\ndescription: Is fine\n---\nBe fine.\n")
  return { ...here, put }
})

describe.concurrent("troupe agents", () => {
  it.live("validates with exit code 0, and with 1 and the line once a file is broken", () =>
    Effect.gen(function* () {
      const here = yield* project
      endedWith(yield* here.run(["agents", "validate"]), 0)
      here.put("broken.md", "---\nname: broken\ndescription: Has a bracket too few\ntools: [Read\n---\nx\n")
      const ended = yield* here.run(["agents", "validate"])
      endedWith(ended, 1)
      assert.match(ended.out, /error {2}\S+broken\.md:4:\d+: tools: the closing \] is missing/)
      endedWith(yield* here.run(["agents", "validate", ".claude/agents/fine.md"]), 0)
      endedWith(yield* here.run(["agents", "validate", "nowhere"]), 1)
    }),
  )

  it.live("lists the same from a cold and from a warm index, and sees a change between the two", () =>
    Effect.gen(function* () {
      const here = yield* project
      const list = here.run(["agents", "list", "--json"])
      const [cold, warm] = [yield* list, yield* list]
      endedWith(cold, 0)
      assert.strictEqual(cold.out, warm.out)
      const { active, failed } = JSON.parse(warm.out)
      assert.deepStrictEqual(failed, [])
      const fine = active.find(({ name }: { readonly name: string }) => name === "fine")
      assert.deepStrictEqual([fine.source, path.basename(fine.file), fine.trust], ["project", "fine.md", "review"])
      here.put("fine.md", "---\nname: fine\ndescription: Is even finer\n---\nBe fine.\n")
      assert.include((yield* list).out, "even finer")
    }),
  )

  it.live("shows one, and says what was meant by a name that does not exist", () =>
    Effect.gen(function* () {
      const here = yield* project
      const shown = yield* here.run(["agents", "show", "fine"])
      endedWith(shown, 0)
      assert.match(shown.out, /^- fine: Is fine \(Tools: All tools\)[\s\S]*\n\nBe fine\.\n$/)
      const none = yield* here.run(["agents", "show", "finr"])
      endedWith(none, 1)
      assert.include(none.err, "Did you mean fine?")
    }),
  )
})
