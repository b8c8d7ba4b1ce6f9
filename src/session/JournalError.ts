/** Owns the two ways a journal cannot be worked with: the disk refuses, or somebody else is writing it. */
import * as Schema from "effect/Schema"

export class JournalError extends Schema.TaggedError<JournalError>()("JournalError", {
  operation: Schema.Literals(["open", "repair", "append", "sync", "read"]),
  path: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    const comfort =
      this.operation === "read" ? "" : " What was journaled before is safe; fix the cause and resume the session."
    return `Cannot ${this.operation} the session journal ${this.path}: ${this.detail}.${comfort}`
  }
}

/** One session has one writer at a time. */
export class SessionBusy extends Schema.TaggedError<SessionBusy>()("SessionBusy", {
  sessionId: Schema.String,
  holder: Schema.optionalKey(Schema.Int),
}) {
  override get message(): string {
    const who = this.holder === undefined ? "another process" : `process ${this.holder}`
    return `Session ${this.sessionId} is in use by ${who}. End that process first, or work on a copy: add --fork-session.`
  }
}

export const journalError =
  (operation: JournalError["operation"], path: string) =>
  (cause: { readonly message: string }): JournalError =>
    new JournalError({ operation, path, detail: cause.message.replace(/\.$/, "") })
