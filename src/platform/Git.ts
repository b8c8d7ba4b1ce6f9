/**
 * Owns what the product asks git, in a way that is safe in a folder nobody has trusted: a repository's own configuration
 * can name programs (hooks, fsmonitor, filters, pagers, ssh commands), and none of them may run.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as GitIndex from "./GitIndex.ts"
import { Host } from "./Host.ts"
import { Process, type ProcessError, type RunResult } from "./Process.ts"

export class GitError extends Schema.TaggedError<GitError>()("GitError", {
  cwd: Schema.String,
  args: Schema.Array(Schema.String),
  exitCode: Schema.Int,
  detail: Schema.String,
}) {
  override get message(): string {
    return `git ${this.args.join(" ")} failed in ${this.cwd} (exit code ${this.exitCode}): ${this.detail}`
  }
}

export interface Status {
  readonly branch?: string
  readonly staged: number
  readonly modified: number
  readonly untracked: number
  readonly conflicted: number
  /** Paths relative to the root, at most `maxPaths`. */
  readonly paths: ReadonlyArray<string>
  readonly truncated: boolean
}

/** What a repository brings along. */
export interface OwnConfiguration {
  /** The texts of its configuration files. */
  readonly texts: ReadonlyArray<string>
  /** It has more of it than these texts: submodules, a hook that looking runs, another repository that git may mean. */
  readonly more: boolean
  /** The files it tracks, absolute; `undefined` when its index cannot be read. */
  readonly tracked: ReadonlyArray<string> | undefined
}

export interface RunOptions {
  readonly timeout?: Duration.Input
  readonly maxOutputBytes?: number
  /** The command looks at history alone, at no file of the work tree: no content filter can run, so none has to be looked for. */
  readonly historyOnly?: boolean
  readonly stdin?: string
  /** Output that is longer than `maxOutputBytes` goes here as it is. */
  readonly spillTo?: string
  /** On top of everything else: where git is to keep an index or objects of ours. */
  readonly env?: Readonly<Record<string, string>>
}

export interface GitShape {
  /** The directory that holds `.git`, from the files alone; `undefined` outside a repository. */
  readonly root: (cwd: string) => Effect.Effect<string | undefined>
  /** The branch, `HEAD` when detached; from the files alone. */
  readonly branch: (cwd: string) => Effect.Effect<string | undefined>
  /** What could make git run programs when it only looks; from the files alone, `undefined` outside a repository. */
  readonly own: (cwd: string) => Effect.Effect<OwnConfiguration | undefined>
  /** Runs git and returns what it said, whatever its exit code. */
  readonly run: (
    cwd: string,
    args: ReadonlyArray<string>,
    options?: RunOptions,
  ) => Effect.Effect<RunResult, ProcessError>
  readonly status: (
    cwd: string,
    options?: { readonly maxPaths?: number },
  ) => Effect.Effect<Status | undefined, GitError | ProcessError>
}

/** Before any command: no program of the repository's choosing, no lock, no paging. */
const safe: ReadonlyArray<string> = [
  "-c",
  "core.fsmonitor=",
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "core.untrackedCache=false",
  "-c",
  "core.pager=cat",
  "-c",
  "core.sshCommand=false",
  "-c",
  "core.askPass=",
  "-c",
  "credential.helper=",
  "-c",
  "diff.external=",
  "-c",
  "submodule.recurse=false",
  "-c",
  "status.submoduleSummary=false",
  "-c",
  "protocol.allow=never",
  "-c",
  "log.showSignature=false",
  "--no-pager",
]

/** Variables that would point git elsewhere or make it start something. */
const dropped: ReadonlySet<string> = new Set([
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_OBJECT_DIRECTORY",
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_EXTERNAL_DIFF",
  "GIT_EDITOR",
  "GIT_SSH",
  "GIT_SSH_COMMAND",
  "GIT_TRACE",
  "GIT_CONFIG_COUNT",
  "GIT_CONFIG_PARAMETERS",
])

export const environment = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const kept = Object.entries(env).filter(([name]) => !dropped.has(name))
  return {
    ...Object.fromEntries(kept),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_PAGER: "cat",
    GIT_ASKPASS: "",
    GIT_NO_LAZY_FETCH: "1",
    // None: what a repository's configuration allows for one protocol would count more than a general no.
    GIT_ALLOW_PROTOCOL: "",

    LC_ALL: "C",
  }
}

/**
 * Content filters that the repository's own configuration names: even `status` runs them on files that look changed.
 * Those of the user's configuration (large-file storage, for instance) stay.
 */
export const withoutFilters = (names: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const settings = names.flatMap((name) => [
    [`filter.${name}.clean`, ""],
    [`filter.${name}.smudge`, ""],
    [`filter.${name}.process`, ""],
    [`filter.${name}.required`, "false"],
  ])
  // By variables: a name may contain an equals sign, which `-c` would misread.
  const pairs = settings.flatMap(([key = "", value = ""], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return names.length === 0 ? {} : { ...Object.fromEntries(pairs), GIT_CONFIG_COUNT: String(settings.length) }
}

const filterName = (key: string): ReadonlyArray<string> => {
  const name = /^filter\.(.+)\.[^.]+$/s.exec(key)?.[1]
  return name === undefined ? [] : [name]
}

/** Reads `git config --show-scope -z --name-only`: a scope, a key, the next scope. */
export const ownFilters = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/(?<scope>[^\0]*)\0(?<key>[^\0]*)\0/g)].flatMap(({ groups }) =>
    groups?.["scope"] === "local" || groups?.["scope"] === "worktree" ? filterName(groups["key"] ?? "") : [],
  )

const statusLine = /^(?:# branch\.head (?<branch>.+)|(?<kind>[12u?]) (?<rest>.*))$/s

/** Reads `git status --porcelain=v2 --branch -z`. */
export const parseStatus = (text: string, maxPaths: number): Status => {
  const counts = { staged: 0, modified: 0, untracked: 0, conflicted: 0 }
  const paths: Array<string> = []
  let branch: string | undefined
  const records = text.split("\0")
  for (let i = 0; i < records.length; i++) {
    const groups = statusLine.exec(records[i] ?? "")?.groups
    if (groups?.["branch"] !== undefined) branch = groups["branch"] === "(detached)" ? "HEAD" : groups["branch"]
    const rest = groups?.["rest"]
    if (rest === undefined) continue
    const kind = groups?.["kind"]
    if (kind === "?") counts.untracked++
    else if (kind === "u") counts.conflicted++
    else {
      if (rest[0] !== ".") counts.staged++
      if (rest[1] !== ".") counts.modified++
    }
    // Fields before the path: none, 7 (changed), 8 (renamed), 9 (unmerged); a rename's old path is its own record.
    const fields = kind === "?" ? 0 : kind === "1" ? 7 : kind === "2" ? 8 : 9
    paths.push(rest.split(" ").slice(fields).join(" "))
    if (kind === "2") i++
  }
  return {
    ...(branch !== undefined && { branch }),
    ...counts,
    paths: paths.slice(0, maxPaths),
    truncated: paths.length > maxPaths,
  }
}

const orNothing = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A | undefined, never, R> =>
  Effect.orElseSucceed(effect, () => undefined)

/** A pipe would be waited for and a device never end: whoever packs a repository may put one anywhere in it. */
const regular = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* orNothing(fs.stat(file))
  return info?.type === "File" ? yield* orNothing(fs.readFile(file)) : undefined
})

export const textOf = (file: string) =>
  Effect.map(regular(file), (bytes) => (bytes === undefined ? undefined : new TextDecoder().decode(bytes)))

/** Only files are read: nothing is started, so it is safe anywhere. */
export const findRoot = Effect.fnUntraced(function* (cwd: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (let at = path.resolve(cwd); ; at = path.dirname(at)) {
    if (yield* orNothing(fs.exists(path.join(at, ".git")))) return at
    if (path.dirname(at) === at) return undefined
  }
})

/** The git directory of a root: `.git` itself, or what a worktree's `.git` file names. */
export const gitDirectory = Effect.fnUntraced(function* (root: string) {
  const path = yield* Path.Path
  const dot = path.join(root, ".git")
  const link = /^gitdir: (.+?)\r?\n?$/.exec((yield* textOf(dot)) ?? "")?.[1]
  return link === undefined ? dot : path.resolve(root, link)
})

export const findOwn = Effect.fnUntraced(function* (cwd: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // Git goes up from where it really stands.
  const here = (yield* orNothing(fs.realPath(cwd))) ?? cwd
  const root = yield* findRoot(here)
  if (root === undefined) return undefined
  const directory = yield* gitDirectory(root)
  const common = ((yield* textOf(path.join(directory, "commondir"))) ?? ".").trim()
  const shared = path.resolve(directory, common)
  const isThere = (...parts: ReadonlyArray<string>) => Effect.orElseSucceed(fs.exists(path.join(...parts)), () => true)
  const texts = yield* Effect.forEach([path.join(shared, "config"), path.join(directory, "config.worktree")], (file) =>
    textOf(file),
  )
  const bytes = yield* regular(path.join(directory, "index"))
  const isNew = bytes === undefined && !(yield* isThere(directory, "index"))
  const index = isNew ? [] : bytes === undefined ? undefined : GitIndex.read(bytes)
  let more =
    texts[0] === undefined ||
    index === undefined ||
    index.some(({ mode }) => mode === GitIndex.submodule) ||
    (yield* isThere(shared, "modules")) ||
    (yield* isThere(shared, "hooks", "post-index-change"))
  // A directory that looks like a git directory is one, for git.
  for (let at = path.resolve(here); !more && at !== path.dirname(root); at = path.dirname(at)) {
    more = (yield* isThere(at, "HEAD")) && (yield* isThere(at, "objects"))
  }
  // As seen from where the session stands, which may be behind a link.
  const tracked = index?.map((entry) => path.resolve(cwd, path.relative(here, path.join(root, entry.path))))
  return { texts: texts.filter((text) => text !== undefined), more, tracked } satisfies OwnConfiguration
})

export const findBranch = Effect.fnUntraced(function* (cwd: string) {
  const path = yield* Path.Path
  const root = yield* findRoot(cwd)
  if (root === undefined) return undefined
  const head = ((yield* textOf(path.join(yield* gitDirectory(root), "HEAD"))) ?? "").trim()
  const named = /^ref: refs\/heads\/(.+)$/.exec(head)?.[1]
  // The other ref format keeps a placeholder here; the real name is only in its tables.
  if (named !== undefined) return named === ".invalid" ? undefined : named
  return /^[0-9a-f]{40,64}$/.test(head) ? "HEAD" : undefined
})

export class Git extends Context.Service<Git, GitShape>()("troupe/platform/Git") {
  static readonly layer: Layer.Layer<Git, never, FileSystem.FileSystem | Path.Path | Process | Host> = Layer.effect(
    Git,
    Effect.gen(function* () {
      const files = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
      const process = yield* Process
      const host = yield* Host
      const spawn = (
        cwd: string,
        args: ReadonlyArray<string>,
        env: Readonly<Record<string, string>>,
        options: RunOptions = {},
      ) =>
        process.run({
          command: "git",
          args: [...safe, ...args],
          cwd,
          env: { ...environment(host.allEnv), ...env },
          timeout: options.timeout ?? "10 seconds",
          maxOutputBytes: options.maxOutputBytes ?? 1_000_000,
          ...(options.stdin !== undefined && { stdin: options.stdin }),
          ...(options.spillTo !== undefined && { spillTo: options.spillTo }),
        })
      const filters = Effect.fnUntraced(function* (cwd: string) {
        const ask = (...scope: ReadonlyArray<string>) =>
          spawn(cwd, ["config", ...scope, "--includes", "-z", "--name-only", "--get-regexp", "^filter\\."], {})
        const all = yield* ask("--show-scope")
        if (all.exitCode <= 1 && !all.timedOut) return ownFilters(all.stdout)
        // A git that is too old to say where a setting comes from.
        const scopes = yield* Effect.forEach(["--local", "--worktree"], (scope) => ask(scope), { concurrency: 2 })
        return scopes.flatMap(({ stdout }) => stdout.split("\0").flatMap(filterName))
      })
      const run: GitShape["run"] = Effect.fnUntraced(function* (cwd, args, options) {
        const names = options?.historyOnly === true ? [] : yield* filters(cwd)
        return yield* spawn(cwd, args, { ...withoutFilters([...new Set(names)]), ...options?.env }, options)
      })
      const status: GitShape["status"] = Effect.fnUntraced(function* (cwd, options) {
        if ((yield* Effect.provideContext(findRoot(cwd), files)) === undefined) return undefined
        // Submodules are not entered: each has a configuration of its own.
        const args = ["status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=all"]
        const result = yield* run(cwd, args)
        if (result.exitCode !== 0 || result.timedOut) {
          const detail = result.timedOut ? "it took too long" : result.stderr.trim().slice(0, 500)
          return yield* new GitError({ cwd, args, exitCode: result.exitCode, detail })
        }
        return parseStatus(result.stdout, options?.maxPaths ?? 200)
      })
      return {
        root: (cwd) => Effect.provideContext(findRoot(cwd), files),
        branch: (cwd) => Effect.provideContext(findBranch(cwd), files),
        own: (cwd) => Effect.provideContext(findOwn(cwd), files),
        run,
        status,
      }
    }),
  )
}
