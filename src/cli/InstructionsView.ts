/** Owns how `troupe instructions list` shows which files would tell the model how to work here, in order, and why others would not. */
import * as Effect from "effect/Effect"
import { resolve } from "node:path"
import * as ContextSettings from "../context/ContextSettings.ts"
import type { Decision } from "../context/InstructionLoader.ts"
import * as Instructions from "../context/Instructions.ts"
import { render } from "../context/SessionText.ts"
import { Host } from "../platform/Host.ts"
import * as Tokens from "../platform/Tokens.ts"
import { visible, visibleJson } from "./Reveal.ts"
import type { Stdio } from "./Stdio.ts"

export interface InstructionsViewOptions {
  readonly addDirs: ReadonlyArray<string>
  readonly json: boolean
}

export const instructionsShown = Effect.fnUntraced(function* (
  { addDirs, json }: InstructionsViewOptions,
  { out }: Pick<Stdio, "out">,
) {
  const { cwd } = yield* Host
  const settings = yield* ContextSettings.read
  const instructions = yield* Instructions.make({ cwd, addDirs: addDirs.map((dir) => resolve(cwd, dir)), settings })
  const { decisions, diagnostics, reviews } = instructions.report()
  const loaded = instructions.start.map(({ content, ...fragment }) => ({
    ...fragment,
    chars: content.length,
    tokens: Tokens.estimate(content),
  }))
  const others = decisions.filter(({ outcome }) => outcome !== "loaded")
  if (json) {
    const value = { loaded, others, diagnostics, waiting: reviews }
    yield* out.write(`${visibleJson(JSON.stringify(value, undefined, 2))}\n`)
    return 0
  }
  const total = loaded.reduce((sum, { tokens }) => sum + tokens, 0)
  const text = [
    loaded.length === 0
      ? "No file tells the model how to work here. Write a CLAUDE.md to change that."
      : `Told when a session begins, in this order (about ${total} tokens):`,
    ...loaded.map(
      ({ kind, parent, path, tokens }) =>
        `  ${kind.toLowerCase().padEnd(8)} ${path}  (${tokens} tokens${parent === undefined ? "" : `, imported by ${parent}`})`,
    ),
    ...section("Told later:", others.filter(isLater)),
    ...section(
      "Not told:",
      others.filter((one) => !isLater(one)),
    ),
    ...(diagnostics.length === 0 ? [] : ["Problems:", ...diagnostics.map((one) => `  ${render(one)}`)]),
  ]
  yield* out.write(`${visible(text.join("\n"))}\n`)
  return 0
})

const isLater = ({ outcome }: Decision): boolean => outcome === "waits"

const section = (title: string, decisions: ReadonlyArray<Decision>): ReadonlyArray<string> =>
  decisions.length === 0
    ? []
    : [title, ...decisions.map(({ outcome, path, why }) => `  ${outcome.padEnd(9)} ${path}  (${why})`)]
