/**
 * A web page that talks to an agent: every piece of text reaches the browser as it comes, by server-sent events, and a browser
 * that goes away ends the turn. Without Effect: `troupe/promise`.
 * Needs ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL for a gateway).
 *
 *   PORT=3000 node web-server.js
 */
import { createServer } from "node:http"
import { createTroupe, type Event } from "troupe/promise"

const page = `<!doctype html><meta charset="utf-8"><title>Ask</title>
<form><input name="q" size="60" placeholder="Ask something" autofocus></form><pre style="white-space:pre-wrap"></pre>
<script>
  const [form, out] = [document.querySelector("form"), document.querySelector("pre")]
  form.onsubmit = (submit) => {
    submit.preventDefault()
    out.textContent = ""
    const events = new EventSource("/ask?" + new URLSearchParams(new FormData(form)))
    events.onmessage = ({ data }) => out.append(JSON.parse(data))
    events.addEventListener("end", ({ data }) => (out.append("\\n\\n" + JSON.parse(data)), events.close()))
  }
</script>`

const textOf = (event: Event): string =>
  event._tag === "StreamChunk" && event.event.type === "content_block_delta" && event.event.delta.type === "text_delta"
    ? event.event.delta.text
    : ""

const troupe = await createTroupe({ budget: { name: "this server", usd: 5 } })

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost")
  if (pathname !== "/ask") return void response.setHeader("content-type", "text/html").end(page)
  const gone = new AbortController()
  response.on("close", () => gone.abort())
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  const send = (data: string, event = "message") => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  try {
    // No tools: whoever reaches this page can make the agent talk, and nothing else.
    await using agent = await troupe.open()
    for await (const event of agent.prompt(searchParams.get("q") ?? "Hello", { signal: gone.signal })) {
      if (textOf(event) !== "") send(textOf(event))
      if (event._tag === "TurnEnded") send(event.terminal.detail ?? `${event.costUsd.toFixed(4)} USD`, "end")
    }
  } catch (error) {
    send(error instanceof Error ? error.message : String(error), "end")
  }
  response.end()
})

server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const address = server.address()
  if (typeof address === "object") process.stdout.write(`http://127.0.0.1:${address?.port} – Ctrl-C ends it\n`)
})
process.once("SIGINT", () => void troupe.close().then(() => process.exit(0)))
