/**
 * Owns going into plan mode and out of it. In is free, because it only tightens; out takes a person who agrees to the plan.
 *
 * Both are always in the schema, whatever the mode is: what the model is told about its tools must not move.
 */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Person } from "../../permissions/Permissions.ts"
import { Files } from "../../platform/Files.ts"
import { Host } from "../../platform/Host.ts"
import type { PermissionMode } from "../../protocol/PermissionMode.ts"
import { Controls, type ControlsShape } from "../../session/Controls.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { failure, type Services } from "./Source.ts"

/** What a session was in before it planned, and whether a plan has been shown in plan mode. */
interface Planning {
  before?: PermissionMode
  shown: boolean
}
const planning = new WeakMap<ControlsShape, Planning>()
const planningOf = (controls: ControlsShape): Planning => {
  const known = planning.get(controls) ?? { shown: false }
  planning.set(controls, known)
  return known
}

/** Without a person nobody could agree to a plan. */
const enabled = Effect.map(Person, (person) => person !== undefined)

const Entered = Schema.Struct({ message: Schema.String })
/** Nothing; as a record, because the service wants an object. */
const EnterInput = Schema.Record(Schema.String, Schema.Unknown)

export const EnterPlanMode = Tool.make<typeof EnterInput.Type, Services, typeof Entered.Type>({
  name: "EnterPlanMode",
  description: `Goes into plan mode, in which you only read and think, for work that is large or can be done in several ways. Present the plan with ExitPlanMode. Not for small or clear tasks.`,
  input: EnterInput,
  output: Entered,
  readOnly: true,
  deferred: true,
  enabled,
  run: Effect.fnUntraced(function* () {
    const controls = yield* Controls
    const { permissionMode } = yield* controls.current
    if (permissionMode === "plan") {
      const message = "Plan mode is on already. Explore, then present the plan with ExitPlanMode."
      return { content: message, structured: { message } }
    }
    planningOf(controls).before = permissionMode
    const message =
      "Entered plan mode. Explore the code, weigh approaches, ask what is unclear; change nothing. Present the plan with ExitPlanMode when it is ready."
    return { content: message, structured: { message }, controls: { permissionMode: "plan" } }
  }),
})

const ExitInput = Schema.Struct({
  plan: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "The whole plan, as markdown" }),
})
const Left = Schema.Struct({
  plan: Schema.NullOr(Schema.String),
  isAgent: Schema.Boolean,
  filePath: Schema.optionalKey(Schema.String),
})

export const ExitPlanMode = Tool.make<typeof ExitInput.Type, Services, typeof Left.Type>({
  name: "ExitPlanMode",
  description: `Presents your plan to the user for approval, and leaves plan mode if they agree. Only in plan mode, for work that changes something; ask what is unclear with AskUserQuestion before.`,
  input: ExitInput,
  output: Left,
  // The plan is kept in a file of our own; what is the user's stays as it is.
  readOnly: true,
  idempotency: "idempotent",
  deferred: true,
  enabled,
  maxResultChars: 100_000,
  opinion: () => Effect.succeed({ behavior: "ask", reason: "the plan needs your approval", always: true }),
  summary: ({ plan }) => `ExitPlanMode ${plan.split("\n", 1)[0]}`,
  validate: () =>
    Effect.gen(function* () {
      const controls = yield* Controls
      const state = planningOf(controls)
      if ((yield* controls.current).permissionMode === "plan") state.shown = true
      // Whoever approves may change the mode with the same answer, before the arguments are looked at once more.
      else if (!state.shown)
        return yield* failure("Plan mode is not on, so there is nothing to leave. Go on with the work.")
    }),
  show: { result: ({ plan }) => plan ?? "" },
  run: Effect.fnUntraced(function* ({ plan }) {
    const controls = yield* Controls
    const files = yield* Files
    const paths = yield* Path.Path
    const host = yield* Host
    const { sessionId } = yield* Workspace
    const state = planningOf(controls)
    state.shown = false
    const filePath = paths.join(host.configDir, "plans", `${sessionId}.md`)
    const saved = yield* Effect.result(files.writeAtomic(filePath, plan, { mode: 0o600, makeParents: true }))
    const { permissionMode } = yield* controls.current
    const kept = saved._tag === "Success" ? `\n\nYour plan has been saved to: ${filePath}` : ""
    return {
      content: `User has approved your plan. You can now start coding, as it says.${kept}\n\n## Approved Plan:\n${plan}`,
      structured: { plan, isAgent: false, ...(saved._tag === "Success" && { filePath }) },
      // Where the person has chosen a mode already, that one stands.
      ...(permissionMode === "plan" && { controls: { permissionMode: state.before ?? "default" } }),
    }
  }),
})
