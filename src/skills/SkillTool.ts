/** Owns the Skill tool: how the model uses a skill. Its text follows the result as a message; one with `context: fork` runs elsewhere. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../tools/Tool.ts"
import { type Invocation, Skills } from "./Skills.ts"

const Input = Schema.Struct({
  skill: Schema.String.check(Schema.isNonEmpty()).annotate({
    description: 'The name of a skill, as it is listed: "pdf", "plugin:name"',
  }),
  args: Schema.optionalKey(Schema.String.annotate({ description: "What follows the name when it is typed" })),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  success: Schema.Boolean,
  commandName: Schema.String,
  status: Schema.Literals(["inline", "forked"]),
  allowedTools: Schema.optionalKey(Schema.Array(Schema.String)),
  model: Schema.optionalKey(Schema.String),
  /** Tokens that its text takes. */
  tokens: Schema.optionalKey(Schema.Finite),
  /** Of a fork: what it came to. */
  result: Schema.optionalKey(Schema.String),
})
type Output = typeof Output.Type

/** Runs a skill in an agent of its own and answers what it came to. `undefined` where there are no such agents: it runs here instead. */
export const SkillFork = Context.Reference<
  ((invocation: Invocation, toolUseId: string) => Effect.Effect<string, Tool.ToolFailure>) | undefined
>("troupe/skills/SkillFork", { defaultValue: () => undefined })

const description = `Uses a skill: instructions for a kind of task, written for this project or by the user.
- The skills you can use are listed in the conversation. When one fits the task, use it before doing anything else about the task.
- skill is the exact name; args is what a user would type behind it.
- Its instructions follow the result. Carry them out; do not use the same skill again for the same task.
- A user who types /name means the skill of that name. Never guess a name that is not listed.`

const withoutSlash = ({ skill }: Input): string => skill.trim().replace(/^\//, "")

export const SkillTool = Tool.make<Input, Skills, Output>({
  name: "Skill",
  description,
  input: Input,
  output: Output,
  // What it brings in is judged call by call; by itself it only reads.
  readOnly: true,
  maxResultChars: 100_000,
  enabled: Effect.flatMap(Skills, ({ catalog }) => Effect.map(catalog, ({ active }) => active.length > 0)),
  effects: ({ args = "", ...input }) => Effect.succeed({ skill: `${withoutSlash(input)} ${args}`.trim() }),
  summary: ({ args, ...input }) => `Skill ${withoutSlash(input)}${args === undefined ? "" : ` ${args}`}`,
  show: { result: ({ commandName, result }) => result ?? `Uses ${commandName}` },
  run: Effect.fnUntraced(function* (input, call) {
    const { invoke } = yield* Skills
    const fork = yield* SkillFork
    const name = withoutSlash(input)
    const invocation = yield* Effect.mapError(
      invoke(name, input.args ?? "", "model"),
      ({ message }) => new Tool.ToolFailure({ message }),
    )
    const { allowedTools, model, messages, skill, tokens } = invocation
    const structured: Output = {
      success: true,
      commandName: skill.name,
      status: "inline",
      ...(allowedTools.length > 0 && { allowedTools }),
      ...(model !== undefined && { model }),
      tokens,
    }
    if (skill.fork !== undefined && fork !== undefined) {
      const result = yield* fork(invocation, call.toolUseId)
      return { content: result, structured: { ...structured, status: "forked", result } }
    }
    if (invocation.repeated) return { content: messages.join("\n"), structured }
    return { content: `Using the skill ${skill.name}. Its instructions follow.`, structured, messages }
  }),
})
