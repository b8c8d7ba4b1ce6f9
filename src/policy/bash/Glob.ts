/** Owns how literal text is written inside of a shell pattern. */

/** A pattern that matches only this text. */
export const escape = (text: string): string => text.replace(/[*?[\]\\]/g, "\\$&")
