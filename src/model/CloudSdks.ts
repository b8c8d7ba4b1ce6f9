/**
 * Owns the packages of the clouds: optional, each loaded when its cloud is the one in use, and missed with a word about what to
 * install.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ApiErrors from "./ApiErrors.ts"
import type { ProviderError } from "./Provider.ts"

/** How they are loaded; another one can stand in. */
export class CloudSdks extends Context.Reference("troupe/model/CloudSdks", {
  defaultValue: () => ({
    bedrock: () => import("@anthropic-ai/bedrock-sdk"),
    awsCredentials: () => import("@aws-sdk/credential-providers"),
    vertex: () => import("@anthropic-ai/vertex-sdk"),
    googleAuth: () => import("google-auth-library"),
    foundry: () => import("@anthropic-ai/foundry-sdk"),
  }),
}) {}

export type Sdks = (typeof CloudSdks)["Service"]

export const load = <A>(importing: () => Promise<A>, pack: string, cloud: string): Effect.Effect<A, ProviderError> =>
  Effect.tryPromise({
    try: importing,
    catch: (error) => {
      const said = error instanceof Error ? error.message.split("\n")[0] : String(error)
      const absent = error instanceof Error && "code" in error && /MODULE_NOT_FOUND/.test(String(error.code))
      return ApiErrors.make(
        "misconfigured",
        absent
          ? `${cloud} is chosen, but the package ${pack} is not installed. Install it where troupe is installed: npm install ${pack} (with -g if troupe is global).`
          : `${cloud} is chosen, but the package ${pack} cannot be loaded: ${said} Install it again: npm install ${pack}`,
      )
    },
  })
