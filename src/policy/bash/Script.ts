/** Owns the way through a line: every statement in the order it may run, with what is known carried along and joined where ways meet. */
import {
  type Assignment,
  type Command,
  type CommandNode,
  type CompoundList,
  type Function as FunctionNode,
  parse,
  type ParsedScript,
  type PipelineNode,
  type Statement,
  type SyntaxNode,
  type Word as WordNode,
} from "unbash"
import { arithmetic, assigned } from "./Arithmetic.ts"
import { changesOf } from "./Changes.ts"
import { tested } from "./Conditions.ts"
import { type Context, deeper, problem, step } from "./Context.ts"
import { judge, textOf, type Walk } from "./Judge.ts"
import * as Names from "./Names.ts"
import { redirected } from "./Redirects.ts"
import * as SimpleCommand from "./SimpleCommand.ts"
import { become, clone, type Field, forget, join, literal, settle, start, type State, unknown } from "./State.ts"
import { looseness, oddity, survey } from "./Survey.ts"
import * as Word from "./Word.ts"

const mostArguments = 16
const words = { value: Word.value, look: Word.look }

/** Looks at a whole script in a state that it changes. */
export const script = (node: ParsedScript, state: State, context: Context): void => {
  for (const error of node.errors ?? []) context.gaps.push(`it cannot be parsed: ${error.message}`)
  list(node.commands, state, context)
}

const list = (statements: ReadonlyArray<Statement>, state: State, context: Context): void => {
  for (const statement of statements) {
    if (!step(context)) return
    deeper(context, () => {
      // What is sent to the background runs in a shell of its own.
      andOr(statement.command, statement.background === true ? clone(state) : state, context)
      settle(state)
    })
  }
}

const andOr = (node: Statement["command"], state: State, context: Context): void => {
  if (node.type !== "AndOr") return pipeline(node, state, context)
  const [first, ...rest] = node.commands
  if (first !== undefined) pipeline(first, state, context)
  rest.forEach((command, index) => {
    const before = clone(state)
    if (node.operators[index] === "&&") {
      state.otherwise = "same"
      pipeline(command, state, context)
      // Not run at all if what stands before it failed.
      const ran = clone(state)
      if (index === rest.length - 1 || node.operators[index + 1] !== "&&") become(state, join(before, ran))
      else if (before.otherwise !== "same" || ran.otherwise === "same") state.otherwise = merge(before, ran)
    } else {
      if (state.otherwise !== "same") {
        state.cwds = state.otherwise
        state.otherwise = "same"
      }
      pipeline(command, state, context)
      const succeeded = before
      succeeded.otherwise = "same"
      become(state, join(succeeded, clone(state)))
    }
  })
}

/** In a chain of `&&` every place on the way is where it may have ended. */
const merge = (before: State, ran: State): State["otherwise"] => {
  const places = [
    before.cwds,
    before.otherwise === "same" ? before.cwds : before.otherwise,
    ran.otherwise === "same" ? before.cwds : ran.otherwise,
  ]
  if (places.includes(undefined)) return undefined
  return [...new Set(places.flatMap((place) => place ?? []))]
}

const pipeline = (node: PipelineNode, state: State, context: Context): void => {
  if (node.type !== "Pipeline") return command(node, state, context)
  const [only] = node.commands
  if (node.commands.length === 1 && only !== undefined) {
    const isNegated = node.prefixes.some((prefix) => prefix.type === "Negation")
    command(only, state, context)
    if (isNegated) settle(state)
    return
  }
  for (const each of node.commands) command(each, clone(state), context)
  settle(state)
}

const command = (node: CommandNode | CompoundList, state: State, context: Context): void => {
  if (!step(context)) return
  deeper(context, () => compound(node, state, context))
}

const compound = (node: CommandNode | CompoundList, state: State, context: Context): void => {
  switch (node.type) {
    case "Command":
      return simple(node, state, context)
    case "Redirected": {
      const redirects = redirected(node.redirects, state, context)
      context.touches.push(...redirects.touches)
      if (redirects.why !== "") problem(context, redirects.why)
      return command(node.command, state, context)
    }
    case "CompoundList":
      return list(node.commands, state, context)
    case "BraceGroup":
      return list(node.body.commands, state, context)
    case "Subshell":
      return list(node.body.commands, clone(state), context)
    case "If": {
      list(node.clause.commands, state, context)
      let other = clone(state)
      const then = clone(state)
      list(node.then.commands, then, context)
      let end = then
      for (const branch of node.elif) {
        list(branch.clause.commands, other, context)
        const taken = clone(other)
        list(branch.then.commands, taken, context)
        end = join(end, taken)
      }
      if (node.else !== undefined) {
        other = clone(other)
        list(node.else.commands, other, context)
      }
      return become(state, join(end, other))
    }
    case "For":
    case "Select": {
      if (node.type === "Select") problem(context, "select asks its input")
      const values = node.wordlist?.flatMap((word) => Word.fields(word, state, context).flat())
      const isKnown = values !== undefined && values.length <= 64 && values.every((field) => field.kind !== "unknown")
      repeat(node.body, state, context, (round) => {
        assigned(node.name.value, isKnown ? values : [unknown(`$${node.name.value}`, true)], round, context)
        list(node.body.commands, round, context)
      })
      return
    }
    case "While":
      return repeat(node, state, context, (round) => {
        list(node.clause.commands, round, context)
        list(node.body.commands, round, context)
      })
    case "ArithmeticFor":
      arithmetic(node.initialize, state, context, words)
      return repeat(node, state, context, (round) => {
        arithmetic(node.test, round, context, words)
        list(node.body.commands, round, context)
        arithmetic(node.update, round, context, words)
      })
    case "Case": {
      Word.value(node.word, state, context)
      let end = clone(state)
      for (const item of node.items) {
        for (const pattern of item.pattern) Word.value(pattern, state, context)
        if (item.terminator !== ";;") problem(context, "one case falls through to the next")
        const taken = clone(item.terminator === ";;" ? state : end)
        list(item.body.commands, taken, context)
        end = join(end, taken)
      }
      return become(state, end)
    }
    case "Function":
      state.defined.add(node.name.value)
      // A body that is never called does nothing; it is looked at where it is called.
      return
    case "Coproc":
      problem(context, "coproc leaves a process behind")
      return command(node.body, clone(state), context)
    case "TestCommand":
      return tested(node.expression, state, context)
    case "ArithmeticCommand":
      return arithmetic(node.expression, state, context, words)
  }
}

/** One look stands for all rounds, so it starts from what holds in each of them. */
const repeat = (node: SyntaxNode, state: State, context: Context, round: (state: State) => void): void => {
  const changes = changesOf(node, context)
  forget(state, changes.names, changes.counted)
  if (changes.moves) state.cwds = undefined
  const inside = clone(state)
  round(inside)
  become(state, join(clone(state), inside))
}

const isOpen = (word: WordNode): boolean => {
  const open = (part: SyntaxNode): boolean =>
    /^(?:SimpleExpansion|ParameterExpansion|CommandExpansion|ArithmeticExpansion|ProcessSubstitution|BraceExpansion|ExtendedGlob)$/.test(
      part.type,
    ) ||
    ((part.type === "DoubleQuoted" || part.type === "LocaleString") && part.parts.some(open))
  return word.parts?.some(open) ?? false
}

const simple = (node: Command, state: State, context: Context): void => {
  const before = context.shown.length
  const assignments = node.prefix.filter((each): each is Assignment => each.type === "Assignment")
  const env = assignments.map((each) => ({ name: each.name, value: assignment(each, state, context) }))
  const given = node.name === undefined ? [] : [node.name, ...node.args]
  let alternatives: ReadonlyArray<ReadonlyArray<Field>> = [[]]
  for (const word of given) {
    const found = word.type === "Word" ? Word.fields(word, state, context) : argument(word, state, context)
    alternatives =
      alternatives.length * found.length > mostArguments
        ? alternatives.slice(0, 1).map((before) => before.concat(unknown(word.text, true)))
        : alternatives.flatMap((before) => found.map((more) => before.concat(more)))
  }
  const redirects = redirected(node.redirects, state, context)
  context.touches.push(...redirects.touches)
  const argv = given.map((word) => (word.type === "Word" ? word.value : word.text))
  const set = assignments.map((each) => each.text)
  const literalValues = !assignments.some((each) => each.value.type !== "Word" || isOpen(each.value))
  if (given.length === 0) {
    for (const [index, each] of assignments.entries()) {
      const plain = each.append !== true && each.index === undefined
      assigned(each.name, plain ? (env[index]?.value ?? []) : [unknown(`$${each.name}`, true)], state, context)
    }
    const bad = env.find(({ name }) => !Names.isAssignable(name))
    const found = shownBy(before, context)
    const why =
      redirects.why !== ""
        ? redirects.why
        : bad === undefined
          ? found
          : `it sets ${bad.name}, which changes how programs run`
    const judged = { why, seen: [], inside: [], prefixAllowable: true, needsCleanGit: false }
    context.commands.push(SimpleCommand.of([], set, [], judged, literalValues, redirects.touches))
    return
  }
  // `IFS= read` is how lines are read as they are; it ends with the command.
  const isRead = argv[0] === "read" && !context.functions.has("read")
  const steering = env.find(
    ({ name, value }) => !(Names.isHarmlessEnv(name) && value.every(isHarmless)) && !(isRead && name === "IFS"),
  )
  const verdicts: Array<SimpleCommand.Verdict> = []
  const [only] = alternatives
  if (alternatives.length === 1 && only !== undefined) verdicts.push(judge(only, state, context, walk))
  else {
    let end: State | undefined
    for (const each of alternatives) {
      const apart = clone(state)
      verdicts.push(judge(each, apart, context, walk))
      end = end === undefined ? apart : join(end, apart)
    }
    if (end !== undefined) become(state, end)
  }
  const own = shownBy(before, context)
  const why =
    redirects.why !== ""
      ? redirects.why
      : steering !== undefined
        ? `${steering.name} in front of it may change what it does`
        : (verdicts.find((each) => each.why !== "")?.why ?? own)
  const literalWords = given.every((word) => word.type === "Word" && !isOpen(word))
  const judged = {
    why,
    seen: verdicts.flatMap(({ seen }) => seen),
    inside: literalWords ? verdicts.flatMap(({ inside }) => inside) : [],
    prefixAllowable: verdicts.every((each) => each.prefixAllowable),
    needsCleanGit: verdicts.some((each) => each.needsCleanGit) && redirects.why === "" && steering === undefined,
  }
  const resolved = alternatives.map(textOf)
  const isLiteral = literalWords && literalValues
  context.commands.push(SimpleCommand.of(argv, set, resolved, judged, isLiteral, redirects.touches))
}

const isHarmless = (field: Field): boolean =>
  field.kind === "literal" ? Names.isHarmlessValue(field.text) : field.kind === "unknown" && field.number

/** What the words of a command show is said of that command. */
const shownBy = (before: number, context: Context): string => {
  const [own] = context.shown.splice(before)
  return own ?? ""
}

/** The value of an assignment; an element or an array is not followed. */
const assignment = (node: Assignment, state: State, context: Context): ReadonlyArray<Field> => {
  if (node.index !== undefined) {
    Word.look(node.index.parts, state, context)
    if (!/^\d+$/.test(node.index.text)) problem(context, `the index in ${node.text} is evaluated`)
  }
  if (node.value.type === "Word") return Word.value(node.value, state, context)
  for (const element of node.value.elements) {
    Word.fields(element, state, context)
    // `[i]=x` inside of an array has an index, too.
    if (element.text.startsWith("[") && !/^\[\d+\]/.test(element.text))
      problem(context, `the index in ${element.text} is evaluated`)
  }
  return [unknown(node.text, true)]
}

/** An assignment as a word behind `export` and its kind. */
const argument = (node: Assignment, state: State, context: Context): Word.Alternatives => {
  const values = assignment(node, state, context)
  if (node.append === true || node.index !== undefined || node.value.type !== "Word") return [[unknown(node.text)]]
  return values.map((field) => [
    field.kind === "literal" ? literal(`${node.name}=${field.text}`) : unknown(`${node.name}=${field.text}`),
  ])
}

const walk: Walk = {
  nested: (text, state, context, here) => {
    const inside: Context = {
      ...context,
      source: text,
      commands: [],
      problems: [],
      shown: [],
      gaps: [],
      ...(!here && { functions: new Map<string, Array<FunctionNode>>(), locals: undefined }),
    }
    deeper(context, () => {
      const parsed = parse(text)
      const odd = oddity(text) ?? looseness(text)
      if (odd !== undefined) inside.gaps.push(odd)
      survey(parsed, inside)
      const apart = start(state.cwds?.[0] ?? "/", context.place.home)
      apart.cwds = state.cwds
      apart.otherwise = state.otherwise
      script(parsed, here ? state : apart, { ...inside, bounds: context.bounds, substitution: substitution(inside) })
    })
    const [gap] = inside.gaps
    if (gap !== undefined) context.touches.push({ _tag: "Unknown", why: gap })
    const why = gap ?? inside.problems[0] ?? inside.shown[0] ?? inside.commands.find((each) => !each.readOnly)?.why
    return { why: why ?? "", seen: inside.commands.flatMap(({ variants }) => variants) }
  },
  call: (name, args, state, context) => {
    if (context.calling.has(name)) return `${name} calls itself`
    const problems: Array<string> = []
    const shown: Array<string> = []
    const commands: Array<Context["commands"][number]> = []
    const inside: Context = { ...context, locals: new Set(), problems, shown, commands }
    const outer = new Map(state.vars)
    context.calling.add(name)
    for (let at = 0; at < 9; at++) {
      const field = args[at]
      const isCertain = field !== undefined && args.slice(0, at + 1).every((each) => each.kind === "literal")
      state.vars.set(String(at + 1), [isCertain ? field : unknown(`$${at + 1}`, true)])
    }
    let end: State | undefined
    for (const definition of context.functions.get(name) ?? []) {
      const apart = clone(state)
      deeper(context, () => command(definition.body, apart, { ...inside, substitution: substitution(inside) }))
      end = end === undefined ? apart : join(end, apart)
    }
    context.calling.delete(name)
    if (end !== undefined) become(state, end)
    for (const local of inside.locals ?? []) state.vars.set(local, [unknown(`$${local}`, true)])
    for (let at = 1; at <= 9; at++) {
      const before = outer.get(String(at))
      if (before === undefined) state.vars.delete(String(at))
      else state.vars.set(String(at), before)
    }
    context.commands.push(...commands)
    // Its commands stand for themselves; the call is only what else came up.
    return problems[0] ?? shown[0] ?? ""
  },
}

/** A substitution runs in a shell of its own, wherever it stands. */
export const substitution =
  (context: Context): Context["substitution"] =>
  (node, state) => {
    if (node === undefined) {
      context.gaps.push("a substitution cannot be parsed")
      return
    }
    // Inside of backticks the text is decoded first, and positions refer to that.
    const inside = node.source === undefined ? context : { ...context, source: node.source }
    deeper(context, () =>
      script(
        node,
        clone(state),
        node.source === undefined ? context : { ...inside, substitution: substitution(inside) },
      ),
    )
  }
