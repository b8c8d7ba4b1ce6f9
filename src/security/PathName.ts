/**
 * Owns what is wrong with a path by its letters alone: characters that deceive the person who approves it, lengths no file system
 * takes, and places that are doors to the kernel rather than files. Nothing is looked up here.
 */

/** Shown as nothing, or changing the order of what is shown. Selectors 15 and 16 stay: ordinary emoji end in them. */
const invisible =
  // oxlint-disable-next-line no-misleading-character-class
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u
// oxlint-disable-next-line no-control-regex
const control = /[\u0001-\u001f\u007f-\u009f]/
const longestName = 255
const longestPath = 4095

const code = (char: string): string => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** Why the letters of a path are refused, with how to fix it. */
export const problemOfText = (path: string): string | undefined => {
  if (path === "") return "The path is empty. Name a file."
  if (path.includes("\0")) return "The path contains a NUL byte, which ends a name for the system. Leave it out."
  const bad = control.exec(path)?.[0]
  if (bad !== undefined) return `The path contains the control character ${code(bad)}. Leave it out.`
  const hidden = invisible.exec(path)?.[0]
  if (hidden !== undefined) {
    return `The path contains ${code(hidden)}, an invisible or text-reordering character: it would not be what it looks like. Leave it out.`
  }
  if (/\p{Surrogate}/u.test(path)) return "The path contains half of a Unicode pair, which no file name can hold."
  if (bytesOf(path) > longestPath) return `The path is longer than ${longestPath} bytes.`
  const long = path.split("/").find((name) => bytesOf(name) > longestName)
  return long === undefined ? undefined : `The name "${long.slice(0, 40)}…" is longer than ${longestName} bytes.`
}

const harmless = new Set(
  ["null", "zero", "full", "random", "urandom", "stdout", "stderr"].map((name) => `/dev/${name}`),
)

/** Why an absolute, normalised path is no file to work on: other processes' insides, descriptors, devices. */
export const problemOfPlace = (at: string): string | undefined => {
  if (/^\/proc\/(?:self|thread-self|\d+)(?:\/|$)/.test(at)) {
    return `${at} is the inside of a process (memory, environment, open files), not a file. Name the file itself.`
  }
  if (/^\/proc\/(?:kcore|kmem|kallsyms|sysrq-trigger|sys)(?:\/|$)/.test(at))
    return `${at} is the kernel itself, not a file.`
  if (at === "/dev/fd" || at.startsWith("/dev/fd/"))
    return `${at} is an open descriptor, not a file. Name the file itself.`
  if (at.startsWith("/dev/") && !harmless.has(at) && !at.startsWith("/dev/shm/")) {
    return `${at} is a device. Only /dev/null and its like may be used.`
  }
  return undefined
}

export const isHarmlessDevice = (at: string): boolean => harmless.has(at)

/** The same name for every spelling of its accents. */
export const composed = (name: string): string => name.normalize("NFC")

/** The same name on a file system that ignores case. */
export const folded = (name: string): string => name.normalize("NFC").toLowerCase().normalize("NFC")
