/** What tests of compiled programs share: a module made of TypeScript inside the package, where `troupe` means the build. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Options {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Hears what is printed, as it comes. */
  readonly onOut?: (out: string) => void
}

/** A program to its end; leaving kills it. Only these variables reach it, so no key of a person does. */
export const run = (command: string, args: ReadonlyArray<string>, options: Options): Effect.Effect<Ended> =>
  Effect.callback<Ended>((resume) => {
    let out = ""
    let err = ""
    const env = { PATH: process.env["PATH"] ?? "", ...options.env }
    const child = spawn(command, args, { cwd: options.cwd, env, stdio: ["ignore", "pipe", "pipe"] })
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text
      options.onOut?.(out)
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text))
    child.once("error", (error) => resume(Effect.die(error)))
    child.once("close", (code) => resume(Effect.succeed({ code, out, err })))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

export const node = (args: ReadonlyArray<string>, options: Options): Effect.Effect<Ended> =>
  run(process.execPath, args, options)

/** A directory of its own inside `dist`, removed with the scope. */
export const workshop = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(root, "dist", "examples-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true })),
)

/** Compiles files with the repository's own options into `out` of a workshop; what the compiler says fails the test. */
export const compile = Effect.fnUntraced(function* (
  directory: string,
  files: ReadonlyArray<string>,
  options: Readonly<Record<string, unknown>> = {},
) {
  const config = {
    extends: "../../tsconfig.json",
    compilerOptions: { noEmit: false, outDir: "out", plugins: [], ...options },
    include: files,
  }
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(config))
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const { code, out } = yield* node([tsc, "-p", directory], { cwd: root })
  assert.strictEqual(code, 0, out)
  return join(directory, "out")
})
