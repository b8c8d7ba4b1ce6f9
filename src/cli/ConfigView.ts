/** Owns how `troupe config` shows settings: each value with where it comes from, and what is wrong in the files. */
import { hide, render, type Explanation } from "../settings/Explain.ts"
import type { Json } from "../settings/Merge.ts"
import type { Snapshot } from "../settings/Settings.ts"
import type { Review } from "../settings/Trust.ts"
import type { Wish } from "./TrustDialogue.ts"
import { place } from "../settings/SettingsLayer.ts"
import { revealJson, unseen, visible, visibleJson } from "./Reveal.ts"

const ended = (text: string) => (text === "" ? "" : `${text}\n`)
const pretty = (value: unknown) => visibleJson(JSON.stringify(value, undefined, 2))

/** `config explain [key]`. */
export const explained = (explanations: ReadonlyArray<Explanation>, json: boolean, one: boolean): string => {
  if (json) {
    const shown = explanations.map(hide)
    return ended(pretty(one ? shown[0] : shown))
  }
  if (explanations.length === 0) return "No settings file, variable or flag sets anything; the defaults apply.\n"
  return ended(visible(explanations.map(render).join("\n")))
}

/** What the settings files of a folder want and nobody has agreed to yet, one text a file. */
export const wishes = ({ layers, reviews }: Pick<Snapshot, "layers" | "reviews">): ReadonlyArray<Wish> =>
  layers.flatMap(({ source, withheld }) => {
    const review = reviews.find((one) => one.source.name === source.name)
    return review === undefined ? [] : [wish(review, withheld)]
  })

/** What a file wants, in full but for secrets. */
export const wish = (review: Review, wanted: Json): Wish => {
  const shown = pretty(hide({ key: "", value: wanted, entries: [] }).value)
  const escapes = unseen(revealJson(shown))
  const lines = [
    `${visible(review.source.name, true)} wants:`,
    shown,
    ...(shown === pretty(wanted)
      ? []
      : [`Secrets are hidden. Agreeing covers them as they are now: the hash of it all is ${review.hash}.`]),
    ...(escapes.length === 0 ? [] : [`It contains invisible characters, shown as ${escapes.join(" ")}`]),
  ]
  return { review, text: lines.join("\n") }
}

/** `config list`: the sources from the strongest to the weakest, then the complaints. */
export const listed = (snapshot: Pick<Snapshot, "layers" | "diagnostics" | "files">, json: boolean): string => {
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
  if (json) return ended(pretty({ sources, files: snapshot.files, diagnostics: complaints }))
  const found = sources.map(({ kind, name, settings, withheld }) => {
    const waiting = withheld > 0 ? `, ${withheld} waiting for trust` : ""
    return `  ${kind.padEnd(11)} ${name}  (${settings} setting${settings === 1 ? "" : "s"}${waiting})`
  })
  return ended(
    visible(
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
