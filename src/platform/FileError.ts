/** Owns the one error of file work: what was tried, on which path, why it failed, what helps. */
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"

const Reason = Schema.Literals([
  "NotFound",
  "PermissionDenied",
  "AlreadyExists",
  "IsDirectory",
  "NotDirectory",
  "NotRegular",
  "TooLarge",
  "NoSpace",
  "Busy",
  "Swapped",
  "Unknown",
])

export class FileError extends Schema.TaggedError<FileError>()("FileError", {
  path: Schema.String,
  operation: Schema.String,
  reason: Reason,
  detail: Schema.String,
}) {
  override get message(): string {
    return `Cannot ${this.operation} ${this.path}: ${advice[this.reason]}${this.detail === "" ? "" : ` (${this.detail})`}`
  }
}

const advice: Record<FileError["reason"], string> = {
  NotFound: "it does not exist; check the path",
  PermissionDenied: "permission denied; check its owner and mode",
  AlreadyExists: "it already exists; choose another name or remove it",
  IsDirectory: "it is a directory, not a file",
  NotDirectory: "a part of the path is a file, not a directory",
  NotRegular: "it is a pipe, a device or a socket, not a regular file; move it away",
  TooLarge: "it is larger than the limit; read a part of it",
  NoSpace: "the disk is full; free some space",
  Busy: "it is in use; close what holds it and try again",
  Swapped: "a part of its path is a link or was moved after it was checked; look at the directory, then try again",
  Unknown: "the operating system refused",
}

const reasons: Readonly<Record<string, FileError["reason"]>> = {
  ENOENT: "NotFound",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  EROFS: "PermissionDenied",
  EEXIST: "AlreadyExists",
  EISDIR: "IsDirectory",
  ENOTDIR: "NotDirectory",
  EFBIG: "TooLarge",
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace",
  EBUSY: "Busy",
  ETXTBSY: "Busy",
}

/** The `code` of a system error (`ENOENT`, …), if it carries one. */
export const codeOf = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined

export const fromCause = (operation: string, path: string, cause: unknown): FileError => {
  if (cause instanceof FileError) return cause
  const reason = reasons[codeOf(cause) ?? ""] ?? "Unknown"
  return new FileError({
    path,
    operation,
    reason,
    detail: cause instanceof Error ? cause.message : String(cause),
  })
}

/** Refuses a file above the limit before its bytes are decoded. */
export const tooLarge = (path: string, size: number, limit: number): FileError =>
  new FileError({ path, operation: "read", reason: "TooLarge", detail: `${size} bytes, limit ${limit}` })

/** The same fact from Effect's own file system. */
export const fromPlatform = (operation: string, path: string, error: PlatformError.PlatformError): FileError => {
  const tag = error.reason._tag
  const code = codeOf(error.reason.cause)
  const reason =
    (code === undefined ? undefined : reasons[code]) ??
    (tag === "NotFound" || tag === "PermissionDenied" || tag === "AlreadyExists" || tag === "Busy" ? tag : "Unknown")
  return new FileError({ path, operation, reason, detail: reason === "Unknown" ? error.message : "" })
}
