/** Owns the contract of talking to another process of the same user on this machine: lines of text over a socket nobody else can open. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

export class SocketError extends Schema.TaggedError<SocketError>()("SocketError", {
  path: Schema.String,
  why: Schema.String,
}) {
  override get message(): string {
    return `The socket ${this.path}: ${this.why}`
  }
}

export interface Connection {
  /** Returns when the system has taken it. */
  readonly send: (line: string) => Effect.Effect<void, SocketError>
  /** The next line; `undefined` once the other side has closed, or is gone. */
  readonly receive: Effect.Effect<string | undefined, SocketError>
}

export interface ListenOptions {
  /** Characters of one line; whoever sends more is not heard any more. */
  readonly longest: number
}

export class LocalSocket extends Context.Service<
  LocalSocket,
  {
    /** With mode 0600, in a directory that only its owner can enter. It is gone when the scope closes. */
    readonly listen: (
      path: string,
      options: ListenOptions,
    ) => Effect.Effect<{ readonly accept: Effect.Effect<Connection, never, Scope.Scope> }, SocketError, Scope.Scope>
    readonly connect: (path: string, options: ListenOptions) => Effect.Effect<Connection, SocketError, Scope.Scope>
  }
>()("troupe/platform/LocalSocket") {}
