/** Owns changes of permissions as others write them (`updatedPermissions`, `permission_suggestions`): clients and hooks use the same form. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Suggestion } from "../policy/Generalise.ts"

const Destination = Schema.Literals(["session", "cliArg", "localSettings", "projectSettings", "userSettings"])
const Rules = Schema.Array(
  Schema.Struct({
    toolName: Schema.NonEmptyString,
    ruleContent: Schema.optionalKey(Schema.NullOr(Schema.String)),
  }),
)
const ofRules = { rules: Rules, behavior: Schema.Literals(["allow", "deny", "ask"]), destination: Destination }

export const PermissionUpdate = Schema.Union([
  Schema.Struct({ type: Schema.Literal("addRules"), ...ofRules }),
  Schema.Struct({ type: Schema.Literal("replaceRules"), ...ofRules }),
  Schema.Struct({ type: Schema.Literal("removeRules"), ...ofRules }),
  Schema.Struct({ type: Schema.Literal("setMode"), mode: Schema.String, destination: Schema.optionalKey(Destination) }),
  Schema.Struct({
    type: Schema.Literals(["addDirectories", "removeDirectories"]),
    directories: Schema.Array(Schema.String),
    destination: Schema.optionalKey(Destination),
  }),
])
export type PermissionUpdate = typeof PermissionUpdate.Type
export type RulesUpdate = Extract<PermissionUpdate, { readonly rules: unknown }>

const decodeOne = Schema.decodeUnknownOption(PermissionUpdate)
export const decode = (given: unknown): PermissionUpdate | undefined => Option.getOrUndefined(decodeOne(given))

export const places: Readonly<Record<RulesUpdate["destination"], "session" | "local" | "project" | "user">> = {
  session: "session",
  cliArg: "session",
  localSettings: "local",
  projectSettings: "project",
  userSettings: "user",
}

/** `Bash(npm test *)`. */
export const textsOf = ({ rules }: Pick<RulesUpdate, "rules">): ReadonlyArray<string> =>
  rules.map(({ ruleContent, toolName }) => (ruleContent == null ? toolName : `${toolName}(${ruleContent})`))

/** What may be answered so that the same is not asked again. */
export const suggested = ({ lasts, rule }: Suggestion) => {
  const [, toolName = rule, ruleContent] = /^([^(]+)\(([\s\S]*)\)$/.exec(rule) ?? []
  return {
    type: "addRules" as const,
    behavior: "allow" as const,
    rules: [{ toolName, ...(ruleContent !== undefined && { ruleContent }) }],
    destination: lasts === "project" ? ("localSettings" as const) : ("session" as const),
  }
}
