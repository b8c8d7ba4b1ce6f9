/** A session changes hands between two live processes; whoever is killed when, exactly one place has all of it afterwards. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { cutAt, one, twoPlaces } from "./handOver.ts"
import { noTerminal, terminal } from "./terminal.ts"
import { endedWith } from "./world.ts"

describe.concurrent("a hand-over", () => {
  it.live("brings everything to the other process; at home it is only a copy then", () =>
    Effect.gen(function* () {
      const { abroad, directory, receiver, requests, run, there, waiting } = yield* twoPlaces()
      assert.strictEqual(fs.statSync(waiting.path).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(path.dirname(waiting.path)).mode & 0o777, 0o700)

      const wrong = yield* run(["teleport", "send", one, "--to", `${waiting.path}#wrong`])
      endedWith(wrong, 1)
      assert.match(wrong.err, /token is wrong/)

      endedWith(yield* run(["teleport", "send", one, "--to", `${waiting.path}#${waiting.token}`]), 0)
      const got = yield* receiver.ended
      endedWith(got, 0)
      assert.include(got.out, `"cwd": "${abroad}"`)
      assert.isFalse(fs.existsSync(waiting.path))

      const home = yield* run(["-p", "on", "--resume", one])
      endedWith(home, 1)
      assert.include(home.err, `goes on in ${path.join(directory, "config-abroad")}`)
      assert.include(home.err, "--fork-session")
      endedWith(yield* run(["-p", "on", "--resume", one, "--fork-session"]), 0)
      endedWith(yield* run(["-p", "on", "--resume", one], there), 0)
      assert.match(JSON.stringify((yield* requests).at(-1)?.body.messages), /The word is plum.*another directory.*on/)
    }),
  )

  it.live("and back again", () =>
    Effect.gen(function* () {
      const { receiver, run, start, there, waiting, work } = yield* twoPlaces()
      endedWith(yield* run(["teleport", "send", one, "--to", `${waiting.path}#${waiting.token}`]), 0)
      yield* receiver.ended
      endedWith(yield* run(["-p", "abroad", "--resume", one], there), 0)
      const back = yield* start(["teleport", "receive", "--json"])
      let address = ""
      yield* back.until((out) => (address = /"waiting":"([^"]+)"/.exec(out)?.[1] ?? "") !== "")
      endedWith(yield* run(["teleport", "send", one, "--to", address], there), 0)
      const got = yield* back.ended
      endedWith(got, 0)
      assert.include(got.out, `"outcome": "continued"`)
      assert.include(got.out, work)
      endedWith(yield* run(["-p", "home", "--resume", one]), 0)
      endedWith(yield* run(["-p", "abroad", "--resume", one], there), 1)
    }),
  )

  it.live("between two directories of one configuration hands over the lock", () =>
    Effect.gen(function* () {
      const { abroad, receiver, run, there, waiting } = yield* twoPlaces(true)
      endedWith(yield* run(["teleport", "send", one, "--to", `${waiting.path}#${waiting.token}`]), 0)
      const got = yield* receiver.ended
      endedWith(got, 0)
      assert.include(got.out, `"outcome": "moved"`)
      endedWith(yield* run(["-p", "on", "--continue"], there), 0)
      assert.isTrue(fs.existsSync(abroad))
    }),
  )

  for (const [line, victim, owner] of [
    ["staged", "sender", "home"],
    ["staged", "receiver", "home"],
    ["decided", "sender", "away"],
    ["decided", "receiver", "away"],
  ] as const) {
    it.live(`with the ${victim} killed before "${line}" arrives leaves the session ${owner}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* cutAt(line, victim), owner)
      }),
    )
  }

  it.live.skipIf(noTerminal)("of the session that is open at a prompt, with /teleport before", () =>
    Effect.gen(function* () {
      const made = yield* twoPlaces()
      const { receiver, run, there, waiting, work } = made
      const shown = yield* terminal(made, ["--resume", one])
      yield* shown.shows("›")
      yield* shown.press("/teleport copy.teleport\r")
      yield* shown.shows(/Written: \S+copy.teleport/)
      assert.isTrue(fs.existsSync(path.join(work, "copy.teleport")))
      yield* shown.press("/desktop\r")
      yield* shown.shows("troupe teleport receive")
      yield* shown.press("/desktop nowhere#1\r")
      yield* shown.shows("The session stays here")
      yield* shown.press(`/desktop ${waiting.path}#${waiting.token}\r`)
      yield* shown.shows("was handed over")
      assert.strictEqual((yield* shown.ended).code, 0)
      endedWith(yield* receiver.ended, 0)
      endedWith(yield* run(["-p", "on", "--resume", one]), 1)
      endedWith(yield* run(["-p", "on", "--resume", one], there), 0)
    }),
  )
})
