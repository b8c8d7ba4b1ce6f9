/** The page about extending is a whole `.claude` folder: it is put into a project, and the commands it names find nothing wrong. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { endedWith, systemOf, toldLast, world } from "../e2e/world.ts"
import { paths, read, root } from "./documents.ts"

const page = read("docs/extending.md")

/** A path on a line of its own, and what is in the file. */
const files = [...page.matchAll(/^`([^`]+)`:\n\n```\w+\n([^]*?)^```$/gm)].map(([, name = "", text = ""]) => ({
  name,
  text,
}))

const project = Effect.gen(function* () {
  const here = yield* world({ rules: [{ reply: "Hi." }] })
  for (const { name, text } of files) here.write(name, text)
  return here
})

describe.concurrent("docs/extending.md", () => {
  it("names only files that exist", () => {
    const linked = paths(page).filter((path) => path.endsWith(".md") && !path.startsWith("src/"))
    for (const path of linked) assert.isTrue(existsSync(join(root, "docs", path)), path)
    assert.lengthOf(files, 7)
  })

  it.live("has examples in which nothing is wrong", () =>
    Effect.gen(function* () {
      const { run } = yield* project
      for (const what of ["agents", "skills"]) {
        const valid = yield* run([what, "validate", "--json"])
        endedWith(valid, 0)
        assert.notInclude(valid.out, "/.claude/settings", what)
      }
      assert.match((yield* run(["agents", "list"])).out, /api-reviewer/)
      assert.match((yield* run(["skills", "list"])).out, /\/explain <file>[^]*\/release \[version\]/)
      const instructions = yield* run(["instructions", "list"])
      assert.match(instructions.out, /CLAUDE\.md[^]*Told later:[^]*api\.md/)
      const hooks = yield* run(["hooks", "list"])
      assert.match(hooks.out, /git branch --show-current.*waits for your agreement/)
      assert.strictEqual(hooks.err, "")
    }),
  )

  it.live("has examples that a session takes up, and says what it leaves out until somebody agrees", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* project
      const ended = yield* run(["-p", "/explain CLAUDE.md"])
      endedWith(ended, 0)
      assert.match(ended.err, /hooks/)
      const [first] = yield* requests
      assert.include(systemOf(first), "Answer in at most three sentences.")
      assert.include(JSON.stringify(first?.body), "must pass before a commit")
      assert.include(toldLast(first), "to somebody who is new here")
    }),
  )
})
