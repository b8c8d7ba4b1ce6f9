/** Owns hooks that are tools of an MCP server: their arguments are filled from the event, their text is read like a command's. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { WrittenOf } from "../Handler.ts"
import type { Ending } from "../Reply.ts"
import type { HookRun } from "./HookRun.ts"

/** Calls a tool of a server that is connected already; fails with why it cannot. */
export const HookMcp = Context.Reference<{
  readonly call: (request: {
    readonly server: string
    readonly tool: string
    readonly input: unknown
  }) => Effect.Effect<{ readonly text: string; readonly isError: boolean }, string>
}>("troupe/hooks/HookMcp", {
  defaultValue: () => ({ call: ({ server }) => Effect.fail(`the MCP server "${server}" is not connected`) }),
})

export const run = Effect.fnUntraced(function* (
  action: WrittenOf<"mcp_tool">,
  given: HookRun,
): Effect.fn.Return<Ending> {
  const { call } = yield* HookMcp
  const { server, tool } = action
  return yield* Effect.match(call({ server, tool, input: filled(action.input ?? {}, given.input) }), {
    onFailure: (why): Ending => ({ _tag: "Failed", why }),
    onSuccess: ({ isError, text }): Ending =>
      isError
        ? { _tag: "Failed", why: `the tool ${tool} of ${server} failed: ${text.slice(0, 500)}` }
        : { _tag: "Exited", exitCode: 0, stdout: text, stderr: "" },
  })
})

/** `${tool_input.file_path}` in any text of the arguments. */
export const filled = (value: unknown, input: Readonly<Record<string, unknown>>): unknown => {
  if (typeof value === "string") {
    return value.replaceAll(/\$\{([\w.]+)\}/g, (_, path: string) => textOf(path.split(".").reduce(stepInto, input)))
  }
  if (Array.isArray(value)) return value.map((each: unknown) => filled(each, input))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, input)]))
}

const stepInto = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "")
}
