/** Owns the checklist that the model keeps as a whole: each call replaces it. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Files } from "../../platform/Files.ts"
import { Host } from "../../platform/Host.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { family } from "./ListTools.ts"
import { failure, type Services } from "./Source.ts"

const Todo = Schema.Struct({
  content: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "What to do: Run the tests" }),
  status: Schema.Literals(["pending", "in_progress", "completed"]),
  activeForm: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "While it is done: Running the tests" }),
})
const Todos = Schema.Array(Todo)
const Input = Schema.Struct({ todos: Todos.annotate({ description: "The whole list, as it is from now on" }) })
type Input = typeof Input.Type

const Output = Schema.Struct({ oldTodos: Todos, newTodos: Todos })
type Output = typeof Output.Type

const description = `Keeps a checklist for work of three or more steps. Send the whole list each time.
- Have exactly one item in progress while you work; mark it completed as soon as it is done, and only if it is.`

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Todos))

export const TodoWrite = Tool.make<Input, Services, Output>({
  name: "TodoWrite",
  description,
  input: Input,
  output: Output,
  // It changes a list of its own, nothing of the user's.
  readOnly: true,
  idempotency: "idempotent",
  deferred: true,
  enabled: Effect.map(family, (kind) => kind === "todos"),
  summary: (input) =>
    `TodoWrite ${input.todos.filter((todo) => todo.status === "completed").length}/${input.todos.length}`,
  show: { result: ({ newTodos }) => newTodos.map((todo) => `${box[todo.status]} ${todo.content}`).join("\n") },
  run: Effect.fnUntraced(function* (input) {
    const fs = yield* FileSystem.FileSystem
    const files = yield* Files
    const paths = yield* Path.Path
    const host = yield* Host
    const { sessionId } = yield* Workspace
    const at = paths.join(host.configDir, "todos", `${sessionId}-agent-${sessionId}.json`)
    const before = yield* fs.readFileString(at).pipe(Effect.orElseSucceed(() => "[]"))
    const oldTodos = Option.getOrElse(decode(before), () => [])
    // A list that is done is put away.
    const done = input.todos.every((todo) => todo.status === "completed")
    yield* files
      .writeAtomic(at, JSON.stringify(done ? [] : input.todos, undefined, 2), { mode: 0o600, makeParents: true })
      .pipe(Effect.mapError((error) => failure(`The list cannot be kept: ${error.message}`)))
    return {
      content: "Todos have been modified successfully. Keep the list up to date as you go on with its current item.",
      structured: { oldTodos, newTodos: input.todos },
    }
  }),
})

const box = { pending: "☐", in_progress: "◐", completed: "☒" } as const
