/**
 * Owns which git commands only look, and the condition under which that is enough.
 *
 * A repository's own files make the most innocent git command run programs, and no environment switches all of it off. Tried with
 * git 2.39: `status` runs `core.fsmonitor` and, on files that look changed, `filter.*.clean`, whose names are free; `diff` runs
 * `diff.*.textconv`; `status` and, even with GIT_OPTIONAL_LOCKS=0, `diff` run the hook `post-index-change`; both enter nested
 * repositories, which have configurations of their own, and a `.gitmodules` overrides `diff.ignoreSubmodules`. So a git command counts
 * as read-only only where whoever runs it says that the repository is clean: its configuration has harmless keys only (GitConfig.ts), no
 * such hook, no submodules or nested repositories in its index, no bare repository on the way up; and only in the directory that was
 * checked. Everything else is asked for.
 */
import { type Parsed, read, type Spec, spec } from "./Options.ts"
import { type Field, literal } from "./State.ts"

export interface GitCall {
  readonly why: string | undefined
  readonly possible: ReadonlyArray<Field>
  /** It shows contents of tracked files: those at or below these paths, or all of them. */
  readonly shows: ReadonlyArray<Field> | "all" | undefined
  /** It reads everything below, tracked or not. */
  readonly deep: boolean
  /** Without the options before the sub-command, as rules should see it. */
  readonly plain: ReadonlyArray<Field>
  /** Says nothing about a repository, so none needs to be clean. */
  readonly free: boolean
}

const history =
  "-# -puiswbzt -n: -S: -G: -L: -U: -M=? -C=? --oneline --graph --all --stat=? --shortstat --numstat --summary --patch --no-patch --name-only " +
  "--name-status --cached --staged --decorate=? --no-decorate --color=? --no-color --abbrev-commit --abbrev=? --first-parent --merges --no-merges " +
  "--reverse --follow --since= --until= --after= --before= --author= --committer= --grep= --unified= --word-diff=? --ignore-all-space " +
  "--ignore-space-change --ignore-blank-lines --no-ext-diff --no-textconv --diff-filter= --date= --relative-date --tags=? --branches=? " +
  "--remotes=? --left-right --topo-order --date-order --max-count= --skip= --format= --pretty=? --merge-base --no-renames --find-renames=? " +
  "--exit-code --quiet --raw --dirstat=? --compact-summary --check --full-index --binary --minimal --histogram --patience --no-notes --cherry-pick"

/** `lists`: operands are names only together with an option that lists. */
const commands: Readonly<
  Record<
    string,
    {
      readonly spec: Spec
      readonly check?: (parsed: Parsed) => boolean
      readonly shows?: (parsed: Parsed) => boolean
      readonly deep?: (parsed: Parsed) => boolean
    }
  >
> = {
  status: {
    spec: spec(
      "-sbvzu --short --branch --verbose --porcelain=? --long --untracked-files=? --ignored=? --show-stash --ahead-behind --no-ahead-behind --no-renames",
    ),
    shows: has("-v", "--verbose"),
  },
  log: { spec: spec(history), shows: (parsed) => patches(parsed) || parsed.strange !== undefined },
  show: { spec: spec(history), shows: always },
  diff: { spec: spec(history), shows: (parsed) => patches(parsed) || !summarises(parsed) },
  "rev-list": { spec: spec(`${history} --count --objects --not`) },
  shortlog: { spec: spec("-nsec --numbered --summary --email --all --since= --until= --no-merges") },
  branch: {
    spec: spec(
      "-arvli --all --remotes --verbose --list --show-current --contains= --no-contains= --merged=? --no-merged=? --points-at= --sort= --format= --color=? --no-color --column=? --ignore-case",
    ),
    check: lists("-l", "--list", "--merged", "--no-merged", "--contains", "--no-contains", "--points-at"),
  },
  tag: {
    spec: spec(
      "-li -n=? --list --sort= --format= --contains= --no-contains= --merged=? --no-merged=? --points-at= --color=? --column=?",
    ),
    check: lists("-l", "--list", "--merged", "--no-merged", "--contains", "--no-contains", "--points-at", "-n"),
  },
  remote: {
    spec: spec("-v --verbose"),
    check: ({ operands }) => operands.length === 0 || (operands[0]?.text === "get-url" && operands.length === 2),
  },
  "rev-parse": {
    spec: spec(
      "--show-toplevel --abbrev-ref=? --short=? --verify --quiet --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --show-prefix --show-cdup --symbolic-full-name --all -q",
    ),
  },
  "ls-files": {
    spec: spec(
      "-cdmoiskutvz -x: -X: --cached --deleted --modified --others --ignored --stage --killed --unmerged --exclude= --exclude-standard --directory --error-unmatch --full-name --abbrev=? --eol",
    ),
  },
  "ls-tree": { spec: spec("-drtlz --long --name-only --name-status --full-name --full-tree --abbrev=? --object-only") },
  blame: {
    spec: spec(
      "-bcflnpstwe -L: -M=? -C=? --since= --root --show-stats --porcelain --line-porcelain --show-name --show-number --show-email --date= --first-parent",
    ),
    shows: always,
  },
  describe: {
    spec: spec(
      "--all --tags --contains --abbrev=? --candidates= --exact-match --long --match= --exclude= --always --first-parent",
    ),
  },
  config: {
    spec: spec(
      "-z --get --get-all --type= --bool --int --default= --local --global --system --show-origin --show-scope",
    ),
    check: ({ operands, options }) =>
      (options.has("--get") || options.has("--get-all")) &&
      operands.length === 1 &&
      /^(?:user|core|init|branch|pull|push|remote)\./.test(operands[0]?.text ?? ""),
  },
  "cat-file": { spec: spec("-tspe"), check: ({ operands }) => operands.length <= 2, shows: always },
  "merge-base": { spec: spec("-a --all --is-ancestor --fork-point --octopus --independent") },
  "show-ref": { spec: spec("-dhqs --heads --tags --head --dereference --hash=? --verify --quiet --abbrev=?") },
  "for-each-ref": {
    spec: spec("--count= --sort= --format= --points-at= --merged=? --no-merged=? --contains= --ignore-case"),
  },
  "name-rev": { spec: spec("--tags --name-only --always --all") },
  "count-objects": { spec: spec("-vH --verbose --human-readable") },
  grep: {
    spec: spec(
      "-# -EFGPivwcLlqnHhIrzo -e: -A: -B: -C: --cached --untracked --count --name-only --files-with-matches --line-number --ignore-case --word-regexp --extended-regexp --fixed-strings --perl-regexp --heading --break --color=? --max-depth= -m:",
    ),
    shows: always,
    deep: has("--untracked"),
  },
  stash: {
    spec: spec("--oneline --stat"),
    check: ({ operands }) => operands.length === 1 && operands[0]?.text === "list",
    shows: patches,
  },
  worktree: {
    spec: spec("-v --porcelain"),
    check: ({ operands }) => operands.length === 1 && operands[0]?.text === "list",
  },
  reflog: {
    spec: spec("-# -n: --date= --all"),
    check: ({ operands }) => operands.length === 0 || operands[0]?.text === "show",
    shows: patches,
  },
  version: { spec: spec("") },
}

/** Not known to only read, and they tell what is in tracked files. */
const tellers = new Set(
  "archive whatchanged format-patch diff-tree diff-index diff-files fast-export range-diff".split(" "),
)

function lists(...options: ReadonlyArray<string>): (parsed: Parsed) => boolean {
  return (parsed) => parsed.operands.length === 0 || options.some((option) => parsed.options.has(option))
}

function has(...options: ReadonlyArray<string>): (parsed: Parsed) => boolean {
  return (parsed) => options.some((option) => parsed.options.has(option))
}

function always(): boolean {
  return true
}

function patches(parsed: Parsed): boolean {
  return has("-p", "-u", "-U", "-L", "--patch", "--unified", "--word-diff", "--binary", "--check")(parsed)
}

/** Instead of what has changed, only where and how much. */
const summarises = has(
  ..."-s --stat --shortstat --numstat --summary --name-only --name-status --no-patch --raw --dirstat --quiet".split(
    " ",
  ),
)

/** Formats with `%G` and a look at signatures start gpg, or whatever the configuration calls gpg. */
const signs = ({ values }: Parsed): boolean =>
  values.some(({ field, option }) => /^--(?:format|pretty|sort)$/.test(option) && /signature|%[-+ ]?G/.test(field.text))

const before = spec(
  "-pP -C: -c: --no-pager --paginate --no-optional-locks --git-dir= --work-tree= --namespace= --bare --no-replace-objects --literal-pathspecs --version --exec-path=? --config-env=",
  true,
)

/** A word, the value of an option, and what stands behind each colon: `revision:path`, `:0:path`, `-L1,5:path`. */
const pathsIn = (field: Field): ReadonlyArray<Field> => {
  if (field.kind !== "literal") return [field]
  const { text } = field
  const own = text.startsWith("-") ? (/^-[^=]*=(.+)$/.exec(text)?.[1] ?? "") : text
  const behind = Array.from(text.matchAll(/:/g), ({ index }) => text.slice(index + 1))
  return [own, ...behind].filter((one) => one !== "").map(literal)
}

/** Behind `--` stand paths; those that git does not take for patterns limit what is shown. */
const limitsOf = (given: ReadonlyArray<Field>): ReadonlyArray<Field> | "all" => {
  const dashes = given.findIndex(({ kind, text }) => kind === "literal" && text === "--")
  const paths = dashes === -1 ? [] : given.slice(dashes + 1)
  const isPlain = ({ kind, text }: Field) => kind === "literal" && !/^:|[*?[\\]/.test(text)
  return paths.length > 0 && paths.every(isPlain) ? paths : "all"
}

export const readGit = (args: ReadonlyArray<Field>): GitCall => {
  const outer = read(args, before)
  const rest = args.slice(outer.first)
  const [sub, ...given] = rest
  const possible = rest.slice(1).flatMap(pathsIn)
  const shape = { possible, plain: [literal("git"), ...rest] }
  if (rest.length === 0) {
    const isVersion = args.length === 1 && args[0]?.text === "--version"
    const why = isVersion ? undefined : "git without a command"
    return { ...shape, why, shows: undefined, deep: false, free: isVersion }
  }
  const found = sub?.kind === "literal" && Object.hasOwn(commands, sub.text) ? commands[sub.text] : undefined
  const allowed = [...outer.options].every((option) => /^(?:-P|--no-pager|--no-optional-locks)$/.test(option))
  const parsed = read(given, found?.spec ?? before)
  const isTeller = sub?.kind === "literal" && tellers.has(sub.text)
  const shows = isTeller || found?.shows?.(parsed) === true ? limitsOf(given) : undefined
  const deep = found?.deep?.(parsed) === true
  if (found === undefined || !allowed || outer.strange !== undefined || outer.disguised !== undefined) {
    const why = allowed
      ? `git ${sub?.text ?? ""} is not known to only read`
      : "options before git's command change what it runs"
    return { ...shape, why, shows, deep, free: false }
  }
  const open = [...parsed.operands, ...parsed.values.map(({ field }) => field)].some(
    (field) => field.kind === "unknown",
  )
  const isFine =
    parsed.strange === undefined &&
    !open &&
    parsed.disguised === undefined &&
    !signs(parsed) &&
    (found.check?.(parsed) ?? true)
  const why = isFine
    ? undefined
    : `git ${sub?.text ?? ""} with ${parsed.strange ?? "these arguments"} is not known to only read`
  return { ...shape, why, shows, deep, free: sub?.text === "version" }
}
