/** Owns recognising credentials in text that is about to be kept: keys of known services, private keys, passwords with their name. */

const shapes: ReadonlyArray<readonly [what: string, shape: RegExp]> = [
  ["a private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
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
