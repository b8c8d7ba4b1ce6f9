/**
 * Owns hooks that are requests: the event as the body of a POST, the answer read like a command's JSON. Only addresses that the
 * settings allow are asked, only variables that are named twice get into a header, and nobody is followed elsewhere.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { limited, mega } from "../../model/BoundedBody.ts"
import { Host } from "../../platform/Host.ts"
import type { Fetch } from "../../platform/HttpFetch.ts"
import { routed } from "../../platform/Route.ts"
import type { WrittenOf } from "../Handler.ts"
import type { Ending } from "../Reply.ts"
import type { HookRun } from "./HookRun.ts"

/** What settings say about all such hooks. Absent: nothing is limited. */
export interface HttpLimits {
  readonly urls?: ReadonlyArray<string>
  readonly variables?: ReadonlyArray<string>
}

const maxBody = mega

export const run = Effect.fnUntraced(function* (
  action: WrittenOf<"http">,
  given: HookRun,
  limits: HttpLimits,
  fetch: Option.Option<Fetch>,
): Effect.fn.Return<Ending, never, Host> {
  const { env } = yield* Host
  const failed = (why: string): Ending => ({ _tag: "Failed", why })
  if (Option.isNone(fetch)) return failed("cannot be asked: there is no network here")
  if (!isAddress(action.url)) return failed(`"${action.url}" is no http or https address`)
  if (limits.urls !== undefined && !limits.urls.some((pattern) => matches(pattern, action.url))) {
    return failed(`is not asked: ${action.url} is not among allowedHttpHookUrls`)
  }
  const headers = Object.entries(action.headers ?? {}).map(([name, value]) => [
    name,
    interpolated(value, (variable) => (mayUse(variable, action, limits) ? env(variable) : undefined)),
  ])
  const asked = Effect.tryPromise({
    try: async (signal) => {
      const response = await routed(fetch.value, env)(action.url, {
        method: "POST",
        body: given.json,
        headers: { ...Object.fromEntries(headers), "content-type": "application/json" },
        redirect: "manual",
        signal,
      })
      return { status: response.status, body: await limited(response, maxBody).text() }
    },
    catch: (cause) => (cause instanceof Error ? cause.message : String(cause)),
  })
  return yield* asked.pipe(
    Effect.match({
      onFailure: (why) => failed(`could not be asked: ${why}`),
      onSuccess: ({ body, status }): Ending =>
        status >= 200 && status < 300
          ? { _tag: "Exited", exitCode: 0, stdout: body, stderr: "", jsonOnly: true }
          : failed(
              status >= 300 && status < 400
                ? `answered with the status ${status}; it is not followed elsewhere`
                : `answered with the status ${status}`,
            ),
    }),
  )
})

const isAddress = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)

const mayUse = (variable: string, action: WrittenOf<"http">, limits: HttpLimits): boolean =>
  action.allowedEnvVars?.includes(variable) === true &&
  (limits.variables === undefined || limits.variables.includes(variable))

/** A header is one line, whatever a variable holds. */
const interpolated = (text: string, value: (name: string) => string | undefined): string =>
  text
    .replaceAll(
      /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g,
      (_, braced?: string, bare?: string) => value(braced ?? bare ?? "") ?? "",
    )
    .replaceAll(/[\r\n]/g, "")

/** By its parts as a browser sees them: nobody hides a host behind a user's name. */
export const matches = (pattern: string, url: string): boolean => {
  if (!URL.canParse(url)) return false
  const { hash: _, hostname, pathname, port, protocol, search } = new URL(url)
  const host = hostname.replace(/\.$/, "")
  const usual = protocol === "https:" ? "443" : "80"
  const rest = `${pathname}${search}`
  const spellings = [
    `${protocol}//${host}:${port === "" ? usual : port}${rest}`,
    ...(port === "" ? [`${protocol}//${host}${rest}`] : []),
  ]
  const [, scheme = "", authority = "", path = ""] = /^([a-z*]+:\/\/)([^/]*)(.*)$/is.exec(pattern) ?? []
  const wanted =
    scheme === "" ? pattern : `${scheme.toLowerCase()}${authority.toLowerCase().replace(/\.(?=:|$)/, "")}${path}`
  const parts = wanted.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"))
  const expression = new RegExp(`^${parts.join(".*")}$`, "s")
  return spellings.some((one) => expression.test(one) || expression.test(one.replace(/\/$/, "")))
}
