// Plays a model for the bench, in a process of its own: it reads nothing of a request but its size and the time it came, so that
// what is measured is the client. Its parent says which replies to give and asks for the times.
import { createServer } from "node:http"
import { now } from "./clock.mjs"

/** What to answer, request by request, and what was seen since. */
let plan = { kind: "text" }
let seen = []
let lastBody = ""

const server = createServer((request, response) => {
  const entry = { arrivedAt: now(), readAt: 0, bytes: 0, blockEndAt: 0, repliedAt: 0 }
  const number = seen.push(entry) - 1
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    entry.readAt = now()
    lastBody = Buffer.concat(chunks)
    entry.bytes = lastBody.length
    reply(response, number, entry)
  })
})
server.keepAliveTimeout = 0

const reply = (response, number, entry) => {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })
  const calls = callsOf(number)
  const { head, blocks, tail } = messageOf(number, calls)
  const finish = () => {
    entry.repliedAt = now()
    response.end(tail)
  }
  if (plan.kind !== "early" || calls.length === 0) {
    entry.repliedAt = now()
    response.end(head + blocks + tail)
    return
  }
  // The last frame of the block by itself, then nothing for a while: what happens meanwhile happened early.
  entry.blockEndAt = now()
  response.write(head + blocks)
  setTimeout(finish, plan.holdMs)
}

const callsOf = (number) => {
  if (plan.kind === "text" || number >= plan.turns) return []
  return plan.files.map((file) => ({ name: "Read", input: { file_path: file } }))
}

const frame = (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

const messageOf = (number, calls) => {
  const usage = { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  const message = { id: `msg_${number}`, type: "message", role: "assistant", model: "bench", content: [], usage }
  const steps = calls.length === 0 ? [{ text: "Done." }] : [{ text: "I read on." }, ...calls]
  const blocks = steps.map((step, index) => {
    const content_block =
      step.text === undefined
        ? { type: "tool_use", id: `toolu_${number}_${index}`, name: step.name, input: {} }
        : { type: "text", text: "" }
    const delta =
      step.text === undefined
        ? { type: "input_json_delta", partial_json: JSON.stringify(step.input) }
        : { type: "text_delta", text: step.text }
    return [
      frame({ type: "content_block_start", index, content_block }),
      frame({ type: "content_block_delta", index, delta }),
      frame({ type: "content_block_stop", index }),
    ].join("")
  })
  const stop_reason = calls.length === 0 ? "end_turn" : "tool_use"
  return {
    head: frame({ type: "message_start", message }),
    blocks: blocks.join(""),
    tail:
      frame({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } }) +
      frame({ type: "message_stop" }),
  }
}

process.on("message", (message) => {
  if (message.plan !== undefined) {
    plan = message.plan
    seen = []
    process.send({ ready: true })
  } else {
    process.send({ seen, lastBody: message.withBody ? lastBody.toString("utf8") : undefined })
  }
})
process.on("disconnect", () => process.exit())
server.listen(0, "127.0.0.1", () => process.send({ url: `http://127.0.0.1:${server.address().port}` }))
