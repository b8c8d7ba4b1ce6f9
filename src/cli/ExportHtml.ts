/**
 * Owns a session as an HTML page that stands alone: no script, nothing fetched, every character of others escaped. A policy in the page
 * forbids both, should anything slip through.
 */
import * as DateTime from "effect/DateTime"
import type * as Conversation from "../session/Conversation.ts"
import { attachmentsOf, type Exported, inputText, printable, stamp } from "./ExportMarkdown.ts"
import { describe } from "./ToolView.ts"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

export const escape = (text: string): string => printable(text).replace(/[&<>"']/g, (found) => entities[found] ?? "")

const style = `
:root { color-scheme: light dark; --ink: #1d1f21; --dim: #6b7075; --paper: #fdfdfc; --card: #f3f3f0; --line: #dddcd6; --accent: #2f5f9e; --bad: #a62b2b }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e1; --dim: #989da3; --paper: #17181a; --card: #212327; --line: #35383d; --accent: #8ab4e8; --bad: #ef8b8b } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 52rem; padding: 2.5rem 1.25rem 5rem; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .5rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 2rem; color: var(--dim); font-size: .875rem }
dd { margin: 0; overflow-wrap: anywhere }
article { margin: 1rem 0 }
.prompt { background: var(--card); border-left: 3px solid var(--accent); border-radius: 6px; padding: .75rem 1rem; margin-top: 2.5rem }
.text { white-space: pre-wrap; overflow-wrap: anywhere }
.note, time { color: var(--dim); font-size: .8125rem }
time { display: block; margin-bottom: .25rem }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; background: var(--card) }
summary { cursor: pointer; padding: .4rem .75rem; font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; color: var(--dim) }
details[open] > summary { border-bottom: 1px solid var(--line) }
.failed > summary { color: var(--bad) }
pre { margin: 0; padding: .75rem; overflow-x: auto; font: 12.5px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
pre + pre { border-top: 1px dashed var(--line) }
pre.code { background: var(--card); border-radius: 6px; margin: .75rem 0; white-space: pre; overflow-wrap: normal }
@media print { body { max-width: none } details { break-inside: avoid } }
`

/** Fenced code is set as code; everything else stays as it was written. */
const prose = (text: string): string => {
  const parts = text.split(/^(?:```|~~~)[^\n]*\n([^]*?)^(?:```|~~~)[ \t]*$/m)
  return parts
    .map((part, at) => {
      if (at % 2 === 1) return `<pre class="code">${escape(part.trimEnd())}</pre>`
      const trimmed = part.trim()
      return trimmed === "" ? "" : `<div class="text">${escape(trimmed)}</div>`
    })
    .join("\n")
}

const timeOf = (time: number | undefined): string =>
  time === undefined ? "" : `<time datetime="${DateTime.formatIso(DateTime.makeUnsafe(time))}">${stamp(time)}</time>`

const section = (item: Conversation.Item, cwd: string): string => {
  switch (item.kind) {
    case "prompt": {
      const attachments = attachmentsOf(item.attachments)
      const note = attachments === "" ? "" : `<div class="note">${attachments}</div>`
      return `<article class="prompt">${timeOf(item.time)}<div class="text">${escape(item.text)}</div>${note}</article>`
    }
    case "reply":
      return `<article>${prose(item.text)}</article>`
    case "thinking":
      return `<details><summary>Thinking</summary><pre>${escape(item.text)}</pre></details>`
    case "call": {
      const isBad = item.outcome !== undefined && item.outcome !== "completed"
      const summary = `${escape(describe(item.tool, item.input, cwd))}${isBad ? ` (${item.outcome})` : ""}`
      const result =
        item.result === undefined
          ? '<pre class="note">no result was recorded</pre>'
          : `<pre>${escape(item.result)}</pre>`
      return `<details${isBad ? ' class="failed"' : ""}><summary>${summary}</summary><pre>${escape(inputText(item.input))}</pre>${result}</details>`
    }
    case "note":
      return `<p class="note">${escape(item.text)}</p>`
  }
}

export const html = (session: Exported): string => {
  const { began, cwd = "", items, model, sessionId, tags, title } = session
  const facts: ReadonlyArray<readonly [string, string]> = [
    ["Begun", began === undefined ? "" : `${stamp(began)} UTC`],
    ["Directory", cwd],
    ["Model", model ?? ""],
    ["Tags", tags.join(", ")],
    ["Session", sessionId],
  ]
  const rows = facts.flatMap(([name, value]) => (value === "" ? [] : [`<dt>${name}</dt><dd>${escape(value)}</dd>`]))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>${escape(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escape(title)}</h1>
<dl>${rows.join("")}</dl>
<main>
${items.map((item) => section(item, cwd)).join("\n")}
</main>
</body>
</html>
`
}
