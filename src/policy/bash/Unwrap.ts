/** Owns the programs that run another command: where that command begins, and whether the wrapper itself does anything. */
import * as Names from "./Names.ts"
import { read, type Spec, spec } from "./Options.ts"
import { type Field, unknown } from "./State.ts"

export interface Wrapped {
  /** The command inside, as words. */
  readonly inner: ReadonlyArray<Field>
  /** Texts that a shell inside will read as commands. */
  readonly texts: ReadonlyArray<Field>
  /** The wrapper changes nothing by itself: the call is read-only if what it runs is. */
  readonly harmless: boolean
  /** Rules that allow the inner command allow this one, too. */
  readonly transparent: boolean
  /** May be allowed by a rule with a prefix of its own. */
  readonly prefixAllowable: boolean
  readonly locks: Field | undefined
  readonly why: string
}

interface Wrapper {
  readonly spec: Spec
  /** Operands of its own before the command. */
  readonly skip: number
  readonly harmless: boolean
  readonly transparent: boolean
  readonly prefixAllowable: boolean
  /** An option whose value is a shell command. */
  readonly text?: string
}

const wrapper = (options: string, more: Partial<Omit<Wrapper, "spec">> = {}): Wrapper => ({
  spec: spec(options, true),
  skip: 0,
  harmless: false,
  transparent: false,
  prefixAllowable: false,
  ...more,
})
const thin = { harmless: true, transparent: true, prefixAllowable: true }

/** They do what the words behind them say; their options are not told apart. */
const others =
  "busybox toybox fakeroot pkexec ltrace valgrind unbuffer rlwrap prlimit setarch dbus-run-session catchsegv".split(" ")

const wrappers: Readonly<Record<string, Wrapper>> = {
  ...Object.fromEntries(others.map((name) => [name, wrapper("")])),
  timeout: wrapper("-fpv -k: -s: --kill-after= --signal= --foreground --preserve-status --verbose", {
    ...thin,
    skip: 1,
  }),
  time: wrapper("-pvq", thin),
  nice: wrapper("-# -n: --adjustment=", thin),
  nohup: wrapper("", thin),
  stdbuf: wrapper("-i: -o: -e: --input= --output= --error=", thin),
  command: wrapper("-p", thin),
  builtin: wrapper("", thin),
  noglob: wrapper("", { transparent: true, prefixAllowable: true }),
  ionice: wrapper("-t -c: -n: --ignore --class= --classdata=", { harmless: true }),
  exec: wrapper("-cl -a:"),
  xargs: wrapper(
    "-0rtpxo -a: -d: -E: -I: -L: -n: -P: -s: --null --no-run-if-empty --verbose --arg-file= --delimiter= --max-args= --max-procs= --max-lines= --max-chars= --exit --interactive",
    { harmless: true, prefixAllowable: true },
  ),
  env: wrapper("-i0v -u: -C: --ignore-environment --null --debug --unset= --chdir=", {
    harmless: true,
    prefixAllowable: true,
  }),
  chrt: wrapper("-abdfimoprRv -T: -P: -D:", { skip: 1 }),
  taskset: wrapper("-ac", { skip: 1 }),
  setsid: wrapper("-cfw --ctty --fork --wait"),
  flock: wrapper("-sxneouF -w: -E: -c: --shared --exclusive --nonblock --close --timeout= --command= --verbose", {
    skip: 1,
    text: "-c",
  }),
  watch: wrapper("-bcdegptwx -n: -q: --interval= --differences=? --no-title --color --exec"),
  sudo: wrapper(
    "-AbEeHiKklnPSsVv -C: -g: -h: -p: -R: -r: -T: -t: -U: -u: -D: --user= --group= --preserve-env=? --login --shell",
  ),
  doas: wrapper("-Lns -a: -C: -u:"),
  su: wrapper("-fml -c: -s: -g: -G: --command= --login --shell=", { skip: 1, text: "-c" }),
  script: wrapper("-aefq -c: -E: -I: -O: -B: -t: --command= --quiet --append --return", { skip: 1, text: "-c" }),
  parallel: wrapper(
    "-0kXmtv -j: -n: -N: -L: -I: -a: -d: -C: --jobs= --dry-run --halt= --joblog= --colsep= --delay= --timeout=",
  ),
  chroot: wrapper("--userspec= --groups= --skip-chdir", { skip: 1 }),
  unshare: wrapper("-cfimnprTuU --map-root-user --fork"),
  strace: wrapper("-cdfFhiqrtTvVxy -e: -o: -p: -s: -u: -a: -O: -S: -P:"),
  runuser: wrapper("-fmlP -c: -g: -G: -s: -u: --command= --user= --group= --login --shell=", { text: "-c" }),
  gosu: wrapper("", { skip: 1 }),
  npx: wrapper("-yq -p: -c: --yes --no --package= --call= --quiet", { text: "-c", prefixAllowable: true }),
  bunx: wrapper("-y --bun --package=", { prefixAllowable: true }),
  uvx: wrapper("--from= --with=", { prefixAllowable: true }),
}

const plainXargs = new Set("-0 -r -n -t --null --no-run-if-empty --max-args --verbose".split(" "))

/** `undefined`: it runs no other command. */
export const unwrap = (program: string, args: ReadonlyArray<Field>): Wrapped | undefined => {
  const found = Object.hasOwn(wrappers, program) ? wrappers[program] : undefined
  if (found === undefined) return undefined
  const parsed = read(args, found.spec)
  const isFlagless = parsed.first === 0
  let from = parsed.first
  let why = parsed.strange === undefined ? "" : `${parsed.strange} of ${program} is not known`
  if (program === "env") {
    while (from < args.length && /^[A-Za-z_][A-Za-z0-9_]*=/.test(args[from]?.text ?? "")) {
      const field = args[from++]
      const [name = ""] = field?.text.split("=", 1) ?? []
      const isPlain = field?.kind === "literal" && Names.isHarmlessValue(field.text.slice(name.length + 1))
      if (!Names.isHarmlessEnv(name) || !isPlain) why ||= `env sets ${name}`
    }
    if (parsed.options.has("-C") || parsed.options.has("--chdir")) why ||= "env changes the directory"
    if (from >= args.length) why ||= "env prints the environment, which may hold secrets"
  }
  const locks = program === "flock" ? args[from] : undefined
  const own = args.slice(from, from + found.skip)
  if (own.some((field) => field.kind !== "literal")) why ||= `what ${program} is given is not known`
  from += found.skip
  const isText = (option: string) =>
    found.text !== undefined && (option === found.text || /^--(?:command|call)$/.test(option))
  const texts = parsed.values.filter(({ option }) => isText(option)).map(({ field }) => field)
  let inner = args.slice(from)
  // A program that is watched or repeated goes through `sh -c` when it is one word.
  if ((program === "watch" || program === "parallel") && inner.length === 1) texts.push(...inner)
  if (program === "flock" && inner[0]?.text === "-c") texts.push(...inner.slice(1, 2))
  if (program === "xargs" || program === "parallel") {
    if (inner.length === 0) inner = [{ kind: "literal", text: "echo" }]
    const replaced =
      parsed.values.find(({ option }) => option === "-I")?.field.text ?? (program === "parallel" ? "{}" : undefined)
    inner =
      replaced === undefined || replaced === ""
        ? [...inner, unknown("…", true)]
        : inner.map((field) => (field.text.includes(replaced) ? unknown(field.text) : field))
  }
  // Others change where words come from or where they go.
  const other = program === "xargs" && [...parsed.options].find((option) => !plainXargs.has(option))
  if (typeof other === "string") why ||= `${other} of xargs is not known to be harmless`
  if (program === "exec" && inner.length === 0) why ||= "exec changes the shell's own files"
  return {
    inner,
    texts,
    harmless: found.harmless && why === "" && parsed.disguised === undefined,
    transparent: found.transparent && why === "" && (program !== "command" || isFlagless),
    prefixAllowable: found.prefixAllowable,
    locks,
    why: why === "" ? `${program} is not a harmless wrapper` : why,
  }
}

/** For xargs only the call without options counts as transparent to rules. */
export const isFlaglessXargs = (program: string, args: ReadonlyArray<Field>): boolean =>
  program === "xargs" && args[0]?.kind === "literal" && !args[0].text.startsWith("-")

const shells = new Set("bash sh zsh dash ksh ash mksh fish rbash".split(" "))

/** What a shell was told to run. `source`: the text of `-c`; `file`: a script; neither: whatever it reads from its input. */
export const shellCall = (
  program: string,
  args: ReadonlyArray<Field>,
): { readonly source: Field | undefined; readonly file: Field | undefined; readonly plain: boolean } | undefined => {
  if (!shells.has(program)) return undefined
  let at = 0
  let takes = false
  let plain = program === "bash"
  for (; at < args.length; at++) {
    const field = args[at]
    if (field === undefined || field.kind !== "literal" || !/^[-+]./.test(field.text)) break
    if (field.text === "--") {
      at++
      break
    }
    if (field.text.startsWith("--")) {
      plain = false
      if (/^--(?:rcfile|init-file)$/.test(field.text)) at++
      continue
    }
    if (field.text !== "-c") plain &&= /^-[ceux]+$/.test(field.text)
    if (field.text.startsWith("-") && field.text.includes("c")) takes = true
    if (/^[-+][a-zA-Z]*[oO]$/.test(field.text)) {
      plain = false
      at++
    }
  }
  const next = args[at]
  return { source: takes ? next : undefined, file: takes ? undefined : next, plain: plain && takes }
}
