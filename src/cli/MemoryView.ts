/** Owns how `troupe memory` shows what is remembered about the project: plain files that people may read, change and delete. */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ContextSettings from "../context/ContextSettings.ts"
import * as Memory from "../context/Memory.ts"
import * as MemoryDirectory from "../context/MemoryDirectory.ts"
import * as MemoryFile from "../context/MemoryFile.ts"
import { Host } from "../platform/Host.ts"
import { nearest } from "../platform/Near.ts"
import type { MemoryViews } from "./SetupProgram.ts"
import { visible, visibleJson } from "./Reveal.ts"
import type { Stdio } from "./Stdio.ts"

export interface MemoryViewOptions {
  readonly what: MemoryViews
  readonly json: boolean
}

type Writers = Pick<Stdio, "out" | "err">

export const memoryShown = Effect.fnUntraced(function* ({ json, what }: MemoryViewOptions, { err, out }: Writers) {
  const { cwd } = yield* Host
  const settings = yield* ContextSettings.read
  const located = yield* MemoryDirectory.ofProject(cwd, settings)
  if (Result.isFailure(located)) {
    yield* err.write(`troupe: ${located.failure}\n`)
    return 1
  }
  const directory = located.success
  if (!settings.autoMemory) yield* err.write("troupe: memory is switched off (autoMemoryEnabled): it is not used.\n")
  const print = (value: object, text: string) =>
    out.write(json ? `${visibleJson(JSON.stringify(value, undefined, 2))}\n` : `${visible(text)}\n`)
  if (what === "path") {
    yield* print({ directory: directory.path, enabled: settings.autoMemory }, directory.path)
    return 0
  }
  const memory = yield* Memory.make(directory)
  const entries = yield* memory.list
  if (what === "list") {
    const now = yield* Clock.currentTimeMillis
    yield* print(listed(directory.path, entries), lines(directory.path, entries, now))
    return 0
  }
  const text = yield* memory.read(what.file)
  if (text === undefined) {
    const near = nearest(
      what.file,
      entries.map(({ file }) => file),
    )
    const hint = near === undefined ? "See troupe memory list." : `Did you mean ${near}?`
    yield* err.write(`troupe: there is no memory ${visible(what.file)} in ${directory.path}. ${hint}\n`)
    return 1
  }
  yield* print({ file: what.file, text }, text.trimEnd())
  return 0
})

const listed = (directory: string, entries: ReadonlyArray<MemoryFile.Entry>) => ({
  directory,
  memories: entries.map(({ modified, ...entry }) => ({
    ...entry,
    modified: DateTime.formatIso(DateTime.makeUnsafe(modified)),
  })),
})

const lines = (directory: string, entries: ReadonlyArray<MemoryFile.Entry>, now: number): string =>
  entries.length === 0
    ? `Nothing is remembered in ${directory}.`
    : [
        `${directory}:`,
        ...entries.map(
          ({ description, file, modified, shared, type }) =>
            `  ${file}  (${type ?? "no type"}${shared ? ", shared" : ""}, ${MemoryFile.age(modified, now)})  ${description}`,
        ),
      ].join("\n")
