/** The documents name what exists. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { version } from "../../src/agents/Agents.ts"
import { paths, read, root, section } from "./documents.ts"

describe("the documents", () => {
  for (const name of ["README.md", "ARCHITECTURE.md", "AGENTS.md", "CHANGELOG.md"]) {
    it(`${name} names only files that exist`, () => {
      assert.deepStrictEqual(
        paths(read(name)).filter((path) => !existsSync(join(root, path))),
        [],
      )
    })
  }

  it("the map fits into 200 lines", () => {
    assert.isAtMost(read("ARCHITECTURE.md").trimEnd().split("\n").length, 200)
  })

  it("the map has every folder of the source", () => {
    const text = section(read("ARCHITECTURE.md"), "The order of folders")
    const folders = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    for (const { name } of folders) assert.match(text, new RegExp(`^\\| ${name} \\|`, "m"))
  })

  it("the version is the same wherever it stands", () => {
    const stated: unknown = JSON.parse(read("package.json"))
    assert.propertyVal(stated, "version", version)
    assert.include(read("CHANGELOG.md"), `## [${version}]`)
  })
})
