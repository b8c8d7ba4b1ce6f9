/**
 * Owns the way to Google's Vertex AI, through its SDK: it spells addresses and finds Google's credentials. Ours are the
 * environment, the names of models and their regions.
 */
import * as Effect from "effect/Effect"
import type { Fetch } from "../platform/HttpFetch.ts"
import * as Access from "./Access.ts"
import * as Body from "./AnthropicBody.ts"
import type * as ApiErrors from "./ApiErrors.ts"
import * as CloudModels from "./CloudModels.ts"
import * as CloudSdks from "./CloudSdks.ts"
import * as Command from "./CommandCredential.ts"
import * as MessagesApi from "./MessagesApi.ts"
import type { ProviderError, ProviderRequest } from "./Provider.ts"
import * as Secrets from "./Secrets.ts"

export interface Commands {
  /** Renews what the machine knows (`gcloud auth application-default login`). */
  readonly gcpAuthRefresh?: string | undefined
}

/** A person may have to log in. */
const loginMs = 180_000

const setting = "ANTHROPIC_VERTEX_BASE_URL"
const scopes = "https://www.googleapis.com/auth/cloud-platform"

const fixes: ApiErrors.Fixes = {
  unauthenticated:
    "Google does not accept these credentials: run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a key file. The setting gcpAuthRefresh can do it by itself.",
  forbidden:
    "Check that this identity has the role roles/aiplatform.user in the project of ANTHROPIC_VERTEX_PROJECT_ID, and that the project has access to the model.",
  not_found: `Check CLOUD_ML_REGION, ANTHROPIC_VERTEX_PROJECT_ID and ${setting}.`,
  model_not_found:
    "Vertex AI has no such model for this project and region: enable it in the Model Garden, or set CLOUD_ML_REGION (or VERTEX_REGION_CLAUDE_… for this model) to a place that has it.",
}

export const way = (
  env: Access.Env,
  fetch: Fetch,
  sdks: CloudSdks.Sdks,
  settings: Effect.Effect<Commands, ProviderError> = Effect.succeed({}),
  shell?: Command.Shell,
): MessagesApi.Way => {
  const secrets = Secrets.fromEnv(env)
  const timeoutMs = Access.timeoutMs(env)
  const skipAuth = Access.isOn(env("CLAUDE_CODE_SKIP_VERTEX_AUTH"))
  const connections = new Map<string, MessagesApi.Connection>()

  const connect = Effect.fnUntraced(function* (request: ProviderRequest) {
    const url = yield* Access.address(env, setting, "https://aiplatform.googleapis.com/v1")
    const region = [...CloudModels.vertexRegionSettings(request.model), "CLOUD_ML_REGION"].flatMap(
      (name) => env(name) ?? [],
    )[0]
    if (region === undefined) {
      return yield* Access.misconfigured(
        "Vertex AI is chosen (CLAUDE_CODE_USE_VERTEX), but no region: set CLOUD_ML_REGION, for instance to global or us-east5.",
      )
    }
    const before = connections.get(region)
    if (before !== undefined) return before
    const projectId = env("GCLOUD_PROJECT") ?? env("GOOGLE_CLOUD_PROJECT") ?? env("ANTHROPIC_VERTEX_PROJECT_ID")
    if (projectId === undefined) {
      return yield* Access.misconfigured(
        "Vertex AI is chosen (CLAUDE_CODE_USE_VERTEX), but no project: set ANTHROPIC_VERTEX_PROJECT_ID to the id of your Google Cloud project.",
      )
    }
    const headers = yield* Access.customHeaders(env)
    const { AnthropicVertex } = yield* CloudSdks.load(sdks.vertex, "@anthropic-ai/vertex-sdk", "Vertex AI")
    const { GoogleAuth, PassThroughClient } = yield* CloudSdks.load(sdks.googleAuth, "google-auth-library", "Vertex AI")
    const keyFilename = env("GOOGLE_APPLICATION_CREDENTIALS")
    const auth = skipAuth
      ? { authClient: new PassThroughClient() }
      : {
          googleAuth: new GoogleAuth({
            scopes,
            ...(keyFilename !== undefined && { keyFilename }),
            clientOptions: { transporterOptions: { fetchImplementation: forms(fetch) } },
          }),
        }
    const client = new AnthropicVertex({
      ...MessagesApi.clientOptions(fetch, timeoutMs),
      region,
      projectId,
      ...(url !== undefined && { baseURL: url }),
      ...auth,
    })
    const token = skipAuth ? env("ANTHROPIC_AUTH_TOKEN") : undefined
    const connection: MessagesApi.Connection = {
      client,
      address: { url: client.baseURL, setting: url === undefined ? "CLOUD_ML_REGION" : setting, firstParty: false },
      timeoutMs,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      body: (asked, stream) => Body.text({ ...asked, model: CloudModels.vertex(asked.model) }, stream),
      fixes,
    }
    connections.set(region, connection)
    return connection
  })

  return {
    name: "vertex",
    secrets,
    betas: Access.betas(env),
    connect,
    renew: (error) =>
      Effect.gen(function* () {
        if (skipAuth || error.reason !== "unauthenticated") return false
        const { gcpAuthRefresh: command } = yield* settings
        if (command !== undefined && shell !== undefined) {
          yield* Command.run(shell, "gcpAuthRefresh", command, loginMs)
        }
        // A new client reads Google's files again.
        connections.clear()
        return true
      }),
  }
}

/** Google's own client sends forms, which our `fetch` takes as text. */
const forms =
  (fetch: Fetch): typeof globalThis.fetch =>
  (input, init = {}) => {
    const { body } = init
    return fetch(input, {
      ...init,
      ...(body instanceof URLSearchParams && { body: body.toString() }),
    })
  }
