/** Owns how `troupe permissions explain` shows a decision: what was decided and by which step, what the call touches, every rule about it. */
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { RuleReport, Verdict } from "../policy/Decide.ts"
import type { Touch } from "../policy/Effects.ts"
import { visible, visibleJson } from "./Reveal.ts"

export interface PermissionsExplain {
  readonly tool: string
  readonly input: unknown
  readonly json: boolean
  readonly permissionMode: PermissionMode | undefined
  readonly allowedTools: ReadonlyArray<string>
  readonly disallowedTools: ReadonlyArray<string>
  readonly addDirs: ReadonlyArray<string>
}

export const shown = (verdict: Verdict, json: boolean): string => {
  if (json) return `${visibleJson(JSON.stringify(verdict, undefined, 2))}\n`
  const { decision, effects, reason, rules, step } = verdict
  const lines = [
    `${decision}: ${reason} (${step})`,
    ...section("It would touch:", effects.map(touch)),
    ...section("Rules about it:", rules.map(rule)),
  ]
  return `${visible(lines.join("\n"))}\n`
}

const section = (title: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)]

const touch = (one: Touch): string => {
  switch (one._tag) {
    case "Reads":
      return `reads ${one.path}${one.pattern === true ? " (a pattern)" : ""}${one.possible === true ? " (perhaps)" : ""}`
    case "Writes":
      return `writes ${one.path} (${one.how})`
    case "Executes":
      return `runs ${[one.program, ...one.argv.slice(1)].join(" ")}`
    case "Connects":
      return `talks to ${one.host}`
    case "Unknown":
      return `anything: ${one.why}`
  }
}

const rule = ({ behavior, file, line, matched, source, text, why }: RuleReport): string => {
  const place = file === undefined ? source : `${file}${line === undefined ? "" : `:${line}`}`
  return `${matched ? "✓" : "·"} ${behavior} ${text}  (${place}) ${why}`
}
