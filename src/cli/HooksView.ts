/** Owns how `troupe hooks` shows hooks: which there are and in which file, which would run at an event, and why the others would not. */
import { resolve } from "node:path"
import * as HookConfig from "../hooks/HookConfig.ts"
import { eventNames, type HookEventName, isEventName, isToolEvent, specOf, subjectOf } from "../hooks/HookEvents.ts"
import * as HookIndex from "../hooks/HookIndex.ts"
import * as HookSettings from "../hooks/HookSettings.ts"
import { nearest } from "../platform/Near.ts"
import type { Call } from "../policy/Call.ts"
import * as Rule from "../policy/Rule.ts"
import type { SettingsLayer } from "../settings/SettingsLayer.ts"
import { visible, visibleJson } from "./Reveal.ts"

export interface HooksExplain {
  readonly event: string
  readonly tool: string | undefined
  readonly input: unknown
  readonly json: boolean
}

interface Place {
  readonly cwd: string
  readonly home: string
}

export interface KnownHooks extends HookIndex.Known {
  readonly problems: ReadonlyArray<string>
}

/** The hooks of the settings. Those of agents and skills come with a session. */
export const known = (layers: ReadonlyArray<SettingsLayer>, place: Place): KnownHooks => {
  const { barred, handlers, problems, refused, waiting } = HookSettings.read(layers, place)
  const wrong = [...problems, ...waiting].map(HookConfig.render)
  return { handlers, refused, barred: ({ origin }) => barred(origin), problems: wrong }
}

export const listed = (found: KnownHooks, json: boolean): string => {
  const rows = HookIndex.list(found)
  if (json) return asJson({ hooks: rows, problems: found.problems })
  if (rows.length === 0) return "There are no hooks: no settings file defines any.\n"
  const events = [...new Set(rows.map(({ event }) => event))]
  const lines = events.flatMap((event) => [
    `${event}:`,
    ...rows.filter((row) => row.event === event).map((row) => `  ${line(row)}${row.runs ? "" : `  — ${row.why}`}`),
  ])
  return `${visible(lines.join("\n"))}\n`
}

/** Answers what is wrong with the question, where something is. */
export const explained = async (
  found: KnownHooks,
  { event, input, json, tool }: HooksExplain,
  place: Place,
): Promise<string | { readonly wrong: string }> => {
  if (!isEventName(event)) {
    const near = nearest(event, eventNames)
    const hint = near === undefined ? `There are: ${eventNames.join(", ")}.` : `Did you mean ${near}?`
    return { wrong: `there is no event ${event}. ${hint}` }
  }
  if (isToolEvent(event) && tool === undefined) return { wrong: `${event} is about a tool: name it with --tool.` }
  const subject = tool ?? (typeof input === "object" && input !== null ? subjectOf(event, input) : undefined)
  const call = tool === undefined || !isToolEvent(event) ? undefined : await callOf(tool, input, place)
  const rows = HookIndex.explain(found, event, subject, call)
  if (json) return asJson({ event, ...(subject !== undefined && { subject }), hooks: rows })
  const lines = [
    ...head(event, subject),
    ...rows.filter(({ runs }) => runs).map((row, at) => `  ${at + 1}. ${line(row)}  — ${row.why}`),
    ...rows.filter(({ runs }) => !runs).map((row) => `  ·  ${line(row)}  — ${row.why}`),
  ]
  return `${visible(lines.join("\n"))}\n`
}

const head = (event: HookEventName, subject: string | undefined): ReadonlyArray<string> => {
  const spec = specOf(event)
  const about = subject === undefined ? "" : ` (${subject})`
  const looks =
    spec.matcher === undefined ? "It has no matcher." : `Matchers look at ${spec.matcher.field}: ${spec.matcher.what}.`
  return [
    `${event}${about}: ${spec.when}.`,
    looks,
    "All that run do so at the same time; numbers say who is heard first:",
  ]
}

const line = ({ if: condition, kind, matcher, scope, source, what }: HookIndex.Explained): string =>
  [
    matcher === "" ? "*" : matcher,
    ...(condition === undefined ? [] : [`if ${condition}`]),
    `${kind === "" ? "" : `${kind}: `}${what.split("\n")[0] ?? ""}`,
    `(${scope}, ${source})`,
  ].join("  ")

const asJson = (value: unknown): string => `${visibleJson(JSON.stringify(value, undefined, 2))}\n`

const textAt = (input: unknown, ...names: ReadonlyArray<string>): string | undefined => {
  if (typeof input !== "object" || input === null) return undefined
  const found = names.map((name): unknown => Reflect.get(input, name)).find((value) => typeof value === "string")
  return typeof found === "string" ? found : undefined
}

/** The call as rules see it, by its arguments alone. */
const callOf = async (tool: string, input: unknown, place: Place): Promise<Call> => {
  const name = Rule.canonical(tool)
  const base = { tool: name, input, readOnly: false, touches: [] }
  const command = textAt(input, "command")
  if (name === "Bash" && command !== undefined) {
    const { analyse } = await import("../policy/Bash.ts")
    const bash = analyse(command, place)
    return { ...base, bash, touches: bash.touches }
  }
  const kind = Rule.fileTools.get(name)
  const path = textAt(input, "file_path", "notebook_path", "path")
  if (kind !== undefined && path !== undefined) {
    const at = resolve(place.cwd, path)
    const touch =
      kind === "Edit" ? ({ _tag: "Writes", path: at, how: "change" } as const) : ({ _tag: "Reads", path: at } as const)
    return { ...base, touches: [touch] }
  }
  const url = textAt(input, "url")
  return url !== undefined && URL.canParse(url) ? { ...base, domain: new URL(url).hostname } : base
}
