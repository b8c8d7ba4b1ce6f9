/**
 * Owns what becomes of well-known names where PATH leads into the workspace: whoever may write there decides which program `ls` is, so
 * such a line is no longer harmless.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { Host } from "../platform/Host.ts"
import type { Analysis } from "../policy/Bash.ts"
import { under } from "../security/Sensitive.ts"
import { Workspace } from "./Workspace.ts"

/** The analysis as it was, or one that says what would run instead. */
export const make = Effect.gen(function* () {
  const { env } = yield* Host
  const fs = yield* FileSystem.FileSystem
  const { cwd, fence, roots } = yield* Workspace
  const directories = (env("PATH") ?? "").split(":")

  const shadow = Effect.fnUntraced(function* (analysis: Analysis) {
    const ours = directories.filter(
      (directory) =>
        !directory.startsWith("/") || [...roots, ...fence.realRoots].some((root) => under(root, directory)),
    )
    if (ours.length === 0) return undefined
    const programs = new Set(
      analysis.touches.flatMap((touch) =>
        touch._tag === "Executes" && !(touch.argv[0] ?? "").includes("/") ? [touch.program] : [],
      ),
    )
    const moves = ["cd", "pushd", "popd"].some((name) => programs.has(name))
    const relative = ours.find((directory) => !directory.startsWith("/"))
    if (moves && relative !== undefined) return `PATH has "${relative}", which is another place in every directory`
    for (const directory of ours) {
      const at = directory.startsWith("/") ? directory : `${cwd()}/${directory}`
      for (const program of programs) {
        const found = yield* fs.exists(`${at}/${program}`).pipe(Effect.orElseSucceed(() => true))
        if (found) return `PATH makes ${at}/${program} of ${program}`
      }
    }
    return undefined
  })

  return Effect.fnUntraced(function* (analysis: Analysis) {
    const why = analysis._tag === "Opaque" ? undefined : yield* shadow(analysis)
    if (why === undefined || analysis._tag === "Opaque") return analysis
    const doubtful: Analysis = {
      ...analysis,
      commands: analysis.commands.map((command) => ({ ...command, readOnly: false, why })),
      touches: [...analysis.touches, { _tag: "Unknown", why }],
      readOnly: false,
      why,
    }
    return doubtful
  })
})
