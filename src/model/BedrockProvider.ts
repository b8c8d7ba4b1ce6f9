/**
 * Owns the way to Amazon Bedrock, through its SDK: it signs requests, spells addresses, and makes ordinary events of Amazon's
 * binary ones. Ours are the environment, the names of models, and credentials that can be renewed.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Fetch } from "../platform/HttpFetch.ts"
import * as Access from "./Access.ts"
import * as Body from "./AnthropicBody.ts"
import * as ApiErrors from "./ApiErrors.ts"
import * as AwsRequests from "./AwsRequests.ts"
import * as CloudModels from "./CloudModels.ts"
import * as CloudSdks from "./CloudSdks.ts"
import * as Command from "./CommandCredential.ts"
import * as MessagesApi from "./MessagesApi.ts"
import type { ProviderError, ProviderRequest } from "./Provider.ts"
import * as Secrets from "./Secrets.ts"

/** What settings may say; asked for when it is needed. */
export interface Commands {
  /** Renews what the machine knows (`aws sso login`). */
  readonly awsAuthRefresh?: string | undefined
  /** Prints credentials as JSON. */
  readonly awsCredentialExport?: string | undefined
}

/** A person may have to log in. */
const loginMs = 180_000

const setting = "ANTHROPIC_BEDROCK_BASE_URL"

const fixes: ApiErrors.Fixes = {
  unauthenticated:
    "AWS does not accept these credentials: log in again (aws sso login), or check AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK. The setting awsAuthRefresh can do it by itself.",
  forbidden:
    "Check that this identity may call bedrock:InvokeModelWithResponseStream, and that the account has access to the model in AWS_REGION.",
  not_found: `Check AWS_REGION and ${setting}.`,
  model_not_found:
    "Bedrock has no such model in this region: check AWS_REGION, or state an inference profile with --model or ANTHROPIC_DEFAULT_SONNET_MODEL (aws bedrock list-inference-profiles).",
}

const Exported = Schema.fromJsonString(
  Schema.Struct({
    Credentials: Schema.Struct({
      AccessKeyId: Schema.String,
      SecretAccessKey: Schema.String,
      SessionToken: Schema.optionalKey(Schema.NullOr(Schema.String)),
      Expiration: Schema.optionalKey(Schema.NullOr(Schema.String)),
    }),
  }),
)

interface Identity {
  readonly awsAccessKey: string
  readonly awsSecretKey: string
  readonly awsSessionToken: string | null
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
  const skipAuth = Access.isOn(env("CLAUDE_CODE_SKIP_BEDROCK_AUTH"))
  const bearer = env("AWS_BEARER_TOKEN_BEDROCK")

  /** Haiku may live elsewhere. */
  const regionFor = (model: string): string | undefined => {
    const own = env("AWS_REGION") ?? env("AWS_DEFAULT_REGION")
    return (model.includes("haiku") ? env("ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION") : undefined) ?? own
  }

  let exported: { readonly identity: Identity; readonly until: number } | undefined
  /** `undefined`: whatever the AWS SDK finds on this machine. */
  const identity: Effect.Effect<Identity | undefined, ProviderError> = Effect.gen(function* () {
    if (skipAuth || bearer !== undefined) return undefined
    const [awsAccessKey, awsSecretKey] = [env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY")]
    if (awsAccessKey !== undefined && awsSecretKey !== undefined) {
      return { awsAccessKey, awsSecretKey, awsSessionToken: env("AWS_SESSION_TOKEN") ?? null }
    }
    const { awsCredentialExport: command } = yield* settings
    if (command === undefined || shell === undefined) return undefined
    const now = yield* Clock.currentTimeMillis
    if (exported !== undefined && now < exported.until) return exported.identity
    const text = yield* Command.run(shell, "awsCredentialExport", command, loginMs)
    const { Credentials: said } = yield* Effect.mapError(Schema.decodeEffect(Exported)(text), () =>
      ApiErrors.make(
        "unauthenticated",
        'The command of awsCredentialExport printed no credentials. It must print {"Credentials":{"AccessKeyId":…,"SecretAccessKey":…,"SessionToken":…}}.',
      ),
    )
    for (const secret of [said.SecretAccessKey, said.SessionToken ?? ""]) secrets.learn(secret)
    const found = {
      awsAccessKey: said.AccessKeyId,
      awsSecretKey: said.SecretAccessKey,
      awsSessionToken: said.SessionToken ?? null,
    }
    const until = Date.parse(said.Expiration ?? "")
    exported = { identity: found, until: Number.isNaN(until) ? Number.POSITIVE_INFINITY : until }
    return found
  })

  const connect = Effect.fnUntraced(function* (request: ProviderRequest) {
    const url = yield* Access.address(env, setting, "https://bedrock-runtime.us-east-1.amazonaws.com")
    const region = regionFor(request.model) ?? (url !== undefined && skipAuth ? "us-east-1" : undefined)
    if (region === undefined) {
      return yield* Access.misconfigured(
        "Amazon Bedrock is chosen (CLAUDE_CODE_USE_BEDROCK), but no region: set AWS_REGION, for instance to us-east-1. The AWS configuration files are not read for it.",
      )
    }
    const headers = yield* Access.customHeaders(env)
    const who = yield* identity
    const name = JSON.stringify([region, who])
    const before = connections.get(name)
    if (before !== undefined) return before
    const { AnthropicBedrock } = yield* CloudSdks.load(sdks.bedrock, "@anthropic-ai/bedrock-sdk", "Amazon Bedrock")
    const baseURL = url ?? `https://bedrock-runtime.${region}.amazonaws.com`
    const chain = who === undefined && !skipAuth && bearer === undefined ? yield* chainFor(region) : undefined
    const token = skipAuth ? env("ANTHROPIC_AUTH_TOKEN") : undefined
    const tier = env("ANTHROPIC_BEDROCK_SERVICE_TIER")
    const options = {
      ...MessagesApi.clientOptions(AwsRequests.framed(fetch), timeoutMs),
      awsRegion: region,
      baseURL,
      skipAuth,
      // Not `undefined`, which would let it look into the environment of the process by itself.
      apiKey: skipAuth ? null : (bearer ?? null),
      providerChainResolver: chain ?? null,
    }
    const connection: MessagesApi.Connection = {
      client: who === undefined ? new AnthropicBedrock(options) : new AnthropicBedrock({ ...options, ...who }),
      address: { url: baseURL, setting: url === undefined ? "AWS_REGION" : setting, firstParty: false },
      timeoutMs,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(tier !== undefined && { "x-amzn-bedrock-service-tier": tier }),
        ...headers,
      },
      body: (asked, stream) => {
        const model = CloudModels.bedrock(asked.model, region, env("ANTHROPIC_BEDROCK_REGION_PREFIX"))
        return Body.text({ ...asked, model }, stream, firstVersion(model))
      },
      fixes,
    }
    connections.set(name, connection)
    return connection
  })
  const connections = new Map<string, MessagesApi.Connection>()

  /** Profiles, single sign-on, roles, the machine's own identity. Kept, so that it asks again only when what it has expires. */
  const chainFor = (region: string) =>
    Effect.map(
      CloudSdks.load(sdks.awsCredentials, "@aws-sdk/credential-providers", "Amazon Bedrock"),
      ({ fromNodeProviderChain }) => {
        const [profile, filepath, configFilepath] = [
          env("AWS_PROFILE"),
          env("AWS_SHARED_CREDENTIALS_FILE"),
          env("AWS_CONFIG_FILE"),
        ]
        const asking = { region, requestHandler: AwsRequests.handler(fetch) }
        const provider = fromNodeProviderChain({
          ...(profile !== undefined && { profile }),
          ...(filepath !== undefined && { filepath }),
          ...(configFilepath !== undefined && { configFilepath }),
          // After a login the files say something else.
          ignoreCache: true,
          // Some of its parts ask here, some there.
          clientConfig: asking,
          parentClientConfig: asking,
        })
        return () => Promise.resolve(provider)
      },
    )

  return {
    name: "bedrock",
    secrets,
    betas: Access.betas(env),
    connect,
    renew: (error) =>
      Effect.gen(function* () {
        if (skipAuth || bearer !== undefined || !isExpired(error)) return false
        const before = connections.size + (exported === undefined ? 0 : 1)
        connections.clear()
        exported = undefined
        const { awsAuthRefresh: command } = yield* settings
        if (command !== undefined && shell !== undefined) {
          yield* Command.run(shell, "awsAuthRefresh", command, loginMs)
          return true
        }
        // Keys of the environment cannot change; what a command or the machine said may have.
        return before > 0 && env("AWS_ACCESS_KEY_ID") === undefined
      }),
  }
}

/** A missing permission is not cured by another login. */
const isExpired = (error: ProviderError): boolean =>
  error.reason === "unauthenticated" || /security token|expired|credential/i.test(error.message)

const firstVersion = (model: string): Readonly<Record<string, string>> =>
  CloudModels.isFirstVersion(model) ? { anthropic_version: "bedrock-2023-05-31" } : {}
