/** Writes a file over and over until somebody kills the process, or holds a lock; for the crash tests. */
import * as Effect from "effect/Effect"
import { Files } from "../../src/platform/Files.ts"
import { layer } from "../../src/platform/NodeFiles.ts"

const [file = "", lock = ""] = process.argv.slice(2)

const program = Effect.gen(function* () {
  const files = yield* Files
  yield* files.lock(lock)
  process.stdout.write("ready\n")
  for (let round = 0; ; round++) {
    yield* files.writeAtomic(file, String(round % 10).repeat(200_000))
    process.stdout.write(`${round}\n`)
  }
})

Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(layer))).catch((cause: unknown) => {
  process.stderr.write(String(cause))
  process.exitCode = 1
})
