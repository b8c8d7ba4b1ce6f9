/** What sessions cost the prompt cache, seen from the command line: killed, resumed, and shown. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { appeared, endedWith, world } from "./world.ts"

const session = "3f0c6f0e-8b1d-4c39-9a53-0d7e6c1f2a44"

const book: Playbook = {
  rules: [
    { when: { tool: {} }, reply: "Done." },
    {
      when: { prompt: "wait" },
      reply: [
        { thinking: "I wait." },
        { tool: "Bash", input: { command: "touch here; until [ -e go ]; do sleep 0.02; done" } },
      ],
    },
    { reply: "Hello." },
  ],
}

const Shown = Schema.fromJsonString(
  Schema.Struct({
    requests: Schema.Finite,
    misses: Schema.Finite,
    hitRate: Schema.NullOr(Schema.Finite),
    agents: Schema.Array(
      Schema.Struct({
        agent: Schema.String,
        rows: Schema.Array(
          Schema.Struct({
            readTokens: Schema.Finite,
            writtenTokens: Schema.Finite,
            miss: Schema.NullOr(Schema.Struct({ cause: Schema.String, layer: Schema.String, detail: Schema.String })),
          }),
        ),
      }),
    ),
  }),
)
const decode = Schema.decodeUnknownEffect(Shown)

describe.concurrent("the prompt cache of a session", () => {
  it.live("is read in full by the session that goes on after kill -9", () =>
    Effect.gen(function* () {
      const { atLeast, run, start, work } = yield* world(book)
      const flags = ["--model", "claude-opus-5", "--dangerously-skip-permissions"]
      endedWith(yield* run(["-p", "Hi", "--session-id", session, ...flags]), 0)
      const waiting = yield* start(["-p", "please wait", "--resume", session, ...flags])
      yield* appeared(path.join(work, "here"))
      yield* waiting.signal("SIGKILL")
      yield* waiting.ended
      endedWith(yield* run(["-p", "And now?", "--resume", session, ...flags]), 0)
      const requests = yield* atLeast(3)
      const [before, after] = [requests[1]?.body, requests[2]?.body]
      assert(before !== undefined && after !== undefined)
      const bare = (value: unknown): unknown =>
        JSON.parse(JSON.stringify(value, (key, one: unknown) => (key === "cache_control" ? undefined : one)))
      assert.deepStrictEqual(bare([after.tools, after.system]), bare([before.tools, before.system]))
      assert.deepStrictEqual(bare(after.messages.slice(0, before.messages.length)), bare(before.messages))
      const { agents, misses } = yield* decode((yield* run(["context", "cache", "--json"])).out)
      const [main] = agents
      assert.strictEqual(misses, 0)
      // The one that was killed has written what it sent, and nobody was told.
      const written = (main?.rows[0]?.readTokens ?? 0) + (main?.rows[0]?.writtenTokens ?? 0)
      assert.isAtLeast(main?.rows[1]?.readTokens ?? 0, written)
    }),
  )

  it.live("is shown with what broke it: the layer, and the bytes that are another", () =>
    Effect.gen(function* () {
      const { run } = yield* world(book)
      const flags = ["--model", "claude-opus-5"]
      endedWith(yield* run(["-p", "Hi", "--session-id", session, ...flags]), 0)
      endedWith(yield* run(["-p", "Again", "--resume", session, ...flags, "--disallowedTools", "Bash"]), 0)
      const { agents, misses } = yield* decode((yield* run(["context", "cache", session, "--json"])).out)
      assert.strictEqual(misses, 1)
      const miss = agents[0]?.rows[1]?.miss
      assert.deepInclude(miss, { cause: "tools changed", layer: "tools" })
      assert.match(miss?.detail ?? "", /differs from character \d+: it was «.*Bash.*», it is «/)
      const text = yield* run(["context", "cache"])
      endedWith(text, 0)
      assert.match(
        text.out,
        /main: 2 requests, .* 1 missed\n.*\n.*\n2 +claude-opus-5 .* missed: tools changed\n +2: tools changed; 0 of/,
      )
      assert.match(text.out, new RegExp(`session ${session}: 2 requests`))
    }),
  )

  it.live("is not there for a session that is not", () =>
    Effect.gen(function* () {
      const { run } = yield* world(book)
      const none = yield* run(["context", "cache"])
      endedWith(none, 1)
      assert.match(none.err, /there is no session in .*CLAUDE_CONFIG_DIR/)
      assert.match((yield* run(["context", "cache", session])).err, new RegExp(`no session ${session}`))
    }),
  )
})
