import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createHash, createHmac } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { crc32 } from "node:zlib"
import { certificates } from "../platform/Certificates.ts"
import { proxy } from "../platform/StubProxy.ts"
import { Provider } from "../../src/model/Provider.ts"
import { absent, ask, events, failure, layer, reply, request } from "./Asking.ts"
import { answers, type Handler, type Seen, serve, serveWith } from "./StubServer.ts"

const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

const at = (url: string, more: Record<string, string> = {}) => ({
  CLAUDE_CODE_USE_BEDROCK: "1",
  AWS_REGION: "us-east-1",
  ANTHROPIC_BEDROCK_BASE_URL: url,
  ...more,
})
const keys = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: "session-1" }

/** One frame of `application/vnd.amazon.eventstream`. */
const frame = (headers: Record<string, string>, payload: string): Buffer => {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(Buffer.byteLength(value))
      return Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7]),
        length,
        Buffer.from(value),
      ])
    }),
  )
  const body = Buffer.from(payload)
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + head.length + body.length, 0)
  prelude.writeUInt32BE(head.length, 4)
  const sum = (bytes: Buffer) => {
    const out = Buffer.alloc(4)
    out.writeUInt32BE(crc32(bytes))
    return out
  }
  const start = Buffer.concat([prelude, sum(prelude), head, body])
  return Buffer.concat([start, sum(start)])
}
const chunk = (event: unknown) =>
  frame(
    { ":message-type": "event", ":event-type": "chunk", ":content-type": "application/json" },
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString("base64"), p: "abcd" }),
  )
const exception = (type: string, message: string) =>
  frame(
    { ":message-type": "exception", ":exception-type": type, ":content-type": "application/json" },
    JSON.stringify({ message }),
  )

const speaks =
  (...frames: ReadonlyArray<Buffer>): Handler =>
  (response) => {
    response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" })
    // Cut where it hurts: inside a frame.
    const all = Buffer.concat(frames)
    response.write(all.subarray(0, 7))
    response.end(all.subarray(7))
  }
const wholeReply = speaks(...reply.map(chunk))

const expired = answers(
  403,
  { message: "The security token included in the request is expired" },
  { "x-amzn-errortype": "ExpiredTokenException:http://internal.amazon.com/coral/" },
)

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest()

/** Signature Version 4 by its documentation, from what arrived. */
const expectedSignature = (
  seen: Seen,
  secretKey: string,
): { readonly expected: string; readonly sent: string; readonly scope: string } => {
  const [, credential = "", signedHeaders = "", sent = ""] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]+)$/.exec(
      seen.headers.authorization ?? "",
    ) ?? []
  const [, day = "", region = "", service = "", kind = ""] = credential.split("/")
  const [path = "", query = ""] = seen.url.split("?")
  const twice = path
    .split("/")
    .map((segment) => encodeURIComponent(segment))
    .join("/")
  const headers = signedHeaders
    .split(";")
    .map((name) => `${name}:${String(seen.headers[name]).trim().replace(/\s+/g, " ")}\n`)
    .join("")
  const canonical = [seen.method, twice, query, headers, signedHeaders, sha256(seen.body)].join("\n")
  const scope = `${day}/${region}/${service}/${kind}`
  const toSign = ["AWS4-HMAC-SHA256", seen.headers["x-amz-date"], scope, sha256(canonical)].join("\n")
  const key = hmac(hmac(hmac(hmac(`AWS4${secretKey}`, day), region), service), kind)
  return { expected: hmac(key, toSign).toString("hex"), sent, scope }
}

const keyId = (seen: Seen | undefined) => /Credential=([^/]+)/.exec(seen?.headers.authorization ?? "")?.[1]

describe("BedrockProvider", () => {
  it.live("signs the request, names the profile of the region, and decodes Amazon's event stream", () =>
    Effect.gen(function* () {
      const server = yield* serve(wholeReply)
      const got = yield* ask({
        env: at(server.url, { ...keys, ANTHROPIC_CUSTOM_HEADERS: "X-Team: blue", ANTHROPIC_BETAS: "b1" }),
      })
      assert.deepStrictEqual(got, reply as unknown)
      const [seen] = server.seen
      assert.isDefined(seen)
      if (seen === undefined) return
      assert.strictEqual(seen.url, "/model/us.anthropic.claude-haiku-4-5-20251001-v1:0/invoke-with-response-stream")
      const { expected, sent, scope } = expectedSignature(seen, secret)
      assert.strictEqual(sent, expected)
      assert.match(scope, /^\d{8}\/us-east-1\/bedrock\/aws4_request$/)
      assert.deepInclude(seen.headers, { "x-amz-security-token": "session-1", "x-team": "blue" })
      assert.isUndefined(seen.headers["x-api-key"])
      const body = JSON.parse(seen.body)
      assert.deepInclude(body, { anthropic_version: "bedrock-2023-05-31", max_tokens: 100, anthropic_beta: ["b1"] })
      assert.isUndefined(body.model)
      assert.isUndefined(body.stream)
      assert.strictEqual(body.messages[0].content[0].text, "Hello, Grüße")
    }),
  )

  it.live("spells present models without a date, and leaves names that are Bedrock's own alone", () =>
    Effect.gen(function* () {
      const server = yield* serve(wholeReply)
      const asked = [
        "claude-sonnet-5-5",
        "eu.anthropic.claude-opus-4-6-v1",
        "arn:aws:bedrock:us-east-1:1:application-inference-profile/a1",
      ]
      for (const model of asked)
        yield* ask({ env: at(server.url, { ...keys, AWS_REGION: "ap-south-1" }) }, { ...request, model })
      assert.deepStrictEqual(
        server.seen.map(({ url }) => decodeURIComponent(url.split("/")[2] ?? "")),
        ["global.anthropic.claude-sonnet-5-5", ...asked.slice(1)],
      )
      assert.strictEqual(JSON.parse(server.seen[0]?.body ?? "{}").anthropic_version, "2026-10-21")
    }),
  )

  it.live("gives a whole reply without streaming", () =>
    Effect.gen(function* () {
      const message = {
        type: "message",
        id: "m1",
        role: "assistant",
        model: "x",
        content: [{ type: "text", text: "Hi" }],
        stop_reason: "end_turn",
        usage: {},
      }
      const server = yield* serve(answers(200, message))
      const provider = yield* Provider.pipe(Effect.provide(layer({ env: at(server.url, keys) })))
      const got = yield* provider.whole(request)
      assert.strictEqual(got.id, "m1")
      assert.match(server.seen[0]?.url ?? "", /\/invoke$/)
    }),
  )

  it.live("sends a Bedrock API key as a bearer token, unsigned", () =>
    Effect.gen(function* () {
      const server = yield* serve(wholeReply)
      yield* ask({ env: at(server.url, { ...keys, AWS_BEARER_TOKEN_BEDROCK: "bedrock-key-1" }) })
      assert.strictEqual(server.seen[0]?.headers.authorization, "Bearer bedrock-key-1")
      assert.isUndefined(server.seen[0]?.headers["x-amz-date"])
    }),
  )

  it.live("leaves credentials to a gateway that has them, and shows it its token", () =>
    Effect.gen(function* () {
      const server = yield* serve(wholeReply)
      const env = {
        CLAUDE_CODE_USE_BEDROCK: "true",
        ANTHROPIC_BEDROCK_BASE_URL: `${server.url}/aws`,
        CLAUDE_CODE_SKIP_BEDROCK_AUTH: "1",
      }
      yield* ask({ env: { ...env, ANTHROPIC_AUTH_TOKEN: "gateway-1" } })
      assert.strictEqual(server.seen[0]?.headers.authorization, "Bearer gateway-1")
      assert.match(server.seen[0]?.url ?? "", /^\/aws\/model\//)
    }),
  )

  it.live("types the exceptions inside a stream", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        speaks(chunk(reply[0]), exception("throttlingException", "Too many tokens")),
        speaks(exception("modelStreamErrorException", "broke")),
      )
      assert.deepInclude(yield* failure({ env: at(server.url, keys) }), { reason: "rate_limited", retryable: true })
      assert.deepInclude(yield* failure({ env: at(server.url, keys) }), { reason: "server_error", retryable: true })
    }),
  )

  it.live("refuses a frame that claims to be larger than any event", () =>
    Effect.gen(function* () {
      const huge = Buffer.alloc(64)
      huge.writeUInt32BE(0x7fffffff)
      const server = yield* serve(speaks(huge))
      const error = yield* failure({ env: at(server.url, keys) })
      assert.deepInclude(error, { reason: "malformed_stream", retryable: false })
    }),
  )

  it.live("says what is wrong with credentials that AWS does not know, and asks once", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        answers(
          403,
          { message: `The security token included in the request is invalid. ${secret}` },
          { "x-amzn-errortype": "UnrecognizedClientException" },
        ),
        answers(
          403,
          { message: "User is not authorized to perform: bedrock:InvokeModel" },
          { "x-amzn-errortype": "AccessDeniedException" },
        ),
        answers(
          400,
          { message: "The provided model identifier is invalid." },
          { "x-amzn-errortype": "ValidationException" },
        ),
      )
      const wrong = yield* failure({ env: at(server.url, keys) })
      assert.deepInclude(wrong, { reason: "unauthenticated", retryable: false, status: 403 })
      assert.match(wrong.message, /aws sso login/)
      assert.notInclude(wrong.message, secret)
      assert.strictEqual(server.seen.length, 1)
      const denied = yield* failure({ env: at(server.url, keys), settings: { awsAuthRefresh: "never" } })
      assert.strictEqual(denied.reason, "forbidden")
      assert.match(denied.message, /bedrock:InvokeModelWithResponseStream/)
      assert.strictEqual(server.seen.length, 2)
      assert.strictEqual((yield* failure({ env: at(server.url, keys) })).reason, "model_not_found")
    }),
  )

  it.live("renews expired credentials of a profile once with awsAuthRefresh, and reads what it wrote", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "troupe-aws-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true, force: true })))
      const file = join(folder, "credentials")
      const write = (id: string) =>
        writeFileSync(file, `[team]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`)
      write("AKIDOLD")
      const ran: Array<string> = []
      const run = (command: string) =>
        Effect.sync(() => {
          ran.push(command)
          write(`AKIDNEW${ran.length}`)
          return {}
        })
      const env = (url: string) =>
        at(url, { AWS_PROFILE: "team", AWS_SHARED_CREDENTIALS_FILE: file, AWS_CONFIG_FILE: join(folder, "none") })
      const settings = { awsAuthRefresh: "aws sso login --profile team" }

      const good = yield* serve(expired, wholeReply)
      assert.deepStrictEqual(yield* ask({ env: env(good.url), settings, run }), reply as unknown)
      assert.deepStrictEqual(ran, ["aws sso login --profile team"])
      assert.deepStrictEqual(good.seen.map(keyId), ["AKIDOLD", "AKIDNEW1"])

      const bad = yield* serve(expired)
      const error = yield* failure({ env: env(bad.url), settings, run })
      assert.strictEqual(error.reason, "unauthenticated")
      assert.match(error.message, /expired/)
      assert.strictEqual(ran.length, 2)
      assert.strictEqual(bad.seen.length, 2)
    }).pipe(Effect.scoped),
  )

  it.live("assumes the role of a profile, through the proxy of the company", () =>
    Effect.gen(function* () {
      const { path, read } = yield* certificates
      const granted = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
        <Credentials><AccessKeyId>AKIDROLE</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>session-9</SessionToken>
        <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
      const tls = { cert: read("server.pem"), key: read("server.key") }
      const sts = yield* serveWith(
        (listener) => createServer(tls, listener),
        answers(200, granted, { "content-type": "text/xml" }),
      )
      const way = yield* proxy({ to: sts.port })
      writeFileSync(path("token"), "web-identity-1")
      writeFileSync(
        path("config"),
        `[profile team]\nrole_arn = arn:aws:iam::123456789012:role/Models\nweb_identity_token_file = ${path("token")}\n`,
      )
      const server = yield* serve(wholeReply)
      const env = at(server.url, {
        AWS_PROFILE: "team",
        AWS_CONFIG_FILE: path("config"),
        AWS_SHARED_CREDENTIALS_FILE: path("none"),
        NODE_EXTRA_CA_CERTS: path("ca.pem"),
        HTTPS_PROXY: way.url,
      })
      yield* Effect.provide(Effect.andThen(events(), events()), layer({ env }))
      assert.deepStrictEqual(server.seen.map(keyId), ["AKIDROLE", "AKIDROLE"])
      assert.strictEqual(server.seen[0]?.headers["x-amz-security-token"], "session-9")
      assert.strictEqual(way.asked[0]?.target, "sts.us-east-1.amazonaws.com:443")
      // Kept until it expires.
      assert.strictEqual(sts.seen.length, 1)
      assert.match(sts.seen[0]?.body ?? "", /WebIdentityToken=web-identity-1/)
    }).pipe(Effect.scoped),
  )

  it.live("takes credentials that a command prints, keeps them, and asks again once when they expired", () =>
    Effect.gen(function* () {
      let ran = 0
      const run = () =>
        Effect.sync(() => {
          ran++
          const Credentials = { AccessKeyId: `AKID${ran}`, SecretAccessKey: secret, SessionToken: `session-${ran}` }
          return { stdout: JSON.stringify({ Credentials }) }
        })
      const server = yield* serve(wholeReply, wholeReply, expired, wholeReply)
      const world = { env: at(server.url), settings: { awsCredentialExport: "grant" }, run }
      yield* Effect.provide(Effect.andThen(events(), Effect.andThen(events(), events())), layer(world))
      assert.deepStrictEqual(server.seen.map(keyId), ["AKID1", "AKID1", "AKID1", "AKID2"])
    }),
  )

  it.live("says what is missing: a region, credentials, the package", () =>
    Effect.gen(function* () {
      const { AWS_REGION: _, ...without } = at("http://127.0.0.1:1")
      const region = yield* failure({ env: { ...without, ...keys } })
      assert.strictEqual(region.reason, "misconfigured")
      assert.match(region.message, /set AWS_REGION/)
      const nowhere = { AWS_SHARED_CREDENTIALS_FILE: "/nowhere/a", AWS_CONFIG_FILE: "/nowhere/b", AWS_PROFILE: "none" }
      const credentials = yield* failure({ env: at("http://127.0.0.1:1", nowhere) })
      assert.strictEqual(credentials.reason, "unauthenticated")
      assert.match(credentials.message, /No credentials for .*aws sso login/s)
      const pack = yield* failure({ env: at("http://127.0.0.1:1", keys), sdks: { bedrock: absent } })
      assert.strictEqual(pack.reason, "misconfigured")
      assert.match(pack.message, /npm install @anthropic-ai\/bedrock-sdk/)
    }),
  )
})
