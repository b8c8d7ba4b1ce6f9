/** Owns how literal text is written inside of a shell pattern. */
import type { Field } from "./State.ts"

/** A pattern that matches only this text. */
export const escape = (text: string): string => text.replace(/[*?[\]\\]/g, "\\$&")

export const patternOf = (field: Exclude<Field, { readonly kind: "unknown" }>): string =>
  field.kind === "pattern" ? field.pattern : escape(field.text)
