// Builds dist/: the command as code-split CommonJS chunks with everything inside, and the library as plain modules.
import { rmSync } from "node:fs"
import { spawnSync } from "node:child_process"
import { rolldown } from "rolldown"

rmSync("dist", { recursive: true, force: true })

const cli = await rolldown({
  input: { main: "src/cli/main.ts" },
  platform: "node",
  // Some packages' CommonJS builds load their parts by computed names, which no bundler can follow.
  resolve: { mainFields: ["module", "main"] },
  // Optional native parts and packages that carry binaries stay outside.
  external: [/^node:/, "@vscode/ripgrep", "fsevents"],
  transform: { target: "node20" },
})
await cli.write({
  dir: "dist/cli",
  format: "cjs",
  entryFileNames: "[name].cjs",
  chunkFileNames: "chunk-[name]-[hash].cjs",
  minify: "dce-only",
})

const library = spawnSync("npx", ["tsc", "-p", "tsconfig.build.json"], { stdio: "inherit" })
process.exit(library.status ?? 1)
