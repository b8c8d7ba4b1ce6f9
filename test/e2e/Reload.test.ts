/** Files that change while a session runs: the model hears of them, and nothing that was cached moves. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { endedWith, toldLast, world } from "./world.ts"

const flags = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"]
const say = (content: string) => `${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`

describe("a session whose files change", () => {
  it.live(
    "tells the model of new agents and skills in its next message; tools, system and history stay as they were",
    () =>
      Effect.gen(function* () {
        const made = yield* world({ rules: [{ reply: "Yes." }] })
        const skill = (name: string) =>
          made.write(`.claude/skills/${name}/SKILL.md`, `---\ndescription: About ${name}\n---\nx\n`)
        made.write("CLAUDE.md", "Say yes.")
        made.write(".claude/agents/old-hand.md", "---\nname: old-hand\ndescription: Knows it all\n---\nHelp.\n")
        skill("knitting")
        const child = yield* made.start(flags, { input: "open" })
        let turns = 0
        const turn = Effect.gen(function* () {
          const wanted = ++turns
          yield* child.type(say(`prompt ${wanted}`))
          yield* child.until((out) => out.split('"type":"result"').length > wanted)
          return toldLast((yield* made.requests).at(-1))
        })

        const first = yield* turn
        assert.notMatch(first, /new-hand|weaving/)
        made.write("CLAUDE.md", "Say no.")
        made.write(".claude/agents/new-hand.md", "---\nname: new-hand\ndescription: Learns\n---\nHelp.\n")
        skill("weaving")
        // The files are seen by a watch that nobody hears of: each prompt is another look.
        const heard: Array<string> = []
        yield* Effect.repeat(
          Effect.map(turn, (told) => heard.push(told)),
          {
            until: () => ["new-hand", "weaving"].every((name) => heard.some((told) => told.includes(name))),
            schedule: Schedule.spaced("100 millis"),
            times: 100,
          },
        )
        const announced = (name: string) => heard.filter((told) => told.includes(name)).length
        // Once, in the message that was the last one then, and never again.
        assert.deepStrictEqual([announced("new-hand"), announced("weaving")], [1, 1])
        assert.notMatch(yield* turn, /new-hand|weaving/)
        yield* child.close
        endedWith(yield* child.ended, 0)

        const requests = (yield* made.requests).map(({ body }) => body)
        const prefix = (body: (typeof requests)[number] | undefined) => plain([body?.tools, body?.system]).join("\n")
        for (const [at, body] of requests.entries()) {
          assert.strictEqual(prefix(body), prefix(requests[0]))
          const before = plain(requests[at - 1]?.messages ?? [])
          assert.deepStrictEqual(plain(body.messages).slice(0, before.length), before)
        }
        assert.include(prefix(requests[0]), "old-hand")
        assert.include(prefix(requests[0]), "knitting")
        assert.include(JSON.stringify(requests[0]), "Say yes.")
      }),
  )
})

/** Without the marks of what is to be cached, which move on with the conversation. */
const plain = (messages: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  messages.map((message) => JSON.stringify(message).replace(/,"cache_control":\{[^}]*\}/g, ""))
