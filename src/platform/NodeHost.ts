/** Owns the reading of process globals: the only place where the product looks at `process.env`. */
import * as Layer from "effect/Layer"
import * as os from "node:os"
import process from "node:process"
import { Host, make, type Platform } from "./Host.ts"

const platform = (): Platform => {
  const name = process.platform
  return name === "linux" || name === "darwin" || name === "win32" ? name : "other"
}

/** `process.cwd()` throws when the directory was removed under us; the shell's own idea of it names the fix better. */
const cwd = (): string => {
  try {
    return process.cwd()
  } catch {
    return process.env.PWD ?? os.homedir()
  }
}

export const layer: Layer.Layer<Host> = Layer.sync(Host, () =>
  make({
    env: process.env,
    cwd: cwd(),
    home: os.homedir(),
    tmpDir: os.tmpdir(),
    platform: platform(),
    pid: process.pid,
    isInteractive: process.stdin.isTTY === true && process.stdout.isTTY === true,
  }),
)
