/** Owns reading lists of rules as flags give them. Without Effect: a command line is judged before anything large is loaded. */

/** A list as flags give it: separated by commas or spaces, outside parentheses. */
export const parseList = (items: ReadonlyArray<string>): ReadonlyArray<string> =>
  items.flatMap((item) => {
    const rules: Array<string> = []
    let rule = ""
    let depth = 0
    for (const char of item) {
      if (char === "(") depth++
      else if (char === ")" && depth > 0) depth--
      if (depth === 0 && /[\s,]/.test(char)) {
        if (rule !== "") rules.push(rule)
        rule = ""
      } else rule += char
    }
    if (rule !== "") rules.push(rule)
    return rules
  })
