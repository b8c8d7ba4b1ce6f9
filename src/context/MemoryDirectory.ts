/**
 * Owns where memories are kept: one directory for each repository, shared by its worktrees, and one for each agent that has its own.
 *
 * The model may write there, so the place must not be where a repository's links would like it: what is doubtful is refused.
 */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { findRoot, textOf } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import * as PathFence from "../security/PathFence.ts"
import * as PathName from "../security/PathName.ts"
import { under } from "../security/Sensitive.ts"
import { projectName, projectsDirectory } from "../session/SessionPaths.ts"
import type { ContextSettings } from "./ContextSettings.ts"

export interface MemoryDirectory {
  readonly path: string
  /** The same with links followed. */
  readonly real: string
}

type Located = Result.Result<MemoryDirectory, string>

const read = (file: string) => Effect.map(textOf(file), (text) => text ?? "")

/** The repository that a worktree belongs to. A worktree counts only if the repository knows it, too: anybody can write a `.git` file. */
const mainRoot = Effect.fnUntraced(function* (root: string) {
  const path = yield* Path.Path
  const dot = path.join(root, ".git")
  const link = /^gitdir: (.+?)\s*$/.exec(yield* read(dot))?.[1]
  if (link === undefined) return root
  const own = path.resolve(root, link)
  const common = path.resolve(own, (yield* read(path.join(own, "commondir"))).trim())
  const back = (yield* read(path.join(own, "gitdir"))).trim()
  const known = path.resolve(own, back) === dot && path.dirname(path.dirname(own)) === common
  return known && path.basename(common) === ".git" ? path.dirname(common) : root
})

/** The directory of a project's memories, or why there is none. */
export const ofProject = Effect.fnUntraced(function* (cwd: string, settings: ContextSettings) {
  const path = yield* Path.Path
  const host = yield* Host
  const given = settings.autoMemoryDirectory
  if (given !== undefined) {
    const at = given.startsWith("~/") ? path.join(host.home, given.slice(2)) : given
    if (!path.isAbsolute(at)) return refused(`autoMemoryDirectory: "${given}" must be absolute or begin with ~/`)
    return yield* checked(path.resolve(at), undefined, cwd)
  }
  const named = host.env("CLAUDE_CONFIG_DIR") === undefined ? undefined : host.env("CLAUDE_CODE_PROJECT_DIR_NAME")
  const root = yield* findRoot(cwd)
  const name = named === undefined ? projectName(root === undefined ? cwd : yield* mainRoot(root)) : projectName(named)
  return yield* checked(path.join(projectsDirectory(host), name, "memory"), host.configDir, cwd)
})

export type AgentMemoryScope = "user" | "project" | "local"

const agentFolders: Readonly<Record<AgentMemoryScope, string>> = {
  user: "agent-memory",
  project: "agent-memory",
  local: "agent-memory-local",
}

/** The directory of an agent that remembers by itself. */
export const ofAgent = Effect.fnUntraced(function* (agent: string, scope: AgentMemoryScope, cwd: string) {
  const path = yield* Path.Path
  const host = yield* Host
  const name = agent.replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 100)
  if (name.replaceAll("-", "") === "") return refused(`"${agent}" cannot be the name of a memory directory`)
  const bound = scope === "user" ? host.configDir : ((yield* findRoot(cwd)) ?? cwd)
  const base = scope === "user" ? host.configDir : path.join(bound, ".claude")
  return yield* checked(path.join(base, agentFolders[scope], name), bound, cwd)
})

/** `bound`: it must not lead out of there. */
const checked = Effect.fnUntraced(function* (at: string, bound: string | undefined, cwd: string) {
  const { home } = yield* Host
  const problem = PathName.problemOfText(at) ?? PathName.problemOfPlace(at)
  if (problem !== undefined) return refused(problem)
  const real = yield* PathFence.real(at)
  if (real === undefined) return refused(`${at} is a link that leads in a circle`)
  const realBound = bound === undefined ? undefined : yield* PathFence.real(bound)
  if (bound !== undefined && (realBound === undefined || !under(realBound, real))) {
    return refused(`${at} leads out of ${bound}, to ${real}: nothing is remembered there`)
  }
  for (const above of [home, cwd]) {
    if (under(real, (yield* PathFence.real(above)) ?? above)) {
      return refused(`${at} holds more than memories (${above} is in it); choose a directory of its own`)
    }
  }
  const located: Located = Result.succeed({ path: at, real })
  return located
})

const refused = (why: string): Located => Result.fail(why)
