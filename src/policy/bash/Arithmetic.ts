/**
 * Owns arithmetic of the shell. A variable in it is evaluated as an expression again, and an index in that expression may hold a
 * substitution: `x='a[$(rm f)]'; echo $((x))` runs `rm`. So only variables that are known to hold numbers are harmless.
 */
import type { ArithmeticExpression, Word, WordPart } from "unbash"
import { type Context, problem, step } from "./Context.ts"
import * as Names from "./Names.ts"
import { isNumber, type State, unknown, type Value } from "./State.ts"

/** How words are looked at; given by their owner, which stands behind this file. */
interface Words {
  readonly value: (word: Word, state: State, context: Context) => Value
  readonly look: (parts: ReadonlyArray<WordPart> | undefined, state: State, context: Context) => void
}

export const arithmetic = (
  expression: ArithmeticExpression | undefined,
  state: State,
  context: Context,
  words: Words,
): void => {
  if (expression === undefined || !step(context)) return
  switch (expression.type) {
    case "ArithmeticBinary":
      arithmetic(expression.right, state, context, words)
      if (/^(?:[-+*/%&|^]|<<|>>|\*\*)?=$/.test(expression.operator)) return counted(expression.left, state, context)
      return arithmetic(expression.left, state, context, words)
    case "ArithmeticUnary":
      if (expression.operator === "++" || expression.operator === "--") {
        arithmetic(expression.operand, state, context, words)
        return counted(expression.operand, state, context)
      }
      return arithmetic(expression.operand, state, context, words)
    case "ArithmeticTernary":
      arithmetic(expression.test, state, context, words)
      arithmetic(expression.consequent, state, context, words)
      return arithmetic(expression.alternate, state, context, words)
    case "ArithmeticGroup":
      return arithmetic(expression.expression, state, context, words)
    case "ArithmeticCommandExpansion":
      context.substitution(expression.script, state)
      return problem(context, "what a command prints would be evaluated as arithmetic")
    case "ArithmeticWord":
      words.look(expression.parts, state, context)
      return operand(expression.value, state, context)
  }
}

/** An index or an offset, which is arithmetic written as a word. */
export const arithmeticText = (word: Word, state: State, context: Context, words: Words): void => {
  const simple = /^\s*(-?\s*\d+|\$?[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\})\s*$/.exec(word.text)
  if (simple === null) {
    words.look(word.parts, state, context)
    return problem(context, `${word.text} would be evaluated as arithmetic`)
  }
  operand(simple[1] ?? "", state, context)
}

/** A number, or a variable that holds one. */
const operand = (text: string, state: State, context: Context): void => {
  const trimmed = text.trim()
  if (/^-?\s*(?:\d+#)?[0-9][0-9a-fA-FxX]*$/.test(trimmed) || trimmed === "") return
  const name = /^\$?\{?([A-Za-z_][A-Za-z0-9_]*|[#?$!])\}?$/.exec(trimmed)?.[1]
  const value = name === undefined ? undefined : state.vars.get(name)
  const holds = name !== undefined && (value === undefined ? Names.isNumeric(name) : value.every(isNumber))
  if (!holds) problem(context, `${text} in arithmetic is not known to be a number`)
}

const counted = (target: ArithmeticExpression, state: State, context: Context): void => {
  if (target.type !== "ArithmeticWord" || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(target.value)) {
    return problem(context, "arithmetic assigns something that is not a plain variable")
  }
  assigned(target.value, [unknown(`$${target.value}`, false, true)], state, context)
}

/** Notes an assignment; one that steers programs ends what is read-only. */
export const assigned = (name: string, value: Value, state: State, context: Context): void => {
  state.vars.set(name, value)
  if (!Names.isAssignable(name)) problem(context, `it sets ${name}, which changes how programs run`)
}
