/** Owns `troupe agents`: finds what is asked for, shows it, and answers the exit code. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { Definitions, inspect } from "../agents/Definitions.ts"
import { Host } from "../platform/Host.ts"
import { MarkdownIndex } from "../platform/MarkdownIndex.ts"
import { nearest } from "../platform/Near.ts"
import * as AgentsView from "./AgentsView.ts"
import type { Stdio } from "./Stdio.ts"

interface Job {
  readonly ask: AgentsView.AgentsAsk
  readonly json: boolean
}

export const agentsCommand = ({ ask, json }: Job, stdio: Stdio) =>
  Effect.gen(function* () {
    if (ask.what === "list") return yield* list(json, stdio)
    return yield* ask.what === "show" ? show(ask.name, json, stdio) : validate(ask.path, json, stdio)
  }).pipe(Effect.provide(Definitions.layer().pipe(Layer.provideMerge(MarkdownIndex.layer))))

const list = Effect.fnUntraced(function* (json: boolean, stdio: Stdio) {
  const { current } = yield* Definitions
  const { cwd, home } = yield* Host
  const columns = stdio.outputIsTerminal ? stdio.columns() : 200
  yield* stdio.out.write(AgentsView.listed(yield* current, json, { columns, cwd, home }))
  return 0
})

const show = Effect.fnUntraced(function* (name: string, json: boolean, stdio: Stdio) {
  const { current, find, prompt } = yield* Definitions
  const found = yield* find(name)
  if (found !== undefined) {
    yield* stdio.out.write(AgentsView.shown(found, yield* prompt(found), json))
    return 0
  }
  const { active, failed } = yield* current
  const broken = failed.filter((one) => one.name === name)
  const near = nearest(
    name,
    active.map((one) => one.name),
  )
  yield* stdio.err.write(broken.length > 0 ? AgentsView.refused(name, broken) : AgentsView.unknown(name, near))
  return 1
})

const validate = Effect.fnUntraced(function* (at: string | undefined, json: boolean, stdio: Stdio) {
  const { current } = yield* Definitions
  const snapshot = at === undefined ? yield* current : yield* inspected(at)
  if (snapshot === undefined) {
    yield* stdio.err.write(`troupe: ${at} does not exist; name an agent file or a directory of them.\n`)
    return 1
  }
  yield* stdio.out.write(AgentsView.validated(snapshot, json))
  return snapshot.failed.length === 0 ? 0 : 1
})

const inspected = Effect.fnUntraced(function* (at: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { cwd } = yield* Host
  const full = path.resolve(cwd, at)
  const info = yield* Effect.orElseSucceed(fs.stat(full), () => undefined)
  return info === undefined ? undefined : yield* inspect(full, info.type === "Directory")
})
