/** Owns the shell's own commands that change what comes behind them, and those that only print or test. */
import { assigned } from "./Arithmetic.ts"
import { type Context, problem } from "./Context.ts"
import * as Names from "./Names.ts"
import { read, spec } from "./Options.ts"
import * as Place from "./Place.ts"
import { reach } from "./Reach.ts"
import { type Field, forget, literal, type State, unknown } from "./State.ts"

/** `undefined`: not one of these. Otherwise why the call is not read-only, `""` if it is. */
export const builtin = (
  program: string,
  args: ReadonlyArray<Field>,
  state: State,
  context: Context,
): string | undefined => {
  const found = Object.hasOwn(builtins, program) ? builtins[program] : undefined
  return found?.(args, state, context)
}

type Builtin = (args: ReadonlyArray<Field>, state: State, context: Context) => string
const quiet: Builtin = () => ""

const isName = (field: Field): boolean => field.kind === "literal" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(field.text)

const cd: Builtin = (args, state, context) => {
  // Only by the text of the path: where links lead nobody knows here.
  const { operands, strange } = read(args, spec("-L"))
  const target = operands[0] ?? state.vars.get("HOME")?.[0] ?? unknown("~")
  const from = state.cwds
  state.otherwise = state.otherwise === "same" ? from : undefined
  const isPlain = strange === undefined && operands.length <= 1 && !state.vars.has("CDPATH") && target.text !== "-"
  if (!isPlain || target.kind !== "literal" || (from === undefined && !target.text.startsWith("/"))) {
    state.cwds = undefined
    return "the directory it goes to is not known"
  }
  const doubt = reach(target, { reads: true, byText: true }, { ...state, cwds: from, otherwise: "same" }, context)
  state.cwds = [...new Set((from ?? ["/"]).map((cwd) => Place.resolve(cwd, target.text)))]
  return doubt ?? ""
}

const declare: Builtin = (args, state, context) => {
  const { operands, options, strange } = read(args, spec("-rgx"))
  let why = strange === undefined ? "" : `${strange} changes what assignments mean`
  for (const operand of operands) {
    const equals = operand.text.indexOf("=")
    const name = equals === -1 ? operand.text : operand.text.slice(0, equals)
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      forget(state, "all")
      why ||= `${operand.text} is not understood`
      continue
    }
    if (operand.kind === "literal" && equals !== -1) state.vars.set(name, [literal(operand.text.slice(equals + 1))])
    else state.vars.set(name, [unknown(`$${name}`, true)])
    context.locals?.add(name)
    if (!Names.isExportable(name) && !Names.isAssignable(name))
      why ||= `it sets ${name}, which changes how programs run`
    else if (options.has("-x") && !Names.isExportable(name)) why ||= exports(name)
  }
  return operands.length === 0 ? "it prints the variables, which may hold secrets" : why
}

const exports = (name: string): string => `it exports ${name} to the programs behind it`

const exported: Builtin = (args, state, context) => {
  const locals = context.locals
  context.locals = undefined
  const why = declare(args, state, context)
  context.locals = locals
  const name = args
    .map(({ text }) => text.split("=", 1)[0] ?? "")
    .find((text) => !text.startsWith("-") && !Names.isExportable(text))
  return why !== "" || name === undefined ? why : exports(name)
}

const taking =
  (options: string, otherwise: string): Builtin =>
  (args, state, context) => {
    const { operands, strange, values } = read(args, spec(options))
    const names = [...operands, ...values.filter(({ option }) => option === "-a").map(({ field }) => field)]
    for (const field of names.length === 0 ? [literal(otherwise)] : names) {
      if (!isName(field)) {
        forget(state, "all")
        return `${field.text} is not the plain name of a variable`
      }
      if (field.text === otherwise) state.vars.set(otherwise, [unknown(`$${otherwise}`, true)])
      else assigned(field.text, [unknown(`$${field.text}`, true)], state, context)
    }
    const open = values.some(({ field }) => field.kind === "unknown" && !field.number)
    return strange === undefined && !open ? "" : `${strange ?? "an option"} is not known to be harmless`
  }

const printf: Builtin = (args, state, context) => {
  let rest = args
  if (args[0]?.text === "-v") {
    const name = args[1]
    if (name === undefined || !isName(name)) {
      forget(state, "all")
      return "printf -v assigns something that is not a plain variable"
    }
    assigned(name.text, [unknown(`$${name.text}`, true)], state, context)
    rest = args.slice(2)
  }
  if (rest[0]?.text === "--") rest = rest.slice(1)
  const format = rest[0]
  if (format?.kind !== "literal" || format.text.startsWith("-v")) return "its format is not known"
  // `%n` assigns the variable that the argument names.
  return /%[-+ #0'*.\d]*[hlLjztq]*n/.test(format.text) ? "%n of printf assigns a variable" : ""
}

const unary = /^-[abcdefghknprstuwxzGLNOS]$/
const text = /^-[nz]$/
const binary = /^(?:=|==|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$/

/** Words of `test` are taken apart strictly, because `-v 'a[$(…)]'` runs what is inside. */
const test: Builtin = (args, state, context) => {
  let why = ""
  let at = 0
  const file = (field: Field | undefined): void => {
    if (field !== undefined) why ||= reach(field, { reads: true }, state, context) ?? ""
  }
  const single = (field: Field | undefined): boolean =>
    field !== undefined && !(field.kind === "unknown" && field.many) && field.kind !== "pattern"
  while (at < args.length) {
    const [first, second, third] = args.slice(at, at + 3)
    const isOperator = (field: Field | undefined, pattern: RegExp) =>
      field?.kind === "literal" && pattern.test(field.text)
    if (isOperator(first, /^(?:!|\(|\)|-a|-o)$/) && !isOperator(second, binary)) at++
    else if (isOperator(second, binary) && single(first) && single(third)) {
      if (/^-(?:nt|ot|ef)$/.test(second?.text ?? "")) {
        file(first)
        file(third)
      }
      at += 3
    } else if (isOperator(first, unary) && single(second)) {
      if (!text.test(first?.text ?? "") && !/^-[t]$/.test(first?.text ?? "")) file(second)
      at += 2
    } else if (args.length === 1 && single(first)) at++
    else return `test with ${first?.text ?? ""} is not understood`
  }
  return why
}

const set: Builtin = (args, state) => {
  for (let at = 0; at < args.length; at++) {
    const field = args[at]
    if (field?.kind !== "literal") return "its options are not known"
    if (field.text === "--" || field.text === "-") {
      forgetPositional(state)
      return ""
    }
    if (/^[-+][euxvho]*o$/.test(field.text)) {
      const option = args[++at]?.text ?? ""
      if (!/^(?:pipefail|errexit|nounset|xtrace|hashall)$/.test(option)) return `set -o ${option} changes the shell`
    } else if (!/^[-+][euxvh]+$/.test(field.text)) return `set ${field.text} changes the shell`
  }
  return args.length === 0 ? "it prints the variables, which may hold secrets" : ""
}

const builtins: Readonly<Record<string, Builtin>> = {
  cd,
  pushd: (args, state, context) =>
    args.length === 1 && !/^[-+]/.test(args[0]?.text ?? "") ? cd(args, state, context) : popd(args, state, context),
  popd: (args, state, context) => popd(args, state, context),
  ":": quiet,
  true: quiet,
  false: quiet,
  echo: quiet,
  return: () => "it leaves what it stands in",
  break: quiet,
  continue: quiet,
  shift: (_args, state) => {
    forgetPositional(state)
    return ""
  },
  wait: (args) =>
    args.some((field) => field.text.startsWith("-") || field.kind === "unknown") ? "its options are not known" : "",
  // Not where the line ends for certain: a redirect may fail before it.
  exit: () => "it leaves the shell",
  printf,
  test,
  "[": (args, state, context) =>
    args.at(-1)?.text === "]" ? test(args.slice(0, -1), state, context) : "its ] is missing",
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  export: exported,
  read: taking("-rse -a: -d: -i: -n: -N: -p: -t: -u:", "REPLY"),
  mapfile: taking("-t -d: -n: -O: -s: -u:", "MAPFILE"),
  readarray: taking("-t -d: -n: -O: -s: -u:", "MAPFILE"),
  set,
  shopt: (args, state, context) => {
    if (
      args.length > 1 &&
      /^-[su]$/.test(args[0]?.text ?? "") &&
      args.slice(1).every(({ text }) => /^(?:nullglob|globstar|failglob)$/.test(text))
    )
      return ""
    context.touches.push({ _tag: "Unknown", why: "shopt changes what patterns match" })
    forget(state, "all")
    return "it changes options of the shell"
  },
  unset: (args, state, context) => {
    for (const { text } of args) state.vars.delete(text)
    for (const { text } of args) state.defined.delete(text)
    if (args.some((field) => !isName(field))) problem(context, "unset is not understood")
    return "it removes variables or functions"
  },
}

const forgetPositional = (state: State): void => {
  for (const name of state.vars.keys()) if (/^\d+$/.test(name)) state.vars.set(name, [unknown(`$${name}`, true)])
}

const popd: Builtin = (_args, state) => {
  state.cwds = undefined
  state.otherwise = "same"
  return "the directory it goes to is not known"
}
