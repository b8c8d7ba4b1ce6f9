/**
 * Owns the sandbox's end of the way out: a small program that listens on the sandbox's own loopback, carries every connection to the
 * proxy's socket, and runs the command. It enforces nothing (the proxy outside does), so the command may do with it what it likes.
 *
 * It is a text for `node -e`: our own executable is always there, socat is not, and no file needs to be found inside.
 */
import * as Sensitive from "./Sensitive.ts"

export const port = 3128

/** Variables that steer node itself; the relay starts without them and gives them back to the command. */
const steering = ["NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "NODE_V8_COVERAGE"]
const kept = "TROUPE_RELAY_"

const program = `
const net = require("net"), { writeSync } = require("fs"), { spawn } = require("child_process")
const [at, port, command, ...args] = process.argv.slice(1)
const env = { ...process.env }
for (const name of ${JSON.stringify(steering)}) {
  const value = env["${kept}" + name]
  delete env["${kept}" + name]
  if (value !== undefined) env[name] = value
}
const refusals = net.connect(at, () => refusals.write("\\0"))
refusals.on("data", (line) => { try { writeSync(2, line) } catch {} })
refusals.on("error", () => {})
const server = net.createServer({ allowHalfOpen: true }, (inner) => {
  const outer = net.connect({ path: at, allowHalfOpen: true })
  inner.pipe(outer); outer.pipe(inner)
  const end = () => { inner.destroy(); outer.destroy() }
  inner.on("error", end); outer.on("error", end); outer.on("close", end)
})
server.listen(Number(port), "127.0.0.1", () => {
  const child = spawn(command, args, { stdio: "inherit", env })
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name))
  child.on("error", (error) => { writeSync(2, error.message + "\\n"); process.exit(127) })
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
})`

export const command = (node: string, socket: string, given: ReadonlyArray<string>): ReadonlyArray<string> => [
  node,
  "-e",
  program,
  "--",
  socket,
  String(port),
  ...given,
]

const http = `http://127.0.0.1:${port}`
const local = "localhost,127.0.0.1,::1"

/** What programs look at to find a proxy. `localhost` is the sandbox's own and needs none. */
export const variables: Readonly<Record<string, string>> = {
  HTTP_PROXY: http,
  HTTPS_PROXY: http,
  http_proxy: http,
  https_proxy: http,
  ALL_PROXY: `socks5h://127.0.0.1:${port}`,
  all_proxy: `socks5h://127.0.0.1:${port}`,
  NO_PROXY: local,
  no_proxy: local,
  NODE_USE_ENV_PROXY: "1",
}

type Env = Readonly<Record<string, string | undefined>>

/** Without keys, and without proxies that cannot be reached from inside. */
export const cleaned = (env: Env): Record<string, string> => {
  const clean: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !Sensitive.isSecretVariable(name) && !(name in variables)) clean[name] = value
  }
  return clean
}

export const withProxy = (env: Readonly<Record<string, string>>): Record<string, string> => {
  const all: Record<string, string> = { ...env, ...variables }
  for (const name of steering) {
    const value = all[name]
    if (value === undefined) continue
    Reflect.deleteProperty(all, name)
    all[kept + name] = value
  }
  return all
}
