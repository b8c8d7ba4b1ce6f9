/**
 * Owns the programs that only read, with the options under which that is true. It fails closed: a program or an option that is not
 * here is not read-only. Left out on purpose: `sort -o/-T/--compress-program`, `uniq IN OUT`, `find -exec/-delete/-fprint`, `tree -o`,
 * `rg --pre/-z/--hostname-bin`, `diff -l`, `date -s`, `file -C/-z`, `xxd IN OUT`, `tail -f`, `env` and `printenv` (they print secrets),
 * pagers (they start programs), and version flags of tools that a repository's files can redirect (yarn, pnpm, cargo, go, rustc).
 */
import { isHarmlessAwk, isHarmlessJq } from "./Filters.ts"
import { type Parsed, read, type Spec, spec } from "./Options.ts"
import * as SedScript from "./SedScript.ts"
import type { Field } from "./State.ts"

export interface Reading {
  /** Why this call is not read-only. */
  readonly why: string | undefined
  readonly reads: ReadonlyArray<Field>
  /** Everything below what is read, too; or only what stands directly in it, links followed. */
  readonly deep: boolean | "children"
}

interface Reader {
  readonly spec: Spec
  /** What its operands are. `script`: the first is a program text or pattern, unless an option gave it. */
  readonly operands: "paths" | "text" | "none" | "script"
  /** None of its options, listed or not, writes or starts anything: a name that looks like an option does no harm. */
  readonly tame: boolean
  /** Without operands it reads the current directory. */
  readonly here: boolean
  readonly check?: (parsed: Parsed) => string | undefined
  readonly deep?: (parsed: Parsed) => Reading["deep"]
}

const reader = (text: string, more: Partial<Omit<Reader, "spec">> = {}): Reader => ({
  spec: spec(`${text} --help --version`),
  operands: "paths",
  tame: false,
  here: false,
  ...more,
})
const tame = (text: string, more: Partial<Omit<Reader, "spec">> = {}): Reader => reader(text, { tame: true, ...more })

const texts = (fields: ReadonlyArray<Field>): ReadonlyArray<string> => fields.map((field) => field.text)
const atMost =
  (most: number) =>
  ({ operands }: Parsed): string | undefined =>
    operands.length > most || operands.some((field) => field.kind !== "literal")
      ? "a further operand would be written"
      : undefined
const has = (parsed: Parsed, ...options: ReadonlyArray<string>): boolean =>
  options.some((option) => parsed.options.has(option))

/** With two formats at once ps starts over in another dialect, in which `e` shows the environment. */
const formats = ({ options, values }: Parsed): number =>
  ["-f", "-F", "-l", "-j", "-M"].filter((option) => options.has(option)).length +
  values.filter(({ option }) => option === "-o").length

const grepOptions =
  "-# -EFGPiyvwxcLlqsbHhnTZzaIrUo -e: -f< -m: -A: -B: -C: -D: -d: --extended-regexp --fixed-strings --basic-regexp --perl-regexp " +
  "--ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color=? --colour=? --files-without-match " +
  "--files-with-matches --max-count= --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename " +
  "--label= --line-number --initial-tab --null --after-context= --before-context= --context= --text --binary-files= --devices= " +
  "--directories= --exclude= --exclude-from< --exclude-dir= --include= --recursive --line-buffered " +
  "--null-data --regexp= --file<"
const grep = tame(grepOptions, {
  operands: "script",
  deep: (parsed) => has(parsed, "-r", "-d") || [...parsed.options].some((one) => /^(?:-R|--(?:rec|di|der))/.test(one)),
})
const sum = tame("-btz --binary --text --tag --zero -a: --algorithm= -l: --length=")
const version = (...flags: ReadonlyArray<string>): Reader =>
  reader("", {
    operands: "none",
    check: ({ options }) =>
      flags.some((flag) => options.has(flag)) ? undefined : "only its version is known to be harmless",
  })

const readers: Readonly<Record<string, Reader>> = {
  ls: tame(
    "-1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ -I: -T: -w: --all --almost-all --author --block-size= --classify=? --color=? --directory " +
      "--full-time --group-directories-first --human-readable --hide= --ignore= --inode --no-group --numeric-uid-gid --recursive " +
      "--reverse --size --sort= --time= --time-style= --si --indicator-style= --format= --dereference --literal --quote-name",
    { here: true },
  ),
  cat: tame(
    "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
  ),
  tac: tame("-br -s: --before --regex --separator="),
  rev: tame(""),
  head: tame("-# -qvz -n: -c: --lines= --bytes= --quiet --silent --verbose --zero-terminated"),
  tail: tame("-# -qvz -n: -c: --lines= --bytes= --quiet --silent --verbose --zero-terminated"),
  wc: tame("-clmLw --bytes --chars --lines --max-line-length --words --total="),
  nl: tame("-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering= --number-format= --number-width="),
  stat: tame("-Lft -c: --dereference --file-system --format= --printf= --terse --cached="),
  du: tame(
    "-0abchklmPsSx -d: -B: -t: --all --apparent-size --bytes --total --max-depth= --human-readable --summarize --si --null " +
      "--one-file-system --exclude= --threshold= --time=? --block-size= --separate-dirs --inodes",
    { here: true },
  ),
  df: tame(
    "-ahHiklPT -x: -t: --all --human-readable --si --inodes --local --portability --print-type --total --output=?",
  ),
  file: reader(
    "-bhiklLNprsE0 --brief --mime --mime-type --mime-encoding --dereference --no-dereference --extension --raw",
  ),
  sort: reader(
    "-bdfghinMRrVcCmsuz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort " +
      "--human-numeric-sort --ignore-nonprinting --month-sort --numeric-sort --random-sort --reverse --sort= --version-sort --check=? " +
      "--key= --field-separator= --stable --unique --zero-terminated --merge --buffer-size= --parallel=",
  ),
  uniq: reader(
    "-cdDiuz -f: -s: -w: --count --repeated --ignore-case --unique --skip-fields= --skip-chars= --check-chars= --zero-terminated --group=?",
    { check: atMost(1) },
  ),
  cut: tame(
    "-nsz -b: -c: -d: -f: --bytes= --characters= --delimiter= --fields= --complement --only-delimited --output-delimiter= --zero-terminated",
  ),
  tr: tame("-cCdst --complement --delete --squeeze-repeats --truncate-set1", { operands: "text" }),
  fold: tame("-# -bs -w: --bytes --spaces --width="),
  fmt: tame("-# -cstu -w: -p: -g: --width= --split-only --uniform-spacing"),
  expand: tame("-i -t: --initial --tabs="),
  unexpand: tame("-a -t: --all --first-only --tabs="),
  column: tame("-txJ -s: -o: -c: -N: --table --separator= --output-separator= --columns="),
  paste: tame("-sz -d: --serial --delimiters= --zero-terminated"),
  join: tame(
    "-iz -a: -e: -j: -o: -t: -v: -1: -2: --ignore-case --check-order --nocheck-order --header --zero-terminated",
  ),
  comm: tame("-123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated"),
  diff: reader(
    "-# -abBdeEinpqstTuwyZ -c -C: -U: -F: -I: -W: -x: --brief --report-identical-files --unified=? --context=? --side-by-side --width= " +
      "--suppress-common-lines --ignore-case --ignore-all-space --ignore-blank-lines --ignore-space-change " +
      "--ignore-trailing-space --strip-trailing-cr --text --minimal --color=? --exclude= --label= --no-dereference --normal --ed --rcs",
    // Two directories are compared file by file, links followed.
    { deep: (parsed) => [...parsed.options].some((one) => /^(?:-r|--rec)/.test(one)) || "children" },
  ),
  cmp: tame("-bls -i: -n: --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent"),
  grep,
  egrep: grep,
  fgrep: grep,
  rg: reader(
    "-# -FPSsivwxcloHhIInNpqau.U0 -e: -f< -g: -t: -T: -A: -B: -C: -m: -M: -j: -r: -d: -E: --files --fixed-strings --pcre2 --smart-case " +
      "--case-sensitive --ignore-case --invert-match --word-regexp --line-regexp --count --count-matches --files-with-matches " +
      "--files-without-match --only-matching --with-filename --no-filename --line-number --no-line-number --column --pretty --quiet " +
      "--text --hidden --no-ignore --no-ignore-vcs --unrestricted --multiline --multiline-dotall --null --regexp= --file< --glob= --iglob= " +
      "--type= --type-not= --type-list --after-context= --before-context= --context= --max-count= --max-columns= --max-depth= --threads= " +
      "--replace= --encoding= --sort= --sortr= --json --heading --no-heading --color= --colors= --stats --trim --vimgrep --passthru " +
      "--no-config --no-messages --max-filesize= --crlf --one-file-system --binary --engine=",
    { operands: "script", here: true, deep: () => true },
  ),
  tree: tame(
    "-adfixghpusDFqNQrtUvnCAS -L: -P: -I: --noreport --dirsfirst --filelimit= --matchdirs --ignore-case --prune --sort= --du --si --gitignore --charset= --timefmt=",
    { here: true, tame: false },
  ),
  which: tame("-as --all", { operands: "text" }),
  type: tame("-aftpP", { operands: "text" }),
  pwd: tame("-LP", { operands: "none" }),
  date: reader("-uR -d: -r< -I=? --date= --reference< --utc --universal --rfc-email --rfc-3339= --iso-8601=?", {
    operands: "text",
    check: ({ operands }) =>
      operands.every((field) => field.kind === "literal" && field.text.startsWith("+"))
        ? undefined
        : "an operand of date would set the clock",
  }),
  uname: tame("-asnrvmpio --all --kernel-name --nodename --kernel-release --machine --operating-system", {
    operands: "none",
  }),
  arch: tame("", { operands: "none" }),
  nproc: tame("--all --ignore=", { operands: "none" }),
  whoami: tame("", { operands: "none" }),
  id: tame("-agGnruzZ --group --groups --name --real --user --zero", { operands: "text" }),
  groups: tame("", { operands: "text" }),
  hostname: reader("-sfidAI --short --fqdn --ip-address --domain", { operands: "none" }),
  uptime: tame("-ps --pretty --since", { operands: "none" }),
  free: tame("-bkmghtw --human --total --wide --mega --giga", { operands: "none" }),
  tty: tame("-s --silent --quiet", { operands: "none" }),
  basename: tame("-az -s: --multiple --suffix= --zero", { operands: "text" }),
  dirname: tame("-z --zero", { operands: "text" }),
  realpath: tame(
    "-emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip --no-symlinks --zero --relative-to< --relative-base<",
  ),
  readlink: tame(
    "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --zero",
  ),
  seq: tame("-w -f: -s: --equal-width --format= --separator=", { operands: "text" }),
  sleep: reader("", {
    operands: "text",
    check: ({ operands }) =>
      operands.every((field) => field.kind === "literal" && /^\d{1,3}(?:\.\d{1,3})?s?$/.test(field.text))
        ? undefined
        : "it may sleep for very long",
  }),
  md5sum: sum,
  sha1sum: sum,
  sha224sum: sum,
  sha256sum: sum,
  sha384sum: sum,
  sha512sum: sum,
  b2sum: sum,
  shasum: reader("-bt -a: --binary --text --algorithm="),
  cksum: sum,
  base64: tame("-di -w: --decode --ignore-garbage --wrap="),
  base32: tame("-di -w: --decode --ignore-garbage --wrap="),
  od: tame(
    "-abcdfiloxsv -A: -j: -N: -S: -t: -w=? --address-radix= --skip-bytes= --read-bytes= --strings=? --format= --output-duplicates --width=?",
  ),
  hexdump: tame("-bcCdovx -e: -n: -s: --canonical --length= --skip= --no-squeezing"),
  hd: tame("-bcCdovx -n: -s:"),
  xxd: reader("-abeEiupC -c: -g: -l: -s:", {
    // It does not bundle options: in `-ps` the second letter means nothing, so the next word is no value.
    check: (parsed) => (parsed.bundled ? "bundled options of xxd are not understood" : atMost(1)(parsed)),
  }),
  strings: reader("-aofw -n: -t: -e: --all --bytes= --radix= --encoding= --print-file-name", {
    check: ({ operands }) =>
      operands.some((field) => field.text.startsWith("@")) ? "it takes options from a file" : undefined,
  }),
  ps: reader("-AefFlHwWjM -p: -o: -u: -C: --pid= --ppid= --sort= --forest --no-headers --no-heading", {
    operands: "text",
    check: (parsed) =>
      texts(parsed.operands).every((text) => /^(?:[aux]+|\d+)$/.test(text)) &&
      parsed.values.every(({ field }) => !/env/i.test(field.text)) &&
      (!has(parsed, "-e") || formats(parsed) <= 1)
        ? undefined
        : "it may show the environment of processes",
  }),
  sed: reader(
    "-nErsuz -e: --quiet --silent --expression= --regexp-extended --separate --unbuffered --null-data --posix --sandbox",
    {
      operands: "script",
      check: ({ operands, values }) => {
        const given = values
          .filter(({ option }) => option === "-e" || option === "--expression")
          .map(({ field }) => field)
        const scripts = given.length > 0 ? given : operands.slice(0, 1)
        return scripts.length > 0 &&
          scripts.every((field) => field.kind === "literal") &&
          SedScript.isHarmless(texts(scripts).join("\n"))
          ? undefined
          : "its script is not known to print only"
      },
    },
  ),
  awk: reader("-F: -v:", {
    operands: "script",
    check: ({ operands, values }) =>
      operands[0]?.kind === "literal" &&
      isHarmlessAwk(operands[0].text) &&
      values.every(({ field }) => field.kind === "literal" && !/^\s*(?:ARG|ENVIRON|PROCINFO)/.test(field.text)) &&
      operands.slice(1).every((field) => field.kind === "literal" && !/=|^\/inet|^\/dev/.test(field.text))
        ? undefined
        : "its program is not known to print only",
  }),
  jq: reader(
    "-rcesnSajMC --raw-output --compact-output --exit-status --slurp --null-input --sort-keys --ascii-output --join-output " +
      "--monochrome-output --color-output --tab --indent= --arg:: --argjson:: --raw-input -R",
    {
      operands: "script",
      check: ({ operands }) =>
        operands.length === 0 || (operands[0]?.kind === "literal" && isHarmlessJq(operands[0].text))
          ? undefined
          : "its filter may show the environment or read other files",
    },
  ),
  node: version("-v", "--version"),
  npm: version("-v", "--version"),
  python: version("-V", "--version"),
  python3: version("-V", "--version"),
  gcc: version("--version"),
  bash: version("--version"),
}

const versionFlags = spec("-vV --version")

/** `undefined`: the program is not in the table. */
export const reading = (program: string, args: ReadonlyArray<Field>): Reading | undefined => {
  const entry = Object.hasOwn(readers, program) ? readers[program] : undefined
  if (entry === undefined) return undefined
  const bare = entry.spec.options.size === 2
  const parsed = read(args, bare && entry.operands === "none" ? versionFlags : entry.spec)
  const given =
    parsed.options.has("-e") ||
    parsed.options.has("-f") ||
    parsed.options.has("--regexp") ||
    parsed.options.has("--file") ||
    parsed.options.has("--expression") ||
    parsed.options.has("--files")
  const scripted =
    entry.operands === "script" &&
    !(given && program !== "awk" && program !== "jq") &&
    (parsed.strange === undefined || entry.deep?.(parsed) === true)
  const paths = entry.operands === "paths" || entry.operands === "script" ? parsed.operands.slice(scripted ? 1 : 0) : []
  const reads = [
    ...paths.filter((field) => field.text !== "-"),
    ...parsed.values.filter(({ kind }) => kind === "reads").map(({ field }) => field),
    ...(parsed.strange === undefined ? [] : parsed.strangeValues),
  ]
  const deep = entry.deep?.(parsed) ?? false
  const here = (entry.here || (deep === true && program.includes("grep"))) && paths.length === 0
  return {
    why: whyNot(program, entry, parsed),
    reads: here ? [...reads, { kind: "literal", text: "." }] : reads,
    deep,
  }
}

const whyNot = (program: string, entry: Reader, parsed: Parsed): string | undefined => {
  if (parsed.strange !== undefined) return `${parsed.strange} of ${program} is not known to be harmless`
  const words = [...parsed.operands, ...parsed.values.map(({ field }) => field)]
  const open = words.find((field) => field.kind === "unknown" && !(field.number && entry.operands === "text"))
  const isOption = parsed.values.some(({ field }) => field === open && open.kind === "unknown" && open.number)
  if (open !== undefined && !isOption) return `what ${open.text} stands for is not known`
  if (parsed.disguised !== undefined && !entry.tame)
    return `${parsed.disguised} may match a file whose name is an option of ${program}`
  if (entry.operands === "none" && parsed.operands.length > 0)
    return `${program} with an operand is not known to be harmless`
  return entry.check?.(parsed)
}
