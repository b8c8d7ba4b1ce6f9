/**
 * Owns what a session that travels says of its permissions: the mode, the rules that were added on the way, and the questions nobody has
 * answered. None of it opens anything where it arrives: a mode is chosen there, rules are agreed to there, questions are put again.
 */
import * as Schema from "effect/Schema"
import * as Section from "../session/TeleportSection.ts"

export const permissions = Section.make(
  "permissions",
  Schema.Struct({
    mode: Schema.String,
    granted: Schema.Array(
      Schema.Struct({ behavior: Schema.String, rules: Schema.Array(Schema.String), destination: Schema.String }),
    ),
  }),
  {
    pack: ({ history, records }) => ({
      mode: history.controls?.permissionMode ?? "default",
      granted: records.flatMap(({ event }) => {
        if (event._tag !== "RulesGranted") return []
        const { behavior, destination, rules } = event
        return [{ behavior, destination, rules: [...rules] }]
      }),
    }),
    arrived: ({ granted, mode }) => {
      const allowed = granted.flatMap(({ behavior, rules }) => (behavior === "allow" ? rules : []))
      return [
        ...(mode === "default" ? [] : [`It ran in permission mode ${mode}; here it begins as your settings say.`]),
        ...(allowed.length === 0
          ? []
          : [
              `Allowed over there and asked again here: ${allowed.join(", ")}. To allow it at once: --allowedTools ${allowed.map((rule) => JSON.stringify(rule)).join(" ")}`,
            ]),
      ]
    },
  },
)

export const approvals = Section.make(
  "approvals",
  Schema.Array(
    Schema.Struct({ toolUseId: Schema.String, tool: Schema.String, input: Schema.Unknown, why: Schema.String }),
  ),
  {
    pack: ({ history, records }) => {
      const open = new Set(history.pending().flatMap(({ asked, toolUseId }) => (asked === true ? [toolUseId] : [])))
      return records.flatMap(({ event }) => {
        if (event._tag !== "PermissionAsked" || !open.delete(event.toolUseId)) return []
        const { input, tool, toolUseId, why } = event
        return [{ toolUseId, tool, input, why }]
      })
    },
    arrived: (asks) =>
      asks.map(({ tool }) => `A question about ${tool} was open; it is put again with the next prompt.`),
  },
)
