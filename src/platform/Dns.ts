/** Owns what a host name leads to, so that an address can be judged before anything connects to it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export class DnsError extends Schema.TaggedError<DnsError>()("DnsError", {
  host: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `The name ${this.host} cannot be resolved (${this.detail}). Check its spelling and the network.`
  }
}

/** The addresses of a host name, at least one. Where the platform brings nothing, no name leads anywhere. */
export const Dns = Context.Reference<(host: string) => Effect.Effect<ReadonlyArray<string>, DnsError>>(
  "troupe/platform/Dns",
  {
    defaultValue: () => (host) => Effect.fail(new DnsError({ host, detail: "this platform resolves no names" })),
  },
)
