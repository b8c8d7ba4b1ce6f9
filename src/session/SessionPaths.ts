/** Owns where a session lives on disk, and which names may become a part of a path. */
import type { HostShape } from "../platform/Host.ts"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A session id is a UUID, and nothing else ever reaches the disk as one. */
export const isSessionId = (id: string): boolean => uuid.test(id)

type Config = Pick<HostShape, "configDir">

export const sessionsDirectory = (host: Config): string => `${host.configDir}/troupe/sessions`
export const sessionDirectory = (host: Config, id: string): string => `${sessionsDirectory(host)}/${id.toLowerCase()}`
export const journalPath = (host: Config, id: string): string => `${sessionDirectory(host, id)}/journal.ndjson`
export const blobPath = (host: Config, id: string, hash: string): string =>
  `${sessionDirectory(host, id)}/blobs/${hash}`

/** What files held before this session changed them. */
export const fileHistoryDirectory = (host: Config, id: string): string =>
  `${host.configDir}/file-history/${id.toLowerCase()}`

export const projectsDirectory = (host: Config): string => `${host.configDir}/projects`
export const transcriptPath = (host: Config, cwd: string, id: string): string =>
  `${projectsDirectory(host)}/${projectName(cwd)}/${id.toLowerCase()}.jsonl`

const longest = 200

/** The directory name under `projects/`: every character that is no letter or digit becomes a dash; a long name is cut and hashed. */
export const projectName = (cwd: string): string => {
  const name = cwd.replace(/[^a-zA-Z0-9]/g, "-")
  return name.length <= longest ? name : `${name.slice(0, longest)}-${shortHash(cwd)}`
}

/** Other programs may hash a long name differently; what they share with us is the part before the hash. */
export const isProjectName = (name: string, cwd: string): boolean => {
  const own = projectName(cwd)
  return name === own || (own.length > longest && name.startsWith(own.slice(0, longest + 1)))
}

const shortHash = (text: string): string => {
  let hash = 0
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return Math.abs(hash).toString(36)
}
