/** Owns how `troupe config` shows settings: each value with where it comes from, and what is wrong in the files. */
import { render, type Explanation } from "../settings/Explain.ts"
import type { Snapshot } from "../settings/Settings.ts"
import { place } from "../settings/SettingsLayer.ts"
import { plain } from "./Plain.ts"

const ended = (text: string) => (text === "" ? "" : `${text}\n`)

/** `config explain [key]`. */
export const explained = (explanations: ReadonlyArray<Explanation>, json: boolean, one: boolean): string => {
  if (json) return ended(JSON.stringify(one ? explanations[0] : explanations, undefined, 2))
  if (explanations.length === 0) return "No settings file, variable or flag sets anything; the defaults apply.\n"
  return ended(plain(explanations.map(render).join("\n")))
}

/** `config trust`: what waits for a person to agree to it. */
export const waiting = ({ layers }: Snapshot): string => {
  const parts = layers.flatMap(({ source, withheld }) =>
    Object.keys(withheld).length === 0 ? [] : [`${source.name} wants:`, JSON.stringify(withheld, undefined, 2)],
  )
  return ended(plain(parts.join("\n")))
}

/** `config list`: the sources from the strongest to the weakest, then the complaints. */
export const listed = (snapshot: Snapshot, json: boolean): string => {
  const sources = snapshot.layers.toReversed().map((layer) => ({
    kind: layer.source.kind,
    name: layer.source.name,
    settings: Object.keys(layer.value).length,
    withheld: Object.keys(layer.withheld).length,
  }))
  const complaints = snapshot.diagnostics.map(({ severity, source, key, message, ...rest }) => ({
    severity,
    where: place(source, rest),
    key,
    message,
  }))
  if (json) return ended(JSON.stringify({ sources, files: snapshot.files, diagnostics: complaints }, undefined, 2))
  const found = sources.map(({ kind, name, settings, withheld }) => {
    const waiting = withheld > 0 ? `, ${withheld} waiting for trust` : ""
    return `  ${kind.padEnd(11)} ${name}  (${settings} setting${settings === 1 ? "" : "s"}${waiting})`
  })
  return ended(
    plain(
      [
        "Sources, the strongest first:",
        ...(found.length === 0 ? ["  none"] : found),
        "Files that would count:",
        ...snapshot.files.map((file) => `  ${file}`),
        ...(complaints.length === 0 ? [] : ["Problems:"]),
        ...complaints.map(({ severity, where, key, message }) => `  ${severity}  ${where}  ${key}: ${message}`),
      ].join("\n"),
    ),
  )
}
