/** Owns calls that need approval, for the tests of the question. */
import type { Ask } from "../../src/permissions/Permissions.ts"

export const bash: Ask = {
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
}
export const running = (command: string): Ask => ({ ...bash, input: { command }, executes: command })
export const write: Ask = {
  ...bash,
  tool: "Write",
  input: { file_path: "/w/a.txt", content: "new" },
  summary: "Write /w/a.txt",
  executes: undefined,
  writes: ["/w/a.txt"],
}

export const numbered = (n: number) => Array.from({ length: n }, (_, i) => `line ${i + 1}`)
