// The floor: posts bodies of given sizes over node:http with one kept connection and reads each reply's events. No harness.
"use strict"
const http = require("node:http")
const fs = require("node:fs")

const { BENCH_URL, BENCH_BODY, BENCH_SIZES } = process.env
const body = fs.readFileSync(BENCH_BODY)
const sizes = BENCH_SIZES === undefined ? [body.length] : JSON.parse(fs.readFileSync(BENCH_SIZES, "utf8"))
const url = new URL("/v1/messages", BENCH_URL)
const agent = new http.Agent({ keepAlive: true })

const post = (number) => {
  if (number === sizes.length) return agent.destroy()
  const bytes = body.subarray(0, sizes[number])
  const headers = { "content-type": "application/json", "x-api-key": "bench", "content-length": bytes.length }
  const request = http.request(url, { method: "POST", agent, headers }, (response) => {
    let text = ""
    response.setEncoding("utf8")
    response.on("data", (chunk) => {
      text += chunk
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const data = text.slice(0, end).split("\ndata: ")[1]
        text = text.slice(end + 2)
        if (data !== undefined) JSON.parse(data)
      }
    })
    response.on("end", () => post(number + 1))
  })
  request.end(bytes)
}
post(0)
