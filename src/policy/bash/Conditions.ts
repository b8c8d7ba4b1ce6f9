/** Owns `[[ … ]]`: numbers in it are arithmetic, files in it are looked at. */
import type { TestExpression } from "unbash"
import { type Context, deeper, problem, step } from "./Context.ts"
import { reach } from "./Reach.ts"
import type { State } from "./State.ts"
import * as Word from "./Word.ts"

export const tested = (node: TestExpression, state: State, context: Context): void => {
  if (!step(context)) return
  switch (node.type) {
    case "TestUnary": {
      const operand = Word.value(node.operand, state, context)
      if (node.operator === "-v" || node.operator === "-R") {
        if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(node.operand.text)) problem(context, "-v evaluates an index")
      } else if (!/^-[nzot]$/.test(node.operator)) {
        for (const field of operand) {
          const doubt = reach(field, { reads: true }, state, context)
          if (doubt !== undefined) problem(context, doubt)
        }
      }
      return
    }
    case "TestBinary":
      Word.value(node.left, state, context)
      Word.value(node.right, state, context)
      if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator)) {
        for (const side of [node.left, node.right]) {
          const isNumber = Word.value(side, state, context).every(
            (field) => (field.kind === "unknown" && field.number) || /^-?\d+$/.test(field.text),
          )
          if (!isNumber) problem(context, `${side.text} would be evaluated as arithmetic`)
        }
      } else if (/^-(?:nt|ot|ef)$/.test(node.operator)) {
        for (const side of [node.left, node.right]) {
          for (const field of Word.value(side, state, context)) {
            const doubt = reach(field, { reads: true }, state, context)
            if (doubt !== undefined) problem(context, doubt)
          }
        }
      }
      return
    case "TestLogical":
      for (const operand of node.operands) tested(operand, state, context)
      return
    case "TestNot":
      return tested(node.operand, state, context)
    case "TestGroup":
      return deeper(context, () => tested(node.expression, state, context))
  }
}
