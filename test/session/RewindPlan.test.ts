import { assert, describe, it } from "@effect/vitest"
import type { DurableEvent, FileState } from "../../src/protocol/Event.ts"
import type { JournalRecord } from "../../src/session/JournalRecord.ts"
import * as RewindPlan from "../../src/session/RewindPlan.ts"

const records = (...events: ReadonlyArray<DurableEvent>): ReadonlyArray<JournalRecord> =>
  events.map((event, index) => ({ seq: index + 1, time: index, agent: "main", event }))

const prompt = (id: string): DurableEvent => ({
  _tag: "PromptReceived",
  uuid: `message ${id}`,
  promptId: id,
  content: `say ${id}`,
  delivery: "prompt",
})

const state = (content: string): FileState => ({ content: content.repeat(64).slice(0, 64), size: 1, mode: 0o644 })

const changed = (promptId: string, path: string, before?: string, after?: string, rewind = false): DurableEvent => ({
  _tag: "Checkpointed",
  uuid: `change of ${promptId}`,
  promptId,
  cause: rewind ? "rewind" : "call",
  changes: [
    {
      path,
      ...(before !== undefined && { before: state(before) }),
      ...(after !== undefined && { after: state(after) }),
    },
  ],
})

const at = (all: ReadonlyArray<JournalRecord>, named: string) => {
  const point = RewindPlan.find(RewindPlan.points(all), named)
  assert(point !== undefined)
  return point
}

describe("what the journal says about going back", () => {
  it("has each file as it was at the point, and as the session left it", () => {
    const all = records(
      prompt("one"),
      changed("one", "/a", "1", "2"),
      prompt("two"),
      changed("two", "/a", "2", "3"),
      changed("two", "/b", undefined, "4"),
    )
    assert.deepStrictEqual(RewindPlan.since(all, at(all, "two")), [
      { path: "/a", was: state("2"), left: state("3"), interrupted: false },
      { path: "/b", was: undefined, left: state("4"), interrupted: false },
    ])
    assert.deepStrictEqual(RewindPlan.since(all, at(all, "1"))[0]?.was, state("1"))
  })

  it("sees that somebody else changed a file between two changes, as far as it was kept", () => {
    const all = records(prompt("one"), changed("one", "/a", "1", "2"), prompt("two"), changed("two", "/a", "x", "3"))
    assert.isTrue(RewindPlan.since(all, at(all, "1"))[0]?.interrupted)
    assert.isFalse(RewindPlan.since(all, at(all, "2"))[0]?.interrupted)
    const unknown: FileState = { content: "", size: 1, mode: 0o644 }
    assert.isTrue(RewindPlan.isSameState(unknown, state("1")))
    assert.isFalse(RewindPlan.isSameState({ ...unknown, size: 2 }, state("1")))
    assert.isFalse(RewindPlan.isSameState(undefined, unknown))
  })

  it("counts what was still going on for the prompt that began it", () => {
    const all = records(prompt("one"), prompt("two"), changed("one", "/late", undefined, "1"))
    assert.lengthOf(RewindPlan.since(all, at(all, "2")), 0)
    assert.lengthOf(RewindPlan.since(all, at(all, "1")), 1)
  })

  it("makes a point of each going back, by number, id or the beginning of one", () => {
    const all = records(
      prompt("aaaaaaaa-1"),
      changed("aaaaaaaa-1", "/a", "1", "2"),
      changed("aaaaaaaa-1", "/a", "2", "1", true),
    )
    const points = RewindPlan.points(all)
    assert.deepStrictEqual(
      points.map(({ files, kind }) => [kind, files]),
      [
        ["prompt", ["/a"]],
        ["rewind", ["/a"]],
      ],
    )
    assert.deepStrictEqual(RewindPlan.since(all, at(all, "2")), [
      { path: "/a", was: state("2"), left: state("1"), interrupted: false },
    ])
    assert.strictEqual(RewindPlan.find(points, "aaaaaa")?.seq, 1)
    assert.strictEqual(RewindPlan.find(points, "message aaaaaaaa-1")?.seq, 1)
    assert.isUndefined(RewindPlan.find(points, "3"))
    assert.isUndefined(RewindPlan.find(points, "aaa"))
  })
})
