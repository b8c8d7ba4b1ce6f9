import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Mailbox } from "../../src/kernel/Mailbox.ts"

describe("Mailbox", () => {
  it("lets waiting letters in one by one, as places get free", () => {
    const mailbox = new Mailbox<string>(1)
    const admitted: Array<string> = []
    assert.isTrue(mailbox.offer("a"))
    assert.isFalse(mailbox.offer("b"))
    for (const letter of ["b", "c"]) mailbox.park(letter, (ok) => admitted.push(`${letter} ${ok}`))
    assert.deepStrictEqual(admitted, [])
    assert.strictEqual(mailbox.poll(), "a")
    assert.deepStrictEqual(admitted, ["b true"])
    assert.deepStrictEqual(mailbox.close(), ["b"])
    assert.deepStrictEqual(admitted, ["b true", "c false"])
    assert.isFalse(mailbox.push("d"))
  })

  it("reads control first, and on after a drain what was sent before it", () => {
    const mailbox = new Mailbox<string>(1)
    mailbox.offer("a")
    mailbox.park("b")
    mailbox.pushControl("!")
    mailbox.drain()
    assert.isFalse(mailbox.pushControl("late"))
    assert.deepStrictEqual([mailbox.poll(), mailbox.poll(), mailbox.poll(), mailbox.poll()], ["!", "a", "b", undefined])
  })

  it.effect("wakes its reader for a letter, and does not let it sleep when one came before", () =>
    Effect.gen(function* () {
      const mailbox = new Mailbox<string>(1)
      const reading = yield* Effect.forkChild(mailbox.arrival(), { startImmediately: true })
      mailbox.offer("a")
      yield* Fiber.join(reading)
      yield* mailbox.arrival()
      mailbox.close()
      yield* mailbox.arrival()
    }),
  )
})
