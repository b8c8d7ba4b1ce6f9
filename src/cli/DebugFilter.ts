/** Owns which entries of the debug log are wanted: `api,tools`, or `!api` for all but those. Pure, and without Effect. */
import { nearest } from "../platform/Near.ts"

/** What our own entries belong to. */
export const debugCategories = [
  "startup",
  "settings",
  "session",
  "api",
  "tools",
  "permissions",
  "agents",
  "skills",
  "hooks",
] as const
export type DebugCategory = (typeof debugCategories)[number]

/** Categories of clients with the same flag: accepted, and nothing of ours belongs to them. */
const foreign = ["mcp", "file", "statsig", "1p"]
const known: ReadonlyArray<string> = [...debugCategories, ...foreign]

export interface DebugFilter {
  readonly only: ReadonlyArray<string>
  readonly except: ReadonlyArray<string>
}

const parts = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")

const bare = (part: string): string => part.replace(/^!/, "").toLowerCase()

/** Whether a word behind `--debug` is meant for it; a prompt may stand there as well. */
export const isFilter = (text: string): boolean => {
  const found = parts(text)
  if (/\s/.test(text.trim()) || found.length === 0) return false
  return (
    found.every((part) => known.includes(bare(part))) ||
    (found.length > 1 && found.some((p) => known.includes(bare(p))))
  )
}

/** The filter, or what is wrong with it. */
export const parseFilter = (text: string): DebugFilter | string => {
  const found = parts(text)
  const wrong = found.find((part) => !known.includes(bare(part)))
  if (wrong !== undefined) {
    const near = nearest(bare(wrong), known)
    const hint = near === undefined ? "" : ` Did you mean ${near}?`
    return `"${wrong}" is no category for --debug. There are ${debugCategories.join(", ")}.${hint}`
  }
  return {
    only: found.filter((part) => !part.startsWith("!")).map(bare),
    except: found.filter((part) => part.startsWith("!")).map(bare),
  }
}

/** Warnings and errors are always wanted: they have no category. */
export const wants = ({ only, except }: DebugFilter, category: string | undefined): boolean =>
  category === undefined || (!except.includes(category) && (only.length === 0 || only.includes(category)))
