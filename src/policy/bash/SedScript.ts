/** Owns the proof that a sed script only prints: no `w`, `r`, `e`, `W`, `R`, no flag `e` or `w`. What it cannot read is not proven. */

export const isHarmless = (script: string): boolean => {
  let at = 0
  const skip = (pattern: RegExp): void => {
    pattern.lastIndex = at
    at += pattern.exec(script)?.[0].length ?? 0
  }
  const blanks = /[ \t]*/y
  const between = /[ \t\n;]*/y
  const digits = /\d*/y
  const label = /[ \t]*[A-Za-z0-9_]*/y

  /** Moves behind the closing delimiter; `false` if there is none or it may be read in two ways. */
  const delimited = (delimiter: string, isPattern: boolean): boolean => {
    const from = at
    while (at < script.length && script.charAt(at) !== delimiter) {
      if (script.charAt(at) === "\n") return false
      if (script.charAt(at) === "\\") at++
      at++
    }
    if (at >= script.length) return false
    const text = script.slice(from, at++)
    // Some seds look for the delimiter inside of `[…]`, others do not.
    return !isPattern || text.split("[").length === text.split("]").length
  }
  const address = (): boolean => {
    const char = script.charAt(at)
    if (/\d/.test(char)) skip(digits)
    else if (char === "$") at++
    else if (char === "/" || char === "\\") {
      if (char === "\\") at++
      const delimiter = script.charAt(at++)
      if (/[\\\n]/.test(delimiter) || delimiter === "" || !delimited(delimiter, true)) return false
      skip(/[IM]*/y)
    } else return char !== "+" && char !== "~" ? true : (at++, skip(digits), true)
    skip(blanks)
    if (script.charAt(at) === "~") {
      at++
      skip(digits)
    }
    return true
  }

  while (at < script.length) {
    skip(between)
    if (at >= script.length) return true
    if (!address()) return false
    skip(blanks)
    if (script.charAt(at) === ",") {
      at++
      skip(blanks)
      const before = at
      if (!address() || at === before) return false
    }
    skip(/[ \t!]*/y)
    const command = script.charAt(at++)
    if (/[={}dDgGhHnNpPxzF]/.test(command)) skip(blanks)
    else if (/[lqQ]/.test(command)) {
      skip(blanks)
      skip(digits)
      skip(blanks)
    } else if (/[btT:]/.test(command)) {
      skip(label)
      skip(blanks)
    } else if (command === "#") {
      skip(/[^\n]*/y)
      continue
    } else if (command === "s" || command === "y") {
      const delimiter = script.charAt(at++)
      if (delimiter === "" || /[\\\n]/.test(delimiter)) return false
      if (!delimited(delimiter, true) || !delimited(delimiter, false)) return false
      if (command === "s") skip(/[gpiI0-9]*/y)
      skip(blanks)
    } else return false
    // Behind a label a comment is part of the label, for some seds.
    const ends = /[btT:]/.test(command) ? /[;\n}]/ : /[;\n}#]/
    if (at < script.length && command !== "{" && !ends.test(script.charAt(at))) return false
  }
  return true
}
