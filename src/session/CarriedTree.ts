/**
 * Owns carrying a work tree: everything that was committed, and on top of it what was not, as one bundle. The repository it comes from is
 * only read: index, objects and refs of ours live in a repository of our own. Where it is unpacked nothing of it runs, and what would
 * reach outside the new directory is refused.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Git, type RunOptions } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import { isEnvFile } from "../security/Sensitive.ts"
import { TeleportError } from "./TeleportFile.ts"

/** As a section of the file; `within` is where in it the session worked. */
export const CarriedTree = Schema.Struct({
  head: Schema.String,
  work: Schema.String,
  branch: Schema.optionalKey(Schema.String),
  objectFormat: Schema.Literals(["sha1", "sha256"]),
  within: Schema.String,
  /** Files that were left behind, and why. */
  left: Schema.Array(Schema.String),
  /** Base64. */
  bundle: Schema.String,
})
export type CarriedTree = typeof CarriedTree.Type

const mostBundle = 96 * 1024 * 1024
const mostUnpacked = 2 * 1024 * 1024 * 1024
const mostLinks = 2_000
const patient: RunOptions = { timeout: "2 minutes", maxOutputBytes: 64 * 1024 * 1024 }

const failing = (what: string) => (cause: { readonly message: string }) =>
  new TeleportError({ what, why: cause.message })

/** Runs git and answers what it printed; `env` says whose repository it works on. */
const asking = Effect.fnUntraced(function* (what: string, env: Readonly<Record<string, string>>) {
  const git = yield* Git
  return Effect.fnUntraced(function* (cwd: string, ...args: ReadonlyArray<string>) {
    const { exitCode, stderr, stdout, timedOut, truncated } = yield* Effect.mapError(
      git.run(cwd, args, { ...patient, env }),
      failing(what),
    )
    if (exitCode === 0 && !timedOut && !truncated) return stdout
    const why = timedOut ? "it took too long" : truncated ? "it is too large" : stderr.trim().slice(0, 500)
    return yield* new TeleportError({ what, why: `git ${args[0] ?? ""}: ${why}` })
  })
})

/** What git says of a place, for the manifest; nothing outside a repository. */
export const describe = Effect.fnUntraced(function* (cwd: string) {
  const git = yield* Git
  if ((yield* git.root(cwd)) === undefined) return undefined
  const say = (...args: ReadonlyArray<string>) =>
    git.run(cwd, args, { historyOnly: true }).pipe(
      Effect.map(({ exitCode, stdout }) => (exitCode === 0 ? stdout.trim() : "")),
      Effect.orElseSucceed(() => ""),
    )
  const head = yield* say("rev-parse", "--verify", "HEAD")
  const remote = withoutPassword(yield* say("config", "--get", "remote.origin.url"))
  const branch = yield* git.branch(cwd)
  const status = yield* Effect.orElseSucceed(git.status(cwd), () => undefined)
  const dirty = status === undefined ? 0 : status.staged + status.modified + status.untracked + status.conflicted
  return { head, dirty, ...(branch !== undefined && { branch }), ...(remote !== "" && { remote }) }
})

const withoutPassword = (url: string): string => url.replace(/^([a-z][\w+.-]*:\/\/)[^/@]*@/i, "$1")

/** Packs the work tree that a directory belongs to. */
export const pack = Effect.fnUntraced(function* (cwd: string) {
  const git = yield* Git
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const host = yield* Host
  const what = `The work tree of ${cwd} cannot be packed`
  const root = yield* git.root(cwd)
  if (root === undefined) return yield* new TeleportError({ what, why: "it is no git repository" })
  const there = yield* asking(what, {})
  const head = yield* Effect.mapError(
    there(root, "rev-parse", "--verify", "HEAD"),
    () => new TeleportError({ what, why: "nothing is committed yet. Commit once, or leave out --with-work-tree" }),
  )
  const submodules = (yield* there(root, "ls-tree", "-r", "-z", "HEAD"))
    .split("\0")
    .filter((line) => line.startsWith("160000 "))
  if (submodules.length > 0) {
    const why = "it has submodules, which a bundle does not hold. Leave out --with-work-tree, and clone it over there"
    return yield* new TeleportError({ what, why })
  }
  const found = (yield* there(root, "rev-parse", "--show-object-format")).trim()
  const objectFormat = found === "sha256" ? "sha256" : "sha1"
  const objects = path.resolve(root, (yield* there(root, "rev-parse", "--git-path", "objects")).trim())
  const excludes = path.resolve(root, (yield* there(root, "rev-parse", "--git-path", "info/exclude")).trim())

  const at = yield* Effect.mapError(
    fs.makeTempDirectoryScoped({ directory: host.tmpDir, prefix: "troupe-teleport-" }),
    failing(what),
  )
  const ours = path.join(at, "ours.git")
  yield* there(at, "init", "--bare", "--quiet", "--template=", `--object-format=${objectFormat}`, ours)
  yield* Effect.all([
    fs.makeDirectory(path.join(ours, "info"), { recursive: true }),
    fs.makeDirectory(path.join(ours, "objects", "info"), { recursive: true }),
  ]).pipe(
    Effect.andThen(fs.writeFileString(path.join(ours, "objects", "info", "alternates"), `${objects}\n`)),
    Effect.andThen(Effect.ignore(fs.copyFile(excludes, path.join(ours, "info", "exclude")))),
    Effect.mapError(failing(what)),
  )
  const person = { NAME: "Troupe", EMAIL: "troupe@localhost" }
  const here = yield* asking(what, {
    GIT_DIR: ours,
    GIT_WORK_TREE: root,
    ...Object.fromEntries(
      ["AUTHOR", "COMMITTER"].flatMap((who) =>
        Object.entries(person).map(([key, value]) => [`GIT_${who}_${key}`, value]),
      ),
    ),
  })
  const commit = head.trim()
  yield* here(root, "read-tree", commit)
  yield* here(root, "add", "--all", "--", ".")
  const fresh = (yield* here(
    root,
    "diff",
    "--cached",
    "--raw",
    "--no-abbrev",
    "-z",
    "--no-renames",
    "--diff-filter=A",
    commit,
  ))
    .split("\0")
    .flatMap((part, i, all) => (part.startsWith(":") ? [{ mode: part.slice(8, 14), path: all[i + 1] ?? "" }] : []))
  const left = fresh.filter(({ mode, path: name }) => mode === "160000" || holdsSecrets(path.basename(name)))
  if (left.length > 0)
    yield* here(root, "rm", "--cached", "--quiet", "-r", "--", ...left.map((one) => `:(literal)${one.path}`))
  const tree = (yield* here(root, "write-tree")).trim()
  const work = (yield* here(root, "commit-tree", tree, "-p", commit, "-m", "The work tree as it was")).trim()
  yield* here(root, "update-ref", "refs/troupe/head", commit)
  yield* here(root, "update-ref", "refs/troupe/work", work)
  const file = path.join(at, "bundle")
  yield* here(root, "bundle", "create", "--quiet", file, "refs/troupe/head", "refs/troupe/work")
  const bytes = yield* Effect.mapError(fs.readFile(file), failing(what))
  if (bytes.length > mostBundle) {
    const why = `it is too large: ${Math.ceil(bytes.length / 1048576)} MiB packed, and ${mostBundle / 1048576} MiB fit. Leave out --with-work-tree, and clone it over there`
    return yield* new TeleportError({ what, why })
  }
  const branch = yield* git.branch(root)
  const real = (at: string) => Effect.orElseSucceed(fs.realPath(at), () => at)
  const packed: CarriedTree = {
    head: commit,
    work,
    ...(branch !== undefined && branch !== "HEAD" && { branch }),
    objectFormat,
    within: path.relative(yield* real(root), yield* real(cwd)),
    left: left.map(
      (one) => `${one.path} (${one.mode === "160000" ? "a repository of its own" : "it may hold secrets"})`,
    ),
    bundle: toBase64(bytes),
  }
  return packed
}, Effect.scoped)

/** Of files that git does not know yet; what is committed was meant to be seen. */
const holdsSecrets = (name: string): boolean =>
  isEnvFile(name) ||
  /\.(?:pem|key|p12|pfx|keystore|jks)$|^id_(?:rsa|dsa|ecdsa|ed25519)$|^\.?(?:netrc|pgpass|htpasswd)$/i.test(name)

const chunk = 0x8000
const toBase64 = (bytes: Uint8Array): string => {
  const parts: Array<string> = []
  for (let at = 0; at < bytes.length; at += chunk) parts.push(String.fromCharCode(...bytes.subarray(at, at + chunk)))
  return btoa(parts.join(""))
}
const fromBase64 = (text: string): Uint8Array | undefined => {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

const nothing: Readonly<Record<string, string>> = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_ATTR_NOSYSTEM: "1",
}
const isName = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

/** Unpacks it beside `directory` and moves it there, whole. Answers where in it the session goes on. */
export const unpack = Effect.fnUntraced(function* (packed: CarriedTree, directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const what = `The work tree cannot be unpacked into ${directory}`
  const refuse = (why: string) => new TeleportError({ what, why })
  const present = yield* Effect.orElseSucceed(fs.readDirectory(directory), () => undefined)
  const isThere = yield* Effect.orElseSucceed(fs.exists(directory), () => true)
  if (present === undefined && isThere) return yield* refuse("something is there that is no directory")
  if (present !== undefined && present.length > 0) return yield* refuse("it is not empty. Name another one with --cwd")
  const bytes = fromBase64(packed.bundle)
  if (bytes === undefined || bytes.length > mostBundle) return yield* refuse("its bundle is damaged or too large")
  if (!isName(packed.head) || !isName(packed.work)) return yield* refuse("its commits have no names that could be")
  if (isOutside(packed.within)) return yield* refuse(`it names a place outside itself: ${packed.within.slice(0, 100)}`)

  const parent = path.dirname(directory)
  yield* Effect.mapError(fs.makeDirectory(parent, { recursive: true }), failing(what))
  const at = yield* Effect.mapError(
    fs.makeTempDirectoryScoped({ directory: parent, prefix: ".troupe-teleport-" }),
    failing(what),
  )
  const tree = path.join(at, "tree")
  const file = path.join(at, "bundle")
  yield* Effect.mapError(Effect.andThen(fs.makeDirectory(tree), fs.writeFile(file, bytes)), failing(what))
  const run = yield* asking(what, nothing)
  const guarded = [
    "-c",
    "core.protectHFS=true",
    "-c",
    "core.protectNTFS=true",
    "-c",
    "core.hooksPath=/dev/null",
  ] as const
  yield* run(tree, "init", "--quiet", "--template=", `--object-format=${packed.objectFormat}`, ".")
  yield* run(tree, "bundle", "unbundle", file)
  for (const name of [packed.head, packed.work])
    yield* run(tree, "rev-parse", "--quiet", "--verify", `${name}^{commit}`)
  const entries = (yield* run(tree, "ls-tree", "-r", "-l", "-z", "--full-tree", packed.work))
    .split("\0")
    .flatMap(entryOf)
  const size = entries.reduce((sum, entry) => sum + entry.size, 0)
  if (size > mostUnpacked) return yield* refuse(`it is too large: ${Math.ceil(size / 1048576)} MiB unpacked`)
  const wrong = entries.find((entry) => isOutside(entry.path) || /(?:^|\/)\.git(?:\/|$)/i.test(entry.path))
  if (wrong !== undefined)
    return yield* refuse(`it has a file of a name that is not allowed: ${wrong.path.slice(0, 100)}`)
  const links = entries.filter(({ mode }) => mode === "120000")
  if (links.length > mostLinks) return yield* refuse("it has too many links")
  for (const link of links) {
    const to = yield* run(tree, "cat-file", "blob", link.sha)
    if (leadsOut(link.path, to))
      return yield* refuse(`its link ${link.path} leads outside of it, to ${to.slice(0, 100)}`)
  }
  const branch = packed.branch === undefined || !/^\w[\w./-]{0,200}$/.test(packed.branch) ? "main" : packed.branch
  yield* run(tree, "update-ref", `refs/heads/${branch}`, packed.head)
  yield* run(tree, "symbolic-ref", "HEAD", `refs/heads/${branch}`)
  yield* run(tree, ...guarded, "read-tree", "--reset", "-u", packed.work)
  yield* run(tree, ...guarded, "read-tree", packed.head)
  if (present !== undefined) yield* Effect.mapError(fs.remove(directory), failing(what))
  yield* Effect.mapError(fs.rename(tree, directory), failing(what))
  return path.join(directory, packed.within)
}, Effect.scoped)

const entryOf = (line: string) => {
  const [, mode, sha, size, path] = /^(\d{6}) \w+ ([0-9a-f]+) +(\d+|-)\t([\s\S]+)$/.exec(line) ?? []
  if (mode === undefined || sha === undefined || path === undefined) return []
  return [{ mode, sha, path, size: Number(size) || 0 }]
}

const isOutside = (path: string): boolean =>
  path.startsWith("/") || path.includes("\0") || path.includes("\\") || path.split("/").some((part) => part === "..")

/** A link may go up first and then down, and never above the root: once it has gone down, another link may have taken it anywhere. */
const leadsOut = (path: string, to: string): boolean => {
  if (to === "" || to.startsWith("/") || /^[a-z]:/i.test(to) || to.includes("\0") || to.includes("\\")) return true
  const parts = to.split("/").filter((part) => part !== "" && part !== ".")
  const down = parts.findIndex((part) => part !== "..")
  const ups = down === -1 ? parts.length : down
  return parts.slice(ups).includes("..") || ups > path.split("/").length - 1
}
