/** Owns one instruction file as the model is told it, and as hooks hear of it. */
import type { Kind } from "./InstructionFile.ts"

export type LoadReason = "session_start" | "nested_traversal" | "path_glob_match" | "include" | "compact"

export interface Fragment {
  /** Stable across the lives of a session: the file's real path. */
  readonly origin: string
  readonly path: string
  readonly kind: Kind
  readonly content: string
  readonly loadReason: LoadReason
  /** The patterns that a touched file matched. */
  readonly globs?: ReadonlyArray<string>
  /** The file whose touch brought it. */
  readonly trigger?: string
  /** The file that imports it. */
  readonly parent?: string
}

const owners: Readonly<Record<Kind, string>> = {
  Managed: "the organisation's",
  User: "the user's own, for every project",
  Project: "the project's, shared by everybody who works on it",
  Local: "the user's own, for this project",
}

export const render = ({ content, kind, parent, path }: Fragment): string =>
  `Contents of ${path} (${owners[kind]}${parent === undefined ? "" : `, imported by ${parent}`}):\n\n${content}`

/** All of them as one text; empty where there are none. */
export const renderAll = (fragments: ReadonlyArray<Fragment>): string =>
  fragments.length === 0 ? "" : [introduction, ...fragments.map(render)].join("\n\n")

const introduction =
  "What people ask of you in this place follows. It goes before your defaults, and what comes later goes before what comes earlier. " +
  "Follow it wherever it has to do with the task."

/** The fields of the InstructionsLoaded hook. */
export const hookFields = (fragment: Fragment) => ({
  file_path: fragment.path,
  memory_type: fragment.kind,
  load_reason: fragment.loadReason,
  ...(fragment.globs !== undefined && { globs: fragment.globs }),
  ...(fragment.trigger !== undefined && { trigger_file_path: fragment.trigger }),
  ...(fragment.parent !== undefined && { parent_file_path: fragment.parent }),
})
