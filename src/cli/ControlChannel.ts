/**
 * Owns what we ask of a client: a request goes out, its answer comes back on stdin, and until then somebody waits.
 *
 * Whoever stops waiting withdraws the request. When stdin ends no answer can come any more, so everybody hears that.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Ids from "../kernel/Ids.ts"
import { type CanUseTool, HookOutput, McpResponse, PermissionResult, type Response } from "./ControlWire.ts"
import { encode, type OutputError } from "./Output.ts"

/** `closed`: the client went away. `refused`: it answered with an error. `invalid`: its answer makes no sense. */
export class ControlError extends Schema.TaggedError<ControlError>()("ControlError", {
  reason: Schema.Literals(["closed", "refused", "invalid"]),
  /** What was asked. */
  subtype: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    switch (this.reason) {
      case "closed":
        return `The client cannot be asked (${this.subtype}): ${this.detail}.`
      case "refused":
        return `The client refused ${this.subtype}: ${this.detail}`
      case "invalid":
        return `The client's answer to ${this.subtype} is not valid: ${this.detail}`
    }
  }
}

export interface ControlChannel {
  /** Asks, waits, and checks the answer. An interruption withdraws the request. */
  readonly request: <S extends Schema.Decoder<unknown>>(
    payload: { readonly subtype: string; readonly [field: string]: unknown },
    answer: S,
  ) => Effect.Effect<S["Type"], ControlError>
  readonly canUseTool: (call: Omit<CanUseTool, "subtype">) => Effect.Effect<PermissionResult, ControlError>
  /** Calls a hook by the id that `initialize` gave it. */
  readonly hookCallback: (hook: {
    readonly callbackId: string
    readonly input: unknown
    readonly toolUseId?: string | undefined
  }) => Effect.Effect<HookOutput, ControlError>
  /** A JSON-RPC message for a server in the client's process, and its answer. */
  readonly mcpMessage: (
    server: string,
    message: Readonly<Record<string, unknown>>,
  ) => Effect.Effect<Readonly<Record<string, unknown>>, ControlError>
  /** An answer came in. One that nobody waits for (any more) is passed over. */
  readonly receive: (response: Response) => Effect.Effect<void>
  /** Nothing more comes in: everybody who waits hears why, and so does whoever asks from now on. */
  readonly close: (why: string) => Effect.Effect<void>
}

/** A channel that writes its requests with `write`. */
export const make = (write: (line: string) => Effect.Effect<void, OutputError>): ControlChannel => {
  const pending = new Map<
    string,
    { readonly subtype: string; readonly answer: Deferred.Deferred<unknown, ControlError> }
  >()
  let closed: string | undefined
  const gone = (subtype: string, detail: string) => new ControlError({ reason: "closed", subtype, detail })

  const request: ControlChannel["request"] = Effect.fnUntraced(function* (payload, schema) {
    const { subtype } = payload
    if (closed !== undefined) return yield* gone(subtype, closed)
    const id = yield* Ids.uuid
    const answer = yield* Deferred.make<unknown, ControlError>()
    pending.set(id, { subtype, answer })
    const forget = Effect.sync(() => pending.delete(id))
    // A client that does not read must not hold up whoever interrupts.
    const withdraw = Effect.forkDetach(
      Effect.ignore(Effect.suspend(() => write(encode({ type: "control_cancel_request", request_id: id })))),
      { startImmediately: true },
    )
    const found = yield* write(encode({ type: "control_request", request_id: id, request: payload })).pipe(
      Effect.mapError((error) => gone(subtype, error.message)),
      Effect.andThen(Deferred.await(answer)),
      Effect.onInterrupt(() => withdraw),
      Effect.ensuring(forget),
    )
    return yield* Effect.mapError(
      Schema.decodeUnknownEffect(schema)(found),
      (error) => new ControlError({ reason: "invalid", subtype, detail: error.message.replace(/\s*\n\s*/g, "; ") }),
    )
  })

  return {
    request,
    canUseTool: (call) => request({ subtype: "can_use_tool", ...call }, PermissionResult),
    hookCallback: ({ callbackId, input, toolUseId }) =>
      request(
        { subtype: "hook_callback", callback_id: callbackId, input, ...(toolUseId && { tool_use_id: toolUseId }) },
        HookOutput,
      ),
    mcpMessage: (server, message) =>
      Effect.map(
        request({ subtype: "mcp_message", server_name: server, message }, McpResponse),
        ({ mcp_response }) => mcp_response,
      ),
    receive: ({ response }) =>
      Effect.suspend(() => {
        const waiting = pending.get(response.request_id)
        if (waiting === undefined) return Effect.void
        const { subtype, answer } = waiting
        return Effect.asVoid(
          response.subtype === "success"
            ? Deferred.succeed(answer, response.response)
            : Deferred.fail(answer, new ControlError({ reason: "refused", subtype, detail: response.error })),
        )
      }),
    close: (why) =>
      Effect.suspend(() => {
        closed ??= why
        return Effect.forEach(pending.values(), ({ subtype, answer }) => Deferred.fail(answer, gone(subtype, why)), {
          discard: true,
        })
      }),
  }
}
