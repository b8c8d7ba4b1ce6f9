/** Owns names and their addresses as the machine resolves them, its hosts file included. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import process from "node:process"
import { codeOf } from "./FileError.ts"
import { Dns, DnsError } from "./Dns.ts"

export const layer: Layer.Layer<never> = Layer.succeed(Dns, (host) =>
  Effect.tryPromise({
    try: async () => {
      const { promises } = process.getBuiltinModule("node:dns")
      const found = await promises.lookup(host, { all: true })
      return found.map(({ address }) => address)
    },
    catch: (cause) => new DnsError({ host, detail: codeOf(cause) ?? String(cause) }),
  }),
)
