/** Owns recognising credentials in text that is about to be kept: keys of known services, private keys, passwords with their name. */

/** To its end, or as far as it goes: also with its line ends escaped. */
const wholeKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----|[\w+/=\s\\]*)/

const shapes: ReadonlyArray<readonly [what: string, shape: RegExp, whole?: RegExp]> = [
  ["a private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----/, wholeKey],
  ["a key of Anthropic", /\bsk-ant-[\w-]{16,}/],
  ["an API key", /\b(?:sk|rk|pk)[-_](?:live|test|proj)[-_][\w-]{16,}|\bsk-[A-Za-z0-9]{32,}/],
  ["a key of AWS", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ["a token of GitHub", /\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,})/],
  ["a token of GitLab", /\bglpat-[\w-]{18,}/],
  ["a token of Slack", /\bxox[abeoprs]-[\w-]{10,}/],
  ["a key of Google", /\bAIza[\w-]{30,}/],
  ["a token of npm", /\bnpm_[A-Za-z0-9]{30,}/],
  ["a signed token", /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/],
  ["a password in an address", /\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]+:[^\s/@]{3,}@/i],
  ["a bearer token", /\bbearer\s+[\w.~+/-]{20,}/i],
]

/** `password: hunter2`, `API_KEY=…`; not `the token is in the vault`. */
const named =
  /\b[\w-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|credential)s?["']?\s*[:=]\s*["'`]?([^\s"'`,;]{6,})/gi
/** `token: options.token`, `secret = read(file)`: names a value and does not tell it. */
const code = /^[A-Za-z_$][\w$]*(?:[.([][\w$.()[\]?]*)+[;)}]*$/
/** A count of tokens, a date. */
const figure = /^[\d.:%-]+[;)}\]]*$/
const placeholder = /^(?:\$|<|\{|\*|x{3,}|\.{3}|…|your|example|changeme|process\.|env\.|os\.)|[>}]$/i

/** What kind of secret the text seems to hold. */
export const find = (text: string): string | undefined => {
  const known = shapes.find(([, shape]) => shape.test(text))?.[0]
  if (known !== undefined) return known
  for (const [, value = ""] of text.matchAll(named)) {
    if (!placeholder.test(value) && /[\d\W_]/.test(value)) return "a secret with its name"
  }
  return undefined
}

/** Whether what stands behind a name like `password` is one, and neither a placeholder nor code. */
const isTold = (value: string): boolean =>
  !placeholder.test(value) && !code.test(value) && !figure.test(value) && /[\d\W_]/.test(value)

export interface Redacted {
  readonly text: string
  /** What was struck out, by kind. */
  readonly found: ReadonlyArray<string>
}

/** The text without its secrets, each replaced by what it was. */
export const redact = (text: string): Redacted => {
  const found: Array<string> = []
  const struck = (what: string): string => {
    found.push(what)
    return `[redacted: ${what}]`
  }
  let rest = text
  for (const [what, shape, whole = shape] of shapes) {
    if (shape.test(rest)) rest = rest.replace(new RegExp(whole.source, `${whole.flags}g`), () => struck(what))
  }
  rest = rest.replace(named, (all, value: string) => {
    const isStruck = value.startsWith("[redacted") || !isTold(value)
    return isStruck
      ? all
      : `${all.slice(0, all.lastIndexOf(value))}${struck("a secret with its name")}${all.slice(all.lastIndexOf(value) + value.length)}`
  })
  return { text: rest, found }
}

const secretName = /^[\w-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|credential)s?$/i

/** A value that its own key calls a secret, as in `{"password": "…"}`. */
export const isNamedSecret = (name: string, value: string): boolean =>
  secretName.test(name) && value.length >= 6 && !/\s/.test(value) && isTold(value)
