/**
 * Owns the question whether a repository's configuration file is clean: it sets nothing that could make git run a program, read
 * another configuration or fetch. A list of harmless keys, so an unknown key is not clean.
 */

const harmless: ReadonlyArray<RegExp> = [
  /^core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|preloadindex|untrackedcache|longpaths|sharedrepository)$/,
  /^extensions\.objectformat$/,
  /^remote\.[^.\n]+\.(?:url|fetch|pushurl|tagopt|prune)$/,
  /^branch\..+\.(?:remote|merge|rebase|description|pushremote)$/,
  /^user\.(?:name|email)$/,
  /^(?:pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|merge\.(?:ff|conflictstyle)|rebase\.(?:autostash|autosquash)|fetch\.prune|init\.defaultbranch)$/,
  /^(?:color\.ui|gc\.auto|status\.(?:short|branch|showuntrackedfiles))$/,
]

/** What git writes itself and people set often; continuation lines and includes are not read, so they are not clean. */
export const isClean = (text: string): boolean => {
  let section = ""
  for (const raw of text.split("\n")) {
    const line = raw.trim()
    if (line === "" || line.startsWith("#") || line.startsWith(";")) continue
    if (line.endsWith("\\")) return false
    const head = /^\[([A-Za-z0-9.-]+)(?: "((?:[^"\\\n])*)")?\]$/.exec(line)
    if (head !== null) {
      section = head[2] === undefined ? (head[1] ?? "").toLowerCase() : `${(head[1] ?? "").toLowerCase()}.${head[2]}`
      continue
    }
    const key = /^([A-Za-z][A-Za-z0-9-]*)\s*(?:=|$)/.exec(line)?.[1]
    if (key === undefined || section === "") return false
    const name = `${section}.${key.toLowerCase()}`
    if (!harmless.some((pattern) => pattern.test(name))) return false
  }
  return true
}
