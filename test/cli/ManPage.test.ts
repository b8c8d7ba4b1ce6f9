import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { debugCategories } from "../../src/cli/DebugFilter.ts"
import { describe as described, flatten } from "../../src/cli/Describe.ts"
import * as Manual from "../../src/cli/Manual.ts"
import { manPage } from "../../src/cli/ManPage.ts"
import { packageRoot, version } from "../../src/cli/PackageRoot.ts"
import * as Program from "../../src/cli/Program.ts"
import { signalCodes } from "../../src/cli/Stdio.ts"
import { endings } from "../../src/protocol/Terminal.ts"

const program = Program.make("0", { out: () => {}, err: () => {}, columns: 100 }, () => {})
const page = manPage(program, version())
const file = join(packageRoot(), "man", "troupe.1")

const missing = (command: string, flag: string) => spawnSync(command, [flag]).error !== undefined

describe("the manual page", () => {
  it("is the committed one", () => {
    const kept = readFileSync(file, "utf8")
    assert.strictEqual(kept, page, "man/troupe.1 is stale: npm run build && node bin/troupe.js __man > man/troupe.1")
  })

  it("has every section, flag, command and exit code", () => {
    const sections = [
      "NAME",
      "SYNOPSIS",
      "DESCRIPTION",
      "OPTIONS",
      "COMMANDS",
      "ENVIRONMENT",
      "FILES",
      "EXIT STATUS",
      "EXAMPLES",
    ]
    assert.deepStrictEqual(
      [...page.matchAll(/^\.SH (.+)$/gm)].map(([, name]) => name),
      sections,
    )
    const text = page.replaceAll("\\-", "-")
    for (const command of flatten(described(program, debugCategories))) {
      if (command.path !== "" && command.commands.length === 0) assert.include(text, `.SS troupe ${command.path}\n`)
      for (const name of command.flags.flatMap(({ names }) => names)) assert.include(text, name)
    }
    const codes = new Set([...Object.values(endings).map(({ exitCode }) => exitCode), ...Object.values(signalCodes)])
    for (const code of codes)
      assert.include(
        Manual.exitCodes.map(({ name }) => name),
        String(code),
      )
  })

  it.skipIf(missing("mandoc", "-h"))("pleases mandoc (skipped where it is not installed)", () => {
    const { stdout, stderr } = spawnSync("mandoc", ["-T", "lint", file], { encoding: "utf8" })
    assert.strictEqual(stdout + stderr, "")
  })

  it.skipIf(missing("groff", "--version"))("pleases groff (skipped where it is not installed)", () => {
    const { stdout, stderr } = spawnSync("groff", ["-man", "-ww", "-z", "-Tutf8", file], { encoding: "utf8" })
    assert.strictEqual(stdout + stderr, "")
  })
})
