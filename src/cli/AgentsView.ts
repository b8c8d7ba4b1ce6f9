/** Owns how `troupe agents` shows definitions: which agents there are, where each comes from, what is wrong with the files. */
import * as AgentListing from "../agents/AgentListing.ts"
import { type AgentDefinition, type Diagnostic, type Failed, render, trustOf } from "../agents/Definition.ts"
import type { Row, Snapshot } from "../agents/Definitions.ts"
import { visible, visibleJson } from "./Reveal.ts"

/** What is asked of it. */
export type AgentsAsk =
  | { readonly what: "list" }
  | { readonly what: "show"; readonly name: string }
  | { readonly what: "validate"; readonly path: string | undefined }

const pretty = (value: unknown): string => `${visibleJson(JSON.stringify(value, undefined, 2))}\n`
const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)]

/** A definition for programs: where it comes from first, then its fields, without those that are not set. */
const row = ({ hash: _hash, name, origin, prompt: _prompt, traits: _traits, ...fields }: AgentDefinition) => ({
  name,
  source: origin.kind,
  file: origin.file ?? null,
  trust: trustOf(origin),
  ...fields,
})

const failure = ({ diagnostics, file, kind, name }: Failed) => ({ name, source: kind, file, diagnostics })

const json = ({ active, all, diagnostics, failed, skipped }: Snapshot) => ({
  active: active.map(row),
  all: all.map(({ definition, overriddenBy }) => ({
    ...row(definition),
    active: overriddenBy === undefined,
    overriddenBy: overriddenBy === undefined ? null : (overriddenBy.origin.file ?? overriddenBy.origin.kind),
  })),
  failed: failed.map(failure),
  skipped,
  diagnostics,
})

const place = ({ origin }: AgentDefinition): string => origin.file ?? (origin.kind === "flag" ? "--agents" : "")

/** How wide the terminal is, and what people call the places of their files. */
export interface Look {
  readonly columns: number
  readonly cwd: string
  readonly home: string
}

const short = (file: string, { cwd, home }: Look): string => {
  if (file.startsWith(`${cwd}/`)) return file.slice(cwd.length + 1)
  return file.startsWith(`${home}/`) ? `~${file.slice(home.length)}` : file
}

/** One line, cut to the terminal. */
const cut = (text: string, columns: number): string => {
  const line = text.replace(/\s+/g, " ")
  return line.length <= columns ? line : `${line.slice(0, Math.max(columns - 1, 1))}…`
}

const table = (rows: ReadonlyArray<ReadonlyArray<string>>, columns: number): ReadonlyArray<string> => {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((cells) => (cells[at] ?? "").length)))
  return rows.map((cells) => {
    const last = cells.length - 1
    const front = cells.slice(0, last).map((cell, at) => cell.padEnd(widths[at] ?? 0))
    const used = front.reduce((sum, cell) => sum + cell.length + 2, 2)
    return [...front, cut(cells[last] ?? "", Math.max(columns - used, 20))].join("  ").trimEnd()
  })
}

const complaints = (failed: ReadonlyArray<Failed>): ReadonlyArray<string> =>
  failed.flatMap(({ diagnostics }) => diagnostics.map(complaint))

const complaint = (diagnostic: Diagnostic): string => `${diagnostic.severity}  ${render(diagnostic)}`

/** `agents list`. */
export const listed = (snapshot: Snapshot, asJson: boolean, look: Look): string => {
  if (asJson) return pretty(json(snapshot))
  const { active, all, diagnostics, failed, skipped } = snapshot
  const cells = active.map((one) => [
    one.name,
    one.origin.kind,
    one.model ?? "inherit",
    short(place(one), look),
    one.whenToUse,
  ])
  const hidden = all.flatMap(({ definition, overriddenBy }: Row) =>
    overriddenBy === undefined || definition.origin.kind === "built-in"
      ? []
      : [`${definition.name}  ${place(definition)}  (${place(overriddenBy) || overriddenBy.origin.kind} counts)`],
  )
  const lines = [
    ...section("Agents:", table(cells, look.columns)),
    ...section("Overridden:", hidden),
    ...section("Not loaded:", complaints(failed)),
    ...section(
      "Not agents:",
      skipped.map(({ file, why }) => `${file}: ${why}`),
    ),
    ...section("Warnings:", diagnostics.map(complaint)),
  ]
  return `${visible(lines.join("\n"))}\n`
}

const facts = (one: AgentDefinition): ReadonlyArray<readonly [string, string | undefined]> => [
  ["source", `${one.origin.kind}${place(one) === "" ? "" : `  ${place(one)}`}`],
  ["also", one.aliases.join(", ")],
  ["tools", one.tools?.join(", ") ?? "all of the session"],
  ["without", one.disallowedTools.join(", ")],
  ["model", one.model ?? `inherit${one.traits.modelCap === undefined ? "" : `, at most ${one.traits.modelCap}`}`],
  ["effort", one.effort],
  ["mode", one.permissionMode],
  ["turns", one.maxTurns === undefined ? undefined : `at most ${one.maxTurns}`],
  ["skills", one.skills.join(", ")],
  ["servers", one.mcpServers.map(({ config, name }) => (config === undefined ? name : `${name} (its own)`)).join(", ")],
  ["hooks", one.hooks === undefined ? undefined : Object.keys(one.hooks).join(", ")],
  ["memory", one.memory],
  [
    "runs",
    [one.background && "in the background", one.isolation === "worktree" && "in a worktree"].filter(Boolean).join(", "),
  ],
  ["withheld", one.withheld.join(", ")],
]

/** `agents show`: everything about one, and the words it is told. */
export const shown = (one: AgentDefinition, prompt: string, asJson: boolean): string => {
  if (asJson) return pretty({ ...row(one), prompt })
  const lines = facts(one).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [`  ${name.padEnd(9)} ${value}`],
  )
  return `${visible([AgentListing.line(one), ...lines, "", prompt].join("\n"))}\n`
}

/** `agents validate`: only what is wrong, and how many are fine. */
export const validated = (snapshot: Snapshot, asJson: boolean): string => {
  if (asJson) return pretty(json(snapshot))
  const { all, diagnostics, failed, skipped } = snapshot
  const own = all.filter(({ definition }) => definition.origin.kind !== "built-in").length
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`
  const lines = [
    ...complaints(failed),
    ...diagnostics.map(complaint),
    ...skipped.map(({ file, why }) => `note  ${file}: no agent: ${why}`),
    `${count(own, "agent")} can be used, ${failed.length} cannot, ${count(diagnostics.length, "warning")}.`,
  ]
  return `${visible(lines.join("\n"))}\n`
}

/** For somebody who asks for an agent that is not there: what was meant, or why it is not. */
export const unknown = (name: string, near: string | undefined): string =>
  visible(
    `troupe: there is no agent "${name}".${near === undefined ? " See them with troupe agents list." : ` Did you mean ${near}?`}\n`,
  )

export const refused = (name: string, failed: ReadonlyArray<Failed>): string =>
  visible([`troupe: the agent "${name}" is not loaded:`, ...complaints(failed), ""].join("\n"))
