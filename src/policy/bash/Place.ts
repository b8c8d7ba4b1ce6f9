/** Owns paths as text: where a word leads from a directory, and which files are no files. */

/** Joined and with `.` and `..` resolved by text alone. */
export const resolve = (cwd: string, path: string): string => {
  const out: Array<string> = []
  for (const name of (path.startsWith("/") ? path : `${cwd}/${path}`).split("/")) {
    if (name === "" || name === ".") continue
    if (name === "..") out.pop()
    else out.push(name)
  }
  return `/${out.join("/")}`
}

/** Behind a name that may be a link, `..` is not where the text says. */
export const isLexical = (path: string): boolean => {
  let named = false
  for (const name of path.split("/")) {
    if (name === "..") {
      if (named) return false
    } else if (name !== "" && name !== ".") named = true
  }
  return true
}

/** Files that are only a way to the command's own input and output, or to nowhere. */
export const isStream = (path: string): boolean => /^\/dev\/(?:null|stdin|stdout|stderr|fd\/\d+)$/.test(path)

/** The host that opening this "file" would connect to, in bash. */
export const socketHost = (path: string): string | undefined => /^\/dev\/(?:tcp|udp)\/([^/]+)/.exec(path)?.[1]
