// Writes the documents that are made from code: docs/hooks.md from the table of hook events.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { rolldown } from "rolldown"

const directory = mkdtempSync(join(tmpdir(), "troupe-docs-"))
try {
  const bundle = await rolldown({ input: "scripts/HookDocs.ts", platform: "node" })
  await bundle.write({ file: join(directory, "docs.mjs"), format: "esm" })
  const { render } = await import(pathToFileURL(join(directory, "docs.mjs")).href)
  writeFileSync("docs/hooks.md", render())
} finally {
  rmSync(directory, { recursive: true, force: true })
}
