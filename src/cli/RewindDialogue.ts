/** Owns `/rewind`: the points are shown, the person chooses one and what is to go back, sees what would happen, and agrees. */
import * as Effect from "effect/Effect"
import type { Agent } from "../agents/Agent.ts"
import type { What } from "../session/Rewind.ts"
import type { LineReader } from "./LineReader.ts"
import * as RewindView from "./RewindView.ts"
import type { Tone, ViewLine } from "./ToolView.ts"

interface Room {
  readonly agent: Agent
  readonly reader: LineReader
  readonly show: (lines: ReadonlyArray<ViewLine>) => Effect.Effect<void>
}

const whats: Readonly<Record<string, What>> = {
  b: "both",
  both: "both",
  f: "code",
  files: "code",
  code: "code",
  c: "conversation",
  conversation: "conversation",
}

const lines = (texts: ReadonlyArray<string>, tone: Tone = "quiet"): ReadonlyArray<ViewLine> =>
  texts.map((text) => ({ tone, text }))

const nothing = lines(["Nothing was changed."])

/** `/rewind`, `/rewind 3`, `/rewind 3 files`. Answers what is to be said at the end. */
export const rewind = Effect.fnUntraced(
  function* ({ agent, reader, show }: Room, words: ReadonlyArray<string>) {
    const [first, second] = words
    const typed = second === undefined ? undefined : whats[second.toLowerCase()]
    if (second !== undefined && typed === undefined)
      return lines([`"${second}" is none of both, files, conversation.`], "bad")
    if (first === undefined) {
      const all = yield* agent.checkpoints
      yield* show(lines(RewindView.points(all)))
      if (all.length === 0) return []
    }
    const to = first ?? (yield* ask(reader, "Back to before which number (Enter: none)? "))
    if (to === undefined) return nothing
    const said =
      typed === undefined ? yield* ask(reader, "What: [b]oth, [f]iles, [c]onversation (Enter: both)? ", "b") : ""
    const what = typed ?? whats[(said ?? "").toLowerCase()]
    if (what === undefined) return nothing
    const looked = yield* agent.rewind(to, { what, dryRun: true })
    yield* show(lines(RewindView.preview(looked, agent.cwd)))
    const conflicts = looked.files.filter(({ conflict, problem }) => conflict !== undefined && problem === undefined)
    const question =
      conflicts.length === 0
        ? "Go back? [y]es, [n]o: "
        : `Go back, and lose what others did to ${conflicts.length === 1 ? "that file" : `${conflicts.length} files`}? [y]es, [n]o: `
    const answer = (yield* ask(reader, question)) ?? "n"
    if (!/^y(es)?$/i.test(answer)) return nothing
    const report = yield* agent.rewind(to, { what, force: conflicts.length > 0 })
    const again = report.conversation ? ["Up brings its words back."] : []
    return lines([...RewindView.done(report, agent.cwd), ...again, "/rewind takes this back, too."])
  },
  Effect.catch(({ message }) => Effect.succeed(lines(message.split("\n"), "bad"))),
)

/** `undefined`: the person wants nothing. */
const ask = Effect.fnUntraced(function* (reader: LineReader, question: string, usual?: string) {
  const read = yield* reader.read(question, { fresh: true })
  if (read._tag !== "Line") return undefined
  const text = read.text.trim()
  return text === "" ? usual : text
})
