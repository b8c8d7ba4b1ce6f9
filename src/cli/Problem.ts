/** Owns how anything that went wrong is told to a person: what, where, why, how to fix it. Stacks only when debugging. */
import { plain } from "./Plain.ts"

export interface Problem {
  readonly what: string
  readonly where?: string
  readonly why?: string
  readonly fix?: string
}

interface Clues {
  readonly tag: string
  readonly message: string
  readonly reason?: string
  readonly code?: string
  readonly path?: string
  readonly status?: number
  readonly detail?: string
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

const read = (error: unknown, key: string): unknown =>
  typeof error === "object" && error !== null && key in error ? Reflect.get(error, key) : undefined

const clues = (error: unknown): Clues => {
  const pick = (name: keyof Clues, key: string = name) => {
    const found = text(read(error, key))
    return found === undefined ? {} : { [name]: found }
  }
  const status = read(error, "status")
  return {
    tag: text(read(error, "_tag")) ?? "",
    message:
      text(read(error, "message")) ?? (typeof error === "string" ? error : "something failed without saying what"),
    ...pick("reason"),
    ...pick("code"),
    ...pick("path"),
    ...pick("detail"),
    ...(typeof status === "number" && { status }),
  }
}

/** What to do about a failure of the model service, by its reason. */
const modelFixes: Readonly<Record<string, string>> = {
  misconfigured: "set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN). To look around without a key: troupe demo",
  unauthenticated: "check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN. To look around without a key: troupe demo",
  forbidden: "the key has no access to this; use another key or another --model",
  billing: "check the plan and the credit of the account the key belongs to",
  spend_cap: "the account's spending limit is reached; raise it or wait for its reset",
  model_not_found: "check the name given with --model or ANTHROPIC_MODEL",
  not_found: "check ANTHROPIC_BASE_URL: the address answers, but not as a model service",
  connection_failed: "check the network, the proxy settings and ANTHROPIC_BASE_URL",
  connection_lost: "try again; what was done is journaled: troupe --continue",
  stalled: "try again; what was done is journaled: troupe --continue",
  rate_limited: "wait a little, then: troupe --continue",
  overloaded: "wait a little, or name a --fallback-model, then: troupe --continue",
  server_error: "wait a little, then: troupe --continue",
  not_an_event_stream: "check ANTHROPIC_BASE_URL: something between here and the service answers in its place",
  malformed_stream: "check ANTHROPIC_BASE_URL: something between here and the service changes its answers",
  prompt_too_long: "start a new session, or take a model with a larger window",
}

const systemFixes: Readonly<Record<string, readonly [why: string, fix: string]>> = {
  ENOENT: ["it does not exist", "check the path"],
  EACCES: ["permission denied", "check who owns it and its mode"],
  EPERM: ["not permitted", "check who owns it and its mode"],
  EISDIR: ["it is a directory", "name a file"],
  ENOTDIR: ["a part of the path is no directory", "check the path"],
  ENOSPC: ["no space left on the device", "free some space and try again"],
  EROFS: ["the file system is read-only", "use another place"],
  EADDRINUSE: ["the port is taken", "choose another --port"],
  ECONNREFUSED: ["nobody listens there", "check the address, and that the server runs"],
  EMFILE: ["too many open files", "raise the limit (ulimit -n)"],
}

/** Reads any error, typed or not. Our own messages already say why and how; hints are added where they cannot know. */
export const explain = (error: unknown): Problem => {
  const found = clues(error)
  const [what, ...more] = plain(found.message).trim().split("\n")
  const system = found.code === undefined ? undefined : systemFixes[found.code]
  const model = found.tag === "ModelError" || found.tag === "ProviderError" ? modelFixes[found.reason ?? ""] : undefined
  const why = system?.[0] ?? more.join("\n")
  const fix = system?.[1] ?? model
  const where = found.status === undefined ? found.path : `the service answered with status ${found.status}`
  return {
    what: what === undefined || what === "" ? "something failed without saying what" : what,
    ...(where !== undefined && !found.message.includes(where) && { where }),
    ...(why !== "" && { why }),
    ...(fix !== undefined && { fix }),
  }
}

/** The lines for stderr. */
export const lines = (error: unknown, options: { readonly debug: boolean }): ReadonlyArray<string> => {
  const { what, where, why, fix } = explain(error)
  const stack = text(read(error, "stack"))
  const cause = read(error, "cause")
  return [
    `troupe: ${what}`,
    ...(where === undefined ? [] : [`  where: ${where}`]),
    ...(why === undefined ? [] : why.split("\n").map((line, i) => (i === 0 ? `  why: ${line}` : `       ${line}`))),
    ...(fix === undefined ? [] : [`  fix: ${fix}`]),
    ...(options.debug && stack !== undefined ? plain(stack).split("\n") : []),
    ...(options.debug && cause !== undefined ? [`caused by:`, ...lines(cause, options)] : []),
  ]
}

/** A bug of ours: nobody expected it, so the fix is to report it. */
export const defect = (error: unknown, options: { readonly debug: boolean }): ReadonlyArray<string> => [
  `troupe: an internal error, which is a bug: ${explain(error).what}`,
  ...(options.debug
    ? lines(error, options).slice(1)
    : ["  fix: run it again with --debug and report what it shows. The session is journaled: troupe --continue"]),
]
