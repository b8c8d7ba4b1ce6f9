/** Owns what a session that travels says of its background tasks. They stay behind, and the model hears that they ended. */
import * as Schema from "effect/Schema"
import * as Section from "../session/TeleportSection.ts"
import * as TaskRecords from "./TaskRecords.ts"

export const tasks = Section.make(
  "tasks",
  Schema.Array(
    Schema.Struct({ id: Schema.String, type: Schema.String, command: Schema.String, description: Schema.String }),
  ),
  {
    pack: ({ records }) => {
      const { lost } = TaskRecords.find(records.flatMap(({ agent, event }) => (agent === "main" ? [event] : [])))
      return lost.map(({ command, description, id, type }) => ({ id, type, command, description }))
    },
    arrived: (found) => found.map(({ description }) => `In the background, and ended with the journey: ${description}`),
  },
)
