/** Owns whether colours are wanted, as the environment says it. */

const isSet = (value: string | undefined): boolean => value !== undefined && value !== ""

/** `NO_COLOR` wins; `FORCE_COLOR` speaks for whatever reads a pipe; else a terminal decides that is not a dumb one. */
export const noColor = (env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean => {
  if (isSet(env["NO_COLOR"])) return true
  const forced = env["FORCE_COLOR"]
  if (isSet(forced)) return forced === "0" || forced === "false"
  return env["TERM"] === "dumb" || !isTerminal
}
