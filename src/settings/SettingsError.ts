/** Owns the settings that may not be skipped: a policy or an argument that is broken stops the start. */
import * as Schema from "effect/Schema"
import { type Diagnostic, render } from "./SettingsLayer.ts"

export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", {
  reason: Schema.Literals(["policy", "argument"]),
  file: Schema.String,
  line: Schema.optionalKey(Schema.Int),
  column: Schema.optionalKey(Schema.Int),
  detail: Schema.String,
}) {
  override get message(): string {
    return this.reason === "policy"
      ? `Managed settings cannot be used: ${this.detail}. Ask whoever manages this machine to correct them.`
      : `--settings cannot be used: ${this.detail}. Give a settings file or a JSON object.`
  }

  static of(reason: SettingsError["reason"], diagnostic: Diagnostic): SettingsError {
    const { column, line, source } = diagnostic
    return new SettingsError({
      reason,
      file: source.name,
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      detail: render(diagnostic),
    })
  }
}
