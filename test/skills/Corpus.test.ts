import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Loaded } from "../../src/skills/SkillLibrary.ts"
import { besides, corpus, type Specimen } from "./corpus.ts"
import { inFolder } from "./kit.ts"

const check = ({ becomes, file }: Specimen, { active, failed }: Loaded, root: string) => {
  const at = path.join(root, ".claude", file)
  const mine = active.find(({ source }) => source.file === at || source.directory === at)
  if ("failed" in becomes) {
    assert.isUndefined(mine)
    const messages = failed
      .filter((one) => one.file === at)
      .flatMap((one) => one.problems.map(({ message }) => message))
    assert.match(messages.join("\n"), becomes.failed)
    return
  }
  assert.isDefined(
    mine,
    `${failed.filter((one) => one.file === at).flatMap((one) => one.problems.map((p) => p.message))}`,
  )
  assert.strictEqual(mine?.name, becomes.name)
  for (const [field, value] of Object.entries(becomes.fields ?? {})) {
    assert.deepStrictEqual(Reflect.get(mine ?? {}, field), value, field)
  }
  const said = mine?.problems ?? []
  for (const [line, words] of becomes.complaints ?? []) {
    assert.isTrue(
      said.some((problem) => problem.line === line && words.test(problem.message)),
      `${line} ${words}: ${JSON.stringify(said)}`,
    )
  }
  if (becomes.complaints !== undefined) assert.lengthOf(said, becomes.complaints.length, JSON.stringify(said))
}

const explained = (specimen: Specimen, loaded: Loaded, root: string) => {
  try {
    check(specimen, loaded, root)
  } catch (error) {
    throw new Error(`${specimen.title}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

describe("The corpus of skills and commands", () => {
  it("has enough of both", () => {
    assert.isAtLeast(corpus.length, 40)
  })

  it.live("is read as it was meant, or refused with the reason", () =>
    inFolder(besides, (folder) =>
      Effect.gen(function* () {
        for (const { content, file, linkTo } of corpus) {
          if (linkTo === undefined) folder.put(path.join(".claude", file), content)
          else {
            fs.mkdirSync(path.dirname(folder.at(".claude", file)), { recursive: true })
            fs.symlinkSync(folder.at(linkTo), folder.at(".claude", file))
          }
        }
        const loaded = yield* folder.library.load({
          cwd: folder.root,
          bundled: false,
          managedDirectory: folder.managed,
        })
        for (const specimen of corpus) explained(specimen, loaded, folder.root)
        const good = corpus.filter(({ becomes }) => "name" in becomes)
        assert.lengthOf(loaded.active, good.length, loaded.active.map(({ name }) => name).join(" "))
        assert.isFalse(JSON.stringify(loaded).includes("hunter2"))
        // A second look, from what is remembered, gives the same.
        const again = yield* folder.library.load({ cwd: folder.root, bundled: false, managedDirectory: folder.managed })
        assert.deepStrictEqual(JSON.parse(JSON.stringify(again)), JSON.parse(JSON.stringify(loaded)))
      }),
    ),
  )
})
