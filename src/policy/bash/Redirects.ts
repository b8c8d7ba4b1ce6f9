/** Owns where a command's input comes from and its output goes. */
import type { Redirection } from "unbash"
import type { Touch } from "../Effects.ts"
import { assigned } from "./Arithmetic.ts"
import type { Context } from "./Context.ts"
import { reach } from "./Reach.ts"
import { type State, unknown } from "./State.ts"
import * as Word from "./Word.ts"

export const redirected = (
  redirects: ReadonlyArray<Redirection>,
  state: State,
  context: Context,
): { readonly touches: ReadonlyArray<Touch>; readonly why: string } => {
  const touches: Array<Touch> = []
  const inside = { ...context, touches }
  let why = ""
  for (const redirect of redirects) {
    if (redirect.descriptor?.type === "FileDescriptorVariable") {
      assigned(redirect.descriptor.name, [unknown(`$${redirect.descriptor.name}`, false, true)], state, context)
    }
    if (redirect.type === "HereDoc") {
      if (redirect.closing === undefined) context.gaps.push("a here-document has no end")
      Word.look(redirect.body.parts, state, context)
      continue
    }
    if (redirect.target === undefined) continue
    if (redirect.type === "HereString") {
      Word.value(redirect.target, state, context)
      continue
    }
    const { operator } = redirect
    const targets = Word.fields(redirect.target, state, context).flat()
    for (const target of targets) {
      if ((operator === ">&" || operator === "<&") && target.kind === "literal" && /^(?:\d+-?|-)$/.test(target.text))
        continue
      const isRead = operator === "<" || operator === "<>" || operator === "<&"
      if (isRead) why ||= reach(target, { reads: true }, state, inside) ?? ""
      if (isRead && operator !== "<>") continue
      const before = touches.length
      const doubt = reach(
        target,
        { how: operator === ">>" || operator === "&>>" ? "append" : operator === "<>" ? "change" : "create" },
        state,
        inside,
      )
      if (touches.length > before) why ||= doubt ?? `it writes ${target.text}`
    }
  }
  return { touches, why }
}
