import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as DebugLog from "../../src/cli/DebugLog.ts"
import * as Secrets from "../../src/model/Secrets.ts"
import { HttpFetch } from "../../src/platform/HttpFetch.ts"

const place = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "troupe-debug-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true })),
)

/** What is in the log after this was logged. */
const logged = Effect.fnUntraced(function* <A, E>(work: Effect.Effect<A, E>, only: ReadonlyArray<string> = []) {
  const cwd = yield* place
  const { redact } = Secrets.make(["hunter2hunter2"])
  const wish = { file: undefined, filter: { only, except: [] } }
  const { logger, path: file } = yield* DebugLog.open(wish, { directory: `${cwd}/logs`, cwd, name: "n", redact })
  const layer = Layer.mergeAll(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Debug"))
  yield* Effect.provide(work, layer)
  return fs.readFileSync(file, "utf8")
})

describe("the debug log", () => {
  it.live("strikes out credentials, known ones and what looks like one, and keeps an entry on its line", () =>
    Effect.gen(function* () {
      const why =
        "401: key hunter2hunter2 and sk-ant-api03-abcdefgh, Authorization: Bearer abc.def-123456\n\u001b[31mforged line"
      const text = yield* logged(DebugLog.note("api", "http failed", { why, nothing: undefined, status: 401 }))
      assert.match(
        text,
        /^\S+Z \[DEBUG\] \[api\] http failed why="401: key \[redacted\] and \[redacted\], Authorization: Bearer \[redacted\] forged line" status=401\n$/,
      )
    }),
  )

  it.live("keeps warnings whatever the categories are", () =>
    Effect.gen(function* () {
      const work = Effect.all([
        DebugLog.note("tools", "start"),
        DebugLog.note("api", "request"),
        Effect.logWarning("careful"),
      ])
      const lines = (yield* logged(work, ["api"])).trimEnd().split("\n")
      assert.deepStrictEqual(
        lines.map((line) => line.replace(/^\S+ /, "")),
        ["[DEBUG] [api] request", "[WARN] careful"],
      )
    }),
  )

  it.live("tells where a request went without what the address holds, and how it was answered", () =>
    Effect.gen(function* () {
      const answers = [
        () =>
          Promise.resolve(new Response("", { status: 429, headers: { "request-id": "req_1", "retry-after": "3" } })),
        () => Promise.reject(new Error("socket hang up")),
      ]
      const work = Effect.gen(function* () {
        const fetch = yield* HttpFetch
        const init = { method: "POST", headers: { "x-api-key": "plainly secret" } }
        const ask = () => fetch("https://user:word@host.example/v1/messages?key=hidden", init)
        assert.strictEqual((yield* Effect.promise(ask)).status, 429)
        assert.strictEqual((yield* Effect.flip(Effect.tryPromise(ask)))._tag, "UnknownError")
      })
      const fake = Layer.succeed(HttpFetch, () => (answers.shift() ?? (() => Promise.reject(new Error("no more"))))())
      const text = yield* logged(Effect.provide(work, DebugLog.watchedFetch.pipe(Layer.provide(fake))))
      assert.match(
        text,
        /http to="POST https:\/\/host\.example\/v1\/messages" status=429 ms=\d+ request=req_1 retryAfter=3\n/,
      )
      assert.match(text, /http failed to="POST https:\/\/host\.example\/v1\/messages" ms=\d+ why="socket hang up"\n/)
      for (const secret of ["word", "hidden", "plainly"]) assert.notInclude(text, secret)
    }),
  )
})
