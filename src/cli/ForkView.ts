/** Owns how two ways from one place in a session are shown: what was recorded on the left, what another model made of it on the right. */
import type { Fork, Outcome } from "../replay/Counterfactual.ts"
import { wrap } from "./Manual.ts"

export const sideBySide = ({ at, counterfactual, prompt, recorded }: Fork, columns: number): string => {
  const width = Math.max(20, Math.floor((columns - 3) / 2))
  const left = described("recorded", recorded, width)
  const right = described("counterfactual", counterfactual, width)
  const rows = Array.from({ length: Math.max(left.length, right.length) }, (_, row) =>
    `${(left[row] ?? "").padEnd(width)} | ${right[row] ?? ""}`.trimEnd(),
  )
  return [`From #${at} on: ${prompt.split("\n")[0] ?? ""}`, "", ...rows, ""].join("\n")
}

const described = (title: string, outcome: Outcome, width: number): ReadonlyArray<string> => {
  const { calls, costUsd, model, outputTokens, replies, requests, terminal } = outcome
  const lines = [
    `${title}: ${model}`,
    `${requests} requests, ${outputTokens} tokens out, $${costUsd.toFixed(4)}`,
    `ended: ${terminal === undefined ? "not at all" : terminal.reason}`,
    ...(terminal?.detail === undefined ? [] : [terminal.detail]),
    "",
    ...calls.map(
      ({ input, outcome: how, tool }) => `${how === "completed" ? "+" : "!"} ${tool} ${JSON.stringify(input)}`,
    ),
    ...(calls.length > 0 ? [""] : []),
    ...replies.flatMap((reply) => reply.split("\n")),
  ]
  return lines.flatMap((line) => (line === "" ? [""] : wrap(line, width).map((part) => part.slice(0, width))))
}
