/** Owns calls that need approval, for the tests of the question. */
import type { Question } from "../../src/permissions/Permissions.ts"

export const bash: Question = {
  toolUseId: "t1",
  tool: "Bash",
  input: { command: "npm test" },
  summary: "Bash npm test",
  readOnly: false,
  reads: [],
  writes: [],
  executes: "npm test",
  outside: [],
  sensitive: [],
  call: { tool: "Bash", input: { command: "npm test" }, readOnly: false, touches: [] },
  why: "",
  suggestions: [{ rule: "Bash(npm test *)", covers: '"npm test" with any arguments', lasts: "project" }],
}
export const running = (command: string): Question => ({
  ...bash,
  input: { command },
  executes: command,
  suggestions: [],
})
export const write: Question = {
  ...bash,
  tool: "Write",
  input: { file_path: "/w/a.txt", content: "new" },
  summary: "Write /w/a.txt",
  executes: undefined,
  writes: ["/w/a.txt"],
  suggestions: [{ rule: "Edit(//w/**)", covers: "changing anything below /w", lasts: "session" }],
}

export const numbered = (n: number) => Array.from({ length: n }, (_, i) => `line ${i + 1}`)
