/**
 * Owns the opening of one instruction file: what it may be, where it may lead, how long it may be. Whatever is doubtful is refused.
 *
 * A project's file may lead out of the project, by a link or an import, only where a person agreed to it: others wrote it, and what
 * it names could be anything that this user can read.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { fromPlatform } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { PathGlob } from "../platform/PathGlob.ts"
import * as PathName from "../security/PathName.ts"
import { isSecret, under } from "../security/Sensitive.ts"

/** Whose file it is; the words of the InstructionsLoaded hook. */
export type Kind = "Managed" | "User" | "Project" | "Local"

/** Why a file is not among what the model is told. */
export type Refusal =
  | "missing"
  | "excluded"
  | "duplicate"
  | "outside"
  | "too_large"
  | "too_deep"
  | "not_text"
  | "secret"
  | "hidden"
  | "bad_path"
  | "unreadable"

export type Opened =
  | { readonly _tag: "Opened"; readonly path: string; readonly real: string; readonly text: string }
  | { readonly _tag: "Refused"; readonly path: string; readonly why: Refusal; readonly detail: string }
  /** It is there and may be fine, but leads out of the project: `real` is where. */
  | { readonly _tag: "Leaves"; readonly path: string; readonly real: string }

export interface Grounds {
  /** With links followed: what a project's file may lead to. */
  readonly roots: ReadonlyArray<string>
  readonly excludes: PathGlob
  /** A rule forbids to read it. */
  readonly hides: (path: string) => boolean
}

export const mostBytes = 4 * 1024 * 1024

export const make = (grounds: Grounds) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const files = yield* Files
    const host = yield* Host

    const refuse = (path: string, why: Refusal, detail: string): Opened => ({ _tag: "Refused", path, why, detail })
    const missing = (path: string) => refuse(path, "missing", "it does not exist")

    /** `leaving`: a person agreed that it leads out of the project. */
    return Effect.fnUntraced(function* (path: string, kind: Kind, leaving = false): Effect.fn.Return<Opened> {
      const deceives = PathName.problemOfText(path)
      if (deceives !== undefined) return refuse(path, "bad_path", deceives)
      const found = yield* Effect.result(fs.realPath(path))
      if (found._tag === "Failure") {
        const error = fromPlatform("read", path, found.failure)
        const absent = error.reason === "NotFound" || error.reason === "NotDirectory"
        return absent ? missing(path) : refuse(path, "unreadable", error.message)
      }
      const real = found.success
      if (kind !== "Managed" && (grounds.excludes.has(path) || grounds.excludes.has(real))) {
        return refuse(path, "excluded", "claudeMdExcludes names it")
      }
      if (isSecret(path, host) || isSecret(real, host)) {
        return refuse(path, "secret", "it is a place for credentials or private data, and those are never sent")
      }
      if (grounds.hides(path) || grounds.hides(real))
        return refuse(path, "hidden", "a permission rule denies reading it")
      const place = PathName.problemOfPlace(real)
      if (place !== undefined) return refuse(path, "bad_path", place)
      const bound = kind === "Project" || kind === "Local"
      if (bound && !leaving && !grounds.roots.some((root) => under(root, real))) return { _tag: "Leaves", path, real }
      const [read] = yield* files.readTexts([real], { maxBytes: mostBytes })
      if (read === undefined) return missing(path)
      if (read._tag === "Success") return { _tag: "Opened", path, real, text: lines(read.success.text) }
      const error = read.failure
      if (error._tag === "NotText") return refuse(path, "not_text", error.message)
      if (error.reason === "TooLarge") {
        return refuse(path, "too_large", `it is larger than 4 MiB (${error.detail}); shorten it or split it`)
      }
      return error.reason === "NotFound" ? missing(path) : refuse(path, "unreadable", error.message)
    })
  })

const lines = (text: string): string => (text.includes("\r") ? text.replaceAll("\r\n", "\n") : text)
