// Type-checks with Effect's own diagnostics. `@effect/tsgo` cannot be a declared dependency: its bindings for other
// platforms are missing from the registry, which makes a clean `npm ci` fail. So it is fetched on use and patches tsc once.
import { spawnSync } from "node:child_process"

const run = (command, args) => spawnSync(command, args, { stdio: "inherit" }).status ?? 1

const patched = spawnSync("npx", ["-y", "-p", "@effect/tsgo@0.45.0", "effect-tsgo", "patch"], { encoding: "utf8" })
if (patched.status !== 0) {
  console.error(`Effect diagnostics are unavailable, so the type check would be incomplete:\n${patched.stderr}`)
  process.exit(1)
}
process.exit(run("npx", ["tsc", "--noEmit"]))
