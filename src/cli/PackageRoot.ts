/** Owns where the installed package is: the same files are found from the sources and from the built command. */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const read = (directory: string): { readonly name?: unknown; readonly version?: unknown } | undefined => {
  const file = join(directory, "package.json")
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined
}

/** The nearest directory upwards whose package.json is ours: `bin/` and `dist/` may hold small ones of their own. */
const find = (from: string): string => {
  for (let at = from; ; at = dirname(at)) {
    if (read(at)?.name === "troupe") return at
    if (dirname(at) === at) return from
  }
}

export const packageRoot = (): string => find(dirname(fileURLToPath(import.meta.url)))

export const version = (): string => {
  const found = read(packageRoot())?.version
  return typeof found === "string" ? found : "unknown"
}

/** The playbook of `troupe demo`. */
export const demoPlaybook = (): string => join(packageRoot(), "evals", "playbooks", "demo.yaml")
