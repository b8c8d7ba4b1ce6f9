// Runs the built chunks, with V8's compiled code kept on disk: most of the time to a first request would go into compiling them.
//
// The code is kept beside the chunks or, where those belong to somebody else, in a directory that only this user can write. The
// name of the directory holds the digest of the build and V8's own tag for its version, its flags and the processor: what is found
// there fits. Nothing of this may fail a start: what is not found is compiled as ever, and written when the process exits.
"use strict"
const fs = require("node:fs")
const path = require("node:path")
const v8 = require("node:v8")
const vm = require("node:vm")

const chunks = path.join(__dirname, "..", "dist", "cli")

const attempt = (work) => {
  try {
    return work()
  } catch {
    return undefined
  }
}

// ── kept code ────────────────────────────────────────────────────────────────────────────────────────────
const build = attempt(() => fs.readFileSync(path.join(chunks, "build-id"), "latin1"))
const name = `${build}-${v8.cachedDataVersionTag().toString(16)}`
const beside = path.join(chunks, "code", name)
const own = () =>
  path.join(process.env.XDG_CACHE_HOME || path.join(require("node:os").homedir(), ".cache"), "troupe", "code", name)

/** Kept code is run unseen, so nobody else may have been able to put it there. */
const isOurs = (directory) => {
  const { uid, mode } = fs.lstatSync(directory)
  return uid === process.getuid() && (mode & 0o22) === 0
}

const find = (file) =>
  attempt(() => fs.readFileSync(path.join(beside, file))) ??
  attempt(() => (isOurs(own()) ? fs.readFileSync(path.join(own(), file)) : undefined))

/** Scripts that had to be compiled. */
const compiled = new Map()

/** At the exit, when whatever a run needs has been compiled. */
const keep = () => attempt(() => write(beside)) ?? attempt(() => process.getuid && write(own()))

const write = (directory) => {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  for (const [file, script] of compiled) {
    const half = path.join(directory, `${file}.${process.pid}`)
    fs.writeFileSync(half, script.createCachedData())
    fs.renameSync(half, path.join(directory, file))
  }
  return true
}

// ── chunks ───────────────────────────────────────────────────────────────────────────────────────────────
const loaded = new Map()
/** The build puts it in the place of `import()`, which scripts do not have. */
const importOutside = (id) => import(id)

const load = (file) => {
  const before = loaded.get(file)
  if (before !== undefined) return before.exports
  const filename = path.join(chunks, file)
  const cachedData = find(file)
  const script = new vm.Script(fs.readFileSync(filename, "latin1"), { filename, cachedData })
  if (script.cachedDataRejected !== false) {
    if (compiled.size === 0) process.on("exit", keep)
    compiled.set(file, script)
  }
  const module = { exports: {} }
  loaded.set(file, module)
  let outside
  const requireFrom = (id) => {
    if (id.startsWith("./")) return load(id.slice(2))
    if (id.startsWith("node:")) return require(id)
    outside ??= require("node:module").createRequire(filename)
    return outside(id)
  }
  script.runInThisContext()(module.exports, requireFrom, module, filename, importOutside)
  return module.exports
}

exports.start = () => {
  if (build === undefined) {
    process.stderr.write("troupe: this copy is not built; run `npm run build` in its directory first.\n")
    process.exitCode = 1
    return
  }
  load("main.cjs")
  // Left alone, the young generation grows to 48 MiB and stays there. Only after the start, and not when there is code to keep:
  // V8 takes compiled code only under the flags it was compiled with.
  const calm = () => compiled.size === 0 && v8.setFlagsFromString("--semi-space-growth-factor=1")
  setTimeout(calm, 300).unref()
}
