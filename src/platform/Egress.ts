/**
 * Owns the contract of the only way out for a command without a network: a proxy on a unix socket that speaks HTTP, CONNECT and
 * SOCKS5, asks before it connects, and tells whoever listens what it refused.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

export class EgressError extends Schema.TaggedError<EgressError>()("EgressError", {
  socket: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `The sandbox's network proxy cannot listen on ${this.socket}: ${this.detail}. Check that the directory exists and its path is short (at most 100 bytes).`
  }
}

export interface Refusal {
  readonly host: string
  readonly port: number
  readonly reason: string
}

export interface EgressOptions {
  /** Where to listen. */
  readonly socket: string
  /** Why a host is refused; `undefined` lets it pass. Called for every connection and every plain request. */
  readonly judge: (host: string, port: number) => string | undefined
  /** The same for the address that its name resolved to. */
  readonly judgeAddress: (host: string, address: string) => string | undefined
  /** The line about a refusal, for people and for the command's stderr. */
  readonly say: (refusal: Refusal) => string
  readonly onRefusal: (refusal: Refusal) => void
  /** Ports of proxies that somebody else runs on this machine; they decide then. */
  readonly forward?: { readonly http?: number; readonly socks?: number }
}

export class Egress extends Context.Service<
  Egress,
  {
    /** The program that runs a relay's text (`-e`). */
    readonly runtime: string
    /** Listens until the scope closes. A connection that begins with a zero byte hears of refusals, a line each. */
    readonly open: (options: EgressOptions) => Effect.Effect<void, EgressError, Scope.Scope>
  }
>()("troupe/platform/Egress") {}
