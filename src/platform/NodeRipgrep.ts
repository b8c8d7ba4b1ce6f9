/** Owns where ripgrep is on node: the packaged program, or the system's own where there is none for this machine. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createRequire } from "node:module"
import process from "node:process"
import { Host } from "./Host.ts"
import type { Process } from "./Process.ts"
import { Ripgrep } from "./Ripgrep.ts"

/** Resolved through the package that brings it, so that strict package layouts work too. */
const packaged = (): string | undefined => {
  try {
    const carrier = createRequire(import.meta.url).resolve("@vscode/ripgrep")
    const program = process.platform === "win32" ? "rg.exe" : "rg"
    return createRequire(carrier).resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/${program}`)
  } catch {
    return undefined
  }
}

/** Looked for at the first search, since many sessions have none. */
let known: string | undefined
const found = (): string => (known ??= packaged() ?? "rg")

/** `USE_BUILTIN_RIPGREP=0` asks for the system's own. */
export const layer: Layer.Layer<Ripgrep, never, Process | Host> = Layer.unwrap(
  Effect.map(Host, (host) => Ripgrep.layerAt(host.env("USE_BUILTIN_RIPGREP") === "0" ? "rg" : found)),
)
