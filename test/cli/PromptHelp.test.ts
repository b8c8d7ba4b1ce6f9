import { assert, describe, it } from "@effect/vitest"
import * as PromptHelp from "../../src/cli/PromptHelp.ts"
import type { Explained } from "../../src/hooks/HookIndex.ts"
import type { HelpEntry } from "../../src/skills/Skills.ts"

const greet: HelpEntry = {
  name: "greet",
  hint: "[name]",
  description: "Says hello.\nAt length.",
  origin: "project",
  form: "skill",
  file: "/w/.claude/skills/greet/SKILL.md",
}

const hook: Explained = {
  event: "Stop",
  kind: "command",
  what: "./check.sh",
  matcher: "",
  scope: "project",
  source: "/w/.claude/settings.json:4",
  runs: true,
  why: "",
}

const text = (lines: ReadonlyArray<{ readonly text: string }>) => lines.map((line) => line.text).join("\n")

describe("the prompt's help", () => {
  it("lists skills and commands beside its own, each with where it comes from", () => {
    const shown = text(PromptHelp.help([greet]))
    assert.match(shown, /^\/hooks \[trust\] +the hooks there are/m)
    assert.match(shown, /^\/greet \[name\] +Says hello\. {2}\(project skill\)$/m)
    assert.include(text(PromptHelp.skills([greet])), "(project skill, /w/.claude/skills/greet/SKILL.md)")
  })

  it("shows hooks with their file, why one does not run, and how to agree to what waits", () => {
    const waiting = { ...hook, runs: false, why: "it waits for your agreement: troupe config trust" }
    assert.strictEqual(text(PromptHelp.hooks([hook])), "Stop  *  command: ./check.sh  (/w/.claude/settings.json:4)")
    assert.match(
      text(PromptHelp.hooks([hook, waiting])),
      /— it waits for your agreement[^]*\/hooks trust shows what waits/,
    )
  })

  it("says how to begin where there is nothing", () => {
    assert.match(text(PromptHelp.skills([])), /\.claude\/skills\/<name>\/SKILL\.md/)
    assert.match(text(PromptHelp.hooks([])), /There are no hooks/)
    assert.match(text(PromptHelp.agents([])), /no agents/)
  })

  it("lets no file draw on the terminal", () => {
    const shown = text(PromptHelp.help([{ ...greet, description: "\u001b[2Jgone" }]))
    assert.notInclude(shown, "\u001b")
  })
})
