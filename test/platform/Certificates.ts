/** A certificate authority of our own, a server's certificate and a client's, made with openssl in a temporary folder. */
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const passphrase = "open-sesame"

export const certificates = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "troupe-tls-"))
    const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" })
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    openssl(
      "req",
      "-x509",
      ...curve,
      "-nodes",
      "-keyout",
      "ca.key",
      "-out",
      "ca.pem",
      "-days",
      "2",
      "-subj",
      "/CN=Test Authority",
    )
    for (const [name, subject, extra] of [
      [
        "server",
        "/CN=api.stub.test",
        "subjectAltName=DNS:api.stub.test,DNS:oauth2.googleapis.com,DNS:sts.us-east-1.amazonaws.com,IP:127.0.0.1",
      ],
      ["client", "/CN=client", "extendedKeyUsage=clientAuth"],
    ] as const) {
      openssl("req", ...curve, "-nodes", "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject)
      writeFileSync(join(folder, `${name}.ext`), extra)
      openssl(
        "x509",
        "-req",
        "-in",
        `${name}.csr`,
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-out",
        `${name}.pem`,
        "-days",
        "2",
        "-extfile",
        `${name}.ext`,
      )
    }
    openssl("pkcs8", "-topk8", "-in", "client.key", "-out", "locked.key", "-passout", `pass:${passphrase}`)
    const path = (name: string) => join(folder, name)
    return {
      path,
      read: (name: string) => readFileSync(path(name)),
      remove: () => rmSync(folder, { recursive: true, force: true }),
    }
  }),
  ({ remove }) => Effect.sync(remove),
)
