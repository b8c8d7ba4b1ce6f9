/** Owns what the model is told about git: how commits and pull requests are written and signed, and what the repository looks like. */
import * as Effect from "effect/Effect"
import { fullName } from "../cost/ModelName.ts"
import { Git, type Status } from "../platform/Git.ts"
import type { Attribution } from "./ContextSettings.ts"

/** `model`: its full name, for the trailer of commits. */
export const instructions = (attribution: Attribution, model: string | undefined): string => {
  const commit = attribution.commit ?? `Co-Authored-By: ${fullName(model ?? "")} <noreply@anthropic.com>`
  const pr = attribution.pr ?? "🤖 Generated with Troupe"
  return [
    "Git",
    "- Commit only when you are asked to. Look at git status, git diff and git log first; stage files by name; say why in one or two " +
      "sentences, in the style of the commits that are there.",
    "- Never change git's configuration, skip hooks, force-push or rewrite published history unless the user says exactly that. When " +
      "a hook refuses a commit, fix the cause and make a new commit; do not amend one that is not yours.",
    "- Before a pull request look at every commit it would contain. Describe what changes for whom, and how it was tested.",
    signed("End the message of each commit with exactly this", commit),
    signed("End the description of each pull request with exactly this", pr),
  ].join("\n")
}

const signed = (how: string, text: string): string =>
  text.trim() === ""
    ? `- ${how.replace(" with exactly this", "")} without any mention of yourself.`
    : `- ${how}:\n${indented(text)}`

const indented = (text: string): string => text.replace(/^/gm, "    ")

const mostPaths = 20
const commits = 5

/** What git says now; nothing where it does not answer at once. */
export const state = Effect.fnUntraced(
  function* (cwd: string) {
    const git = yield* Git
    if ((yield* git.root(cwd)) === undefined) return undefined
    const [status, log] = yield* Effect.all(
      [
        git.status(cwd, { maxPaths: mostPaths }),
        git.run(cwd, ["log", "--oneline", "--no-decorate", "--no-color", "-n", String(commits)], {
          maxOutputBytes: 10_000,
          historyOnly: true,
        }),
      ],
      { concurrency: 2 },
    )
    if (status === undefined) return undefined
    const recent = log.exitCode === 0 ? log.stdout.trim() : ""
    return [
      `The repository when the session began, which is not kept up to date: ${summary(status)}`,
      ...status.paths.map((path) => `  ${path}`),
      ...(status.truncated ? ["  …"] : []),
      ...(recent === "" ? [] : ["Latest commits:", recent.replace(/^/gm, "  ")]),
    ].join("\n")
  },
  Effect.timeoutOption("500 millis"),
  Effect.map((found) => (found._tag === "Some" ? found.value : undefined)),
  Effect.orElseSucceed(() => undefined),
)

const summary = ({ conflicted, modified, staged, untracked }: Status): string => {
  const parts = Object.entries({ staged, modified, untracked, conflicted }).filter(([, count]) => count > 0)
  return parts.length === 0 ? "nothing to commit." : `${parts.map(([name, count]) => `${count} ${name}`).join(", ")}.`
}
