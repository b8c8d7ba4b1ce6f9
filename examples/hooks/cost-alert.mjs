/**
 * Tells the person whenever a session has cost another `--every` dollars (5 unless told); never stops anything.
 *
 * Stop. The cost is reckoned from the transcript, at list prices: an estimate, not the bill. For a limit that holds, use --max-budget-usd.
 */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"

const every = Number(parseArgs({ options: { every: { type: "string", default: "5" } } }).values.every)

/** Dollars for a million tokens of input and of output; the first name that the model's contains counts. Yours to keep up to date. */
const prices = [
  ["haiku", 1, 5],
  ["sonnet", 3, 15],
  ["opus", 5, 25],
  ["", 5, 25],
]

const costOf = ({ model = "", usage }) => {
  const [, input, output] = prices.find(([name]) => model.includes(name))
  const { input_tokens = 0, output_tokens = 0, cache_creation_input_tokens = 0, cache_read_input_tokens = 0 } = usage
  const read = input_tokens + 1.25 * cache_creation_input_tokens + 0.1 * cache_read_input_tokens
  return (read * input + output_tokens * output) / 1_000_000
}

const { transcript_path } = JSON.parse(readFileSync(0, "utf8"))
const lines = readFileSync(transcript_path, "utf8")
  .split("\n")
  .filter((line) => line !== "")

/** A reply is written in several lines with one id, each with the usage so far: the last one has it all. */
const replies = new Map()
let before = 0
const total = () => [...replies.values()].reduce((sum, message) => sum + costOf(message), 0)
for (const line of lines) {
  const { type, isMeta, message } = JSON.parse(line)
  if (type === "assistant" && message?.usage !== undefined) replies.set(message.id, message)
  const isPrompt =
    type === "user" && !isMeta && (typeof message.content === "string" || message.content[0]?.type !== "tool_result")
  if (isPrompt) before = total()
}

// A step is announced by the turn that crosses it, so nothing has to be remembered.
const now = total()
if (Math.floor(now / every) > Math.floor(before / every)) {
  const systemMessage = `This session has cost about $${now.toFixed(2)}, $${(now - before).toFixed(2)} of it since your last prompt.`
  console.log(JSON.stringify({ systemMessage }))
}
