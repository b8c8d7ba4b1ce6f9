/**
 * Owns what happens at a session's front, where a person sits, as far as the session has to know: a directory they add, text on its way to
 * their eyes, and that nobody answers.
 */
import * as Effect from "effect/Effect"
import type { HookEngineShape } from "../hooks/HookEngine.ts"
import * as Ids from "../kernel/Ids.ts"
import type { EventOf } from "../protocol/Event.ts"
import type { JournalError } from "../session/JournalError.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import * as SessionNotes from "../session/SessionNotes.ts"
import type { NotAddable, Workspace } from "../tools/Workspace.ts"
import { reminder } from "../protocol/Reminder.ts"

/** Some lines of a text of the model that are about to be shown. */
export interface Batch {
  readonly messageId: string
  /** How many of the same text came before. */
  readonly index: number
  readonly final: boolean
  readonly delta: string
}

export interface Front {
  /** Opens one more directory to the session, from now on. Answers its path. */
  readonly addDirectory: (
    directory: string,
    source?: "slash_command" | "register_repo_root",
  ) => Effect.Effect<string, NotAddable | JournalError>
  /** What is shown instead of the model's text, line by line; `undefined` where nobody wants to change it. */
  readonly rewriter: () => ((batch: Batch) => Effect.Effect<string>) | undefined
  /** It goes on elsewhere from now on: recorded, and on the disk when this returns. Whoever calls this closes it next. */
  readonly handedOver: (event: EventOf<"SessionHandedOver">) => Effect.Effect<void, JournalError>
  /** What the session is called, and what it is sorted by. */
  readonly about: () => { readonly title: string | undefined; readonly tags: ReadonlyArray<string> }
  /** Gives it a title; an empty one changes nothing. */
  readonly rename: (title: string) => Effect.Effect<void, JournalError>
  /** Adds tags that it does not have, and takes those that it has. */
  readonly tag: (tags: ReadonlyArray<string>) => Effect.Effect<void, JournalError>
  /** The person has not said anything for a while. */
  readonly idle: Effect.Effect<void>
}

export interface Behind {
  readonly engine: HookEngineShape
  readonly recorder: RecorderShape
  readonly workspace: Workspace["Service"]
  /** Where agents that are sent out later may work as well. */
  readonly addDirs: Array<string>
}

export const make = ({ addDirs, engine, recorder, workspace }: Behind): Front => {
  const rewrite = Effect.fnUntraced(function* ({ delta, final, index, messageId }: Batch) {
    const { displayContent } = yield* engine.fire("MessageDisplay", {
      turn_id: recorder.history.lastPromptId ?? messageId,
      message_id: messageId,
      index,
      final,
      delta,
    })
    return displayContent ?? delta
  })
  return {
    addDirectory: Effect.fnUntraced(function* (given, source = "slash_command") {
      const directory = yield* workspace.add(given)
      addDirs.push(directory)
      const content = reminder(
        `The directory ${directory} belongs to the workspace from now on: work in it as in the others.`,
      )
      yield* recorder.emit({ _tag: "ContextAdded", uuid: yield* Ids.uuid, origin: "directory added", content })
      yield* engine.fire("DirectoryAdded", { directory, source })
      return directory
    }),
    rewriter: () => (engine.concerns("MessageDisplay") ? rewrite : undefined),
    handedOver: (event) => Effect.andThen(recorder.emit(event), recorder.journal.sync),
    about: () => ({ title: recorder.history.title, tags: recorder.history.tags }),
    rename: (given) =>
      SessionNotes.titleOf(given) === "" ? Effect.void : recorder.emit(SessionNotes.titled(given, "person")),
    tag: (given) =>
      Effect.suspend(() => {
        const { tags } = recorder.history
        const named = SessionNotes.tagsOf(given)
        const kept = tags.filter((tag) => !named.includes(tag))
        return recorder.emit(SessionNotes.tagged([...kept, ...named.filter((tag) => !tags.includes(tag))], "person"))
      }),
    idle: Effect.asVoid(
      engine.fire("Notification", {
        message: "The session waits for your input",
        title: "Waiting for you",
        notification_type: "idle_prompt",
      }),
    ),
  }
}
