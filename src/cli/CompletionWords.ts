/**
 * Owns the words of completions that change from day to day: the sessions of this directory.
 *
 * It is asked while somebody waits with a finger on the key: it reads one directory and the beginning of a few files, prints what
 * it found and never fails.
 */
import { closeSync, constants, openSync, readdirSync, readSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { isSessionId, projectsDirectory, transcriptPath } from "../session/SessionPaths.ts"
import { oneLine } from "./Plain.ts"

const most = 30
const head = 16_384

interface Place {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: () => string
}

/** A line for each: the id, a tab, and what it was about. */
export const words = (what: string, place: Place): string => {
  if (what !== "sessions") return ""
  try {
    return sessions(place).join("")
  } catch {
    return ""
  }
}

const sessions = ({ env, cwd }: Place): ReadonlyArray<string> => {
  const configDir = env["CLAUDE_CONFIG_DIR"] || join(homedir(), ".claude")
  const directory = join(transcriptPath({ configDir }, cwd(), ""), "..")
  if (!directory.startsWith(join(projectsDirectory({ configDir })))) return []
  // Sweden writes 2026-11-18 13:59.
  const dates = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" })
  return readdirSync(directory)
    .flatMap((name) => {
      const id = name.replace(/\.jsonl$/, "")
      const found =
        id !== name && isSessionId(id) ? statSync(join(directory, name), { throwIfNoEntry: false }) : undefined
      return found?.isFile() === true ? [{ id, file: join(directory, name), modified: found.mtimeMs }] : []
    })
    .toSorted((a, b) => b.modified - a.modified)
    .slice(0, most)
    .map(({ id, file, modified }) => `${id}\t${dates.format(modified)} ${firstPrompt(file)}`.trimEnd() + "\n")
}

const read = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : undefined

/** What a person said first, as far as it stands at the beginning of the file. */
const firstPrompt = (file: string): string => {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const bytes = Buffer.alloc(head)
    const lines = bytes
      .toString("utf8", 0, readSync(descriptor, bytes, 0, head, 0))
      .split("\n")
      .slice(0, -1)
    for (const line of lines) {
      const entry = parsed(line)
      const content = read(entry, "type") === "user" ? read(read(entry, "message"), "content") : undefined
      const text = Array.isArray(content) ? content.map((block) => read(block, "text")).find(isText) : content
      if (isText(text)) return [...oneLine(text)].slice(0, 60).join("")
    }
    return ""
  } finally {
    closeSync(descriptor)
  }
}

const isText = (value: unknown): value is string => typeof value === "string"

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
