/** Owns what the model is told about its memory: where it is, what belongs into it, how it is written. Pure. */
import type { MemoryDirectory } from "./MemoryDirectory.ts"
import { type Index, indexName, limits } from "./MemoryFile.ts"

/** The kinds of memories and what is none; also for models that extract memories from a conversation. */
export const kinds = `- user: the person's role, knowledge and preferences
- feedback: how they want work to be done: corrections, and ways they confirmed, with the reason
- project: ongoing work, decisions, deadlines and incidents that neither code nor git history tell
- reference: where to find things outside of the project (tracker, dashboard, document)`

export const nothing =
  "Not what code, git or files of instructions can answer (structure, paths, commands, how a bug was fixed), not the state of the " +
  "present task, and never a password, key or token."

/** For a session, or for an agent with a memory of its own. */
export const paragraph = (directory: MemoryDirectory, index: Index | undefined, hasTeam = false): string =>
  [
    "Memory",
    `What should be known in later conversations is kept in ${directory.path}. Read it with Read and write it with Write and Edit; the directory need not be made.`,
    `Save what the user asks you to remember, and what you learn that will matter again:\n${kinds}\n${nothing}`,
    `Saving has two steps. First the memory in a file of its own, such as feedback_testing.md:

---
name: short name
description: one sentence by which it will be found again
type: user | feedback | project | reference
---

the memory; for feedback also why, and when it applies

Then one line in ${indexName}: - [short name](feedback_testing.md) — the description
Change a memory that is there rather than write a second one, and remove one that proved wrong, with its line. Write dates as 2026-01-31, never as "yesterday". ${indexName} is an index: every session begins with its first ${limits.lines} lines (${limits.bytes / 1_000} KB).`,
    ...(hasTeam ? ["Files in team/ are shared: others wrote them and read what you write there."] : []),
    "A memory tells what was true when it was written. Before you rely on it, check it against what is there now.",
    index === undefined
      ? `${indexName} is empty so far.`
      : `${indexName}:\n\n${index.text}${index.cut === undefined ? "" : `\n\n(Only a part: it has ${index.cut.lines} lines and ${index.cut.bytes} bytes. Shorten it.)`}`,
  ].join("\n\n")
