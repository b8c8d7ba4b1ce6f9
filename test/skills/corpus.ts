/**
 * Skills and commands as they are found in the wild, good and bad, each with what must become of it. They are data and not files:
 * byte-order marks, tabs and line endings survive no formatter.
 */
import type { Skill } from "../../src/skills/Skill.ts"

export interface Specimen {
  readonly title: string
  /** Below `.claude`. */
  readonly file: string
  readonly content: string | Uint8Array
  /** The file is a link to this other file of the folder. */
  readonly linkTo?: string
  readonly becomes:
    | { readonly failed: RegExp }
    | {
        readonly name: string
        readonly fields?: Partial<Skill>
        /** Lines that are complained of, with words of the complaint. */
        readonly complaints?: ReadonlyArray<readonly [line: number | undefined, words: RegExp]>
      }
}

const skill = (name: string, lines: ReadonlyArray<string>, body = "Do it.\n"): Pick<Specimen, "file" | "content"> => ({
  file: `skills/${name}/SKILL.md`,
  content: `---\n${lines.join("\n")}\n---\n${body}`,
})

const bomb = [
  "a: &a [x, x, x, x, x, x, x, x, x, x]",
  ..."bcdefghi".split("").map((key, at) => `${key}: &${key} [${`*${"abcdefghi"[at]}, `.repeat(9)}*${"abcdefghi"[at]}]`),
]

export const corpus: ReadonlyArray<Specimen> = [
  {
    title: "every field",
    ...skill("full", [
      "name: Full Skill",
      "description: Does everything.",
      "when_to_use: When all is wanted.",
      'argument-hint: "[file] [format]"',
      "arguments: [file, format]",
      "disable-model-invocation: false",
      "user-invocable: true",
      "allowed-tools: Read, Bash(git log *)",
      "disallowed-tools: WebFetch",
      "model: opus",
      "effort: high",
      "context: fork",
      "agent: Explore",
      "background: false",
      "hooks:",
      "  PreToolUse:",
      "    - matcher: Bash",
      "      hooks: [{ type: command, command: ./check.sh }]",
      "paths: [src/**/*.ts, docs]",
      "shell: bash",
      "metadata: { owner: team-a }",
      "license: MIT",
      "compatibility: needs git",
    ]),
    becomes: {
      name: "full",
      fields: {
        label: "Full Skill",
        description: "Does everything.",
        whenToUse: "When all is wanted.",
        argumentHint: "[file] [format]",
        arguments: ["file", "format"],
        modelInvocable: true,
        userInvocable: true,
        allowedTools: ["Read", "Bash(git log *)"],
        disallowedTools: ["WebFetch"],
        model: "opus",
        effort: "high",
        fork: { agent: "Explore", background: false },
        hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "./check.sh" }] }] },
        paths: ["src/**/*.ts", "docs"],
        metadata: { owner: "team-a" },
        license: "MIT",
        compatibility: "needs git",
      },
      complaints: [],
    },
  },
  {
    title: "no name",
    ...skill("no-name", ["description: Works without."]),
    becomes: { name: "no-name", fields: { label: "no-name", description: "Works without." }, complaints: [] },
  },
  {
    title: "a colon in the description",
    ...skill("colon", ["name: colon", "description: Use when: the build is red # now"]),
    becomes: {
      name: "colon",
      fields: { description: "Use when: the build is red # now" },
      complaints: [[3, /quotes/]],
    },
  },
  {
    title: "tabs for indentation",
    ...skill("tabs", ["description: Tabs", "allowed-tools:", "\t- Read", "\t- Grep"]),
    becomes: { name: "tabs", fields: { allowedTools: ["Read", "Grep"] } },
  },
  {
    title: "Windows line endings",
    file: "skills/crlf/SKILL.md",
    content: "---\r\ndescription: From Windows\r\nallowed-tools: Read\r\n---\r\nDo it.\r\n",
    becomes: { name: "crlf", fields: { description: "From Windows", allowedTools: ["Read"] }, complaints: [] },
  },
  {
    title: "a byte-order mark",
    file: "skills/bom/SKILL.md",
    content: "\uFEFF---\ndescription: With a mark\n---\nDo it.\n",
    becomes: { name: "bom", fields: { description: "With a mark" }, complaints: [] },
  },
  {
    title: "UTF-16",
    file: "skills/utf16/SKILL.md",
    content: Buffer.from("\uFEFF---\ndescription: Notepad\n---\nDo it.\n", "utf16le"),
    becomes: { name: "utf16", fields: { description: "Notepad" } },
  },
  {
    title: "tools by commas",
    ...skill("commas", ["description: x", "allowed-tools: Read,Grep , Bash(npm run test:*)"]),
    becomes: { name: "commas", fields: { allowedTools: ["Read", "Grep", "Bash(npm run test:*)"] }, complaints: [] },
  },
  {
    title: "tools by spaces",
    ...skill("spaces", ["description: x", "allowed-tools: Bash(git add *) Bash(git commit *) Read"]),
    becomes: {
      name: "spaces",
      fields: { allowedTools: ["Bash(git add *)", "Bash(git commit *)", "Read"] },
      complaints: [],
    },
  },
  {
    title: "tools as a flow list",
    ...skill("flow", ["description: x", 'allowed-tools: [Read, "Bash(git log *)"]']),
    becomes: { name: "flow", fields: { allowedTools: ["Read", "Bash(git log *)"] }, complaints: [] },
  },
  {
    title: "tools as a block list, spelled with an underscore",
    ...skill("block", ["description: x", "allowed_tools:", "  - Read", "  - Glob"]),
    becomes: { name: "block", fields: { allowedTools: ["Read", "Glob"] }, complaints: [] },
  },
  {
    title: "tools in camel case",
    ...skill("camel", ["description: x", "allowedTools: Read", "disallowedTools: [Write]", "whenToUse: now"]),
    becomes: {
      name: "camel",
      fields: { allowedTools: ["Read"], disallowedTools: ["Write"], whenToUse: "now" },
      complaints: [],
    },
  },
  {
    title: "a rule that allows what nobody named",
    ...skill("star", ["description: x", 'allowed-tools: "*, Read"']),
    becomes: { name: "star", fields: { allowedTools: ["Read"] }, complaints: [[3, /left out/]] },
  },
  {
    title: "a rule that cannot be read",
    ...skill("bad-rule", ["description: x", "allowed-tools: Bash(git, Read"]),
    becomes: { name: "bad-rule", fields: { allowedTools: [] }, complaints: [[3, /closing parenthesis/]] },
  },
  {
    title: "tools as a map",
    ...skill("map-tools", ["description: x", "allowed-tools: { Bash: true }"]),
    becomes: { name: "map-tools", fields: { allowedTools: [] }, complaints: [[3, /text or a list, not a map/]] },
  },
  {
    title: "unknown fields",
    ...skill("unknown", ["description: x", "version: 1.2.0", "descripton: slip", "tags: [a, b]"]),
    becomes: {
      name: "unknown",
      fields: { extra: { version: "1.2.0", descripton: "slip", tags: ["a", "b"] } },
      complaints: [
        [3, /"version" is no field/],
        [4, /did you mean "description"/],
        [5, /"tags" is no field/],
      ],
    },
  },
  {
    title: "a huge body",
    ...skill("huge", ["description: Long"], `${"word ".repeat(100_000)}\n`),
    becomes: { name: "huge", fields: { description: "Long", bodyChars: 500_001 }, complaints: [] },
  },
  {
    title: "a body above the limit",
    ...skill("too-huge", ["description: Too long"], "x".repeat(1024 * 1024)),
    becomes: { failed: /limit 1048576/ },
  },
  {
    title: "text that is not Latin",
    ...skill(
      "перевод",
      ["description: Переводит документы — быстро и точно", 'when_to_use: "когда просят 翻訳"'],
      "Переведи $0.\n",
    ),
    becomes: {
      name: "перевод",
      fields: { description: "Переводит документы — быстро и точно", whenToUse: "когда просят 翻訳" },
      complaints: [],
    },
  },
  {
    title: "right-to-left and emoji",
    ...skill("rtl", ["description: 🚀 פריסה לסביבת הבדיקות"]),
    becomes: { name: "rtl", fields: { description: "🚀 פריסה לסביבת הבדיקות" }, complaints: [] },
  },
  {
    title: "invisible characters in the description",
    ...skill("unseen", ['description: "Good\\u202E evil\\u200B text\\u0007 here"']),
    becomes: { name: "unseen", fields: { description: "Good evil text here" } },
  },
  {
    title: "commands in the text",
    ...skill(
      "inline",
      ["description: Summary", "allowed-tools: Bash(git *)"],
      "- Diff: !`git diff`\n\n```!\ngit status\n```\n",
    ),
    becomes: { name: "inline", fields: { allowedTools: ["Bash(git *)"] }, complaints: [] },
  },
  {
    title: "SKILL.md in small letters",
    file: "skills/lower/skill.md",
    content: "---\ndescription: Small\n---\nDo it.\n",
    becomes: { name: "lower", fields: { description: "Small" }, complaints: [[undefined, /name it SKILL\.md/]] },
  },
  { title: "an empty file", file: "skills/empty/SKILL.md", content: "", becomes: { failed: /the file is empty/ } },
  {
    title: "only a body",
    file: "skills/only-body/SKILL.md",
    content: "# Title\n\nThe first paragraph\nsays it.\n\nMore.\n",
    becomes: {
      name: "only-body",
      fields: { description: "The first paragraph says it.", described: false },
      complaints: [],
    },
  },
  {
    title: "only front matter",
    file: "skills/only-head/SKILL.md",
    content: "---\ndescription: All in the head\n---\n",
    becomes: { name: "only-head", fields: { description: "All in the head", bodyChars: 0 } },
  },
  {
    title: "front matter that is never closed",
    file: "skills/open/SKILL.md",
    content: "---\ndescription: Never closed\nDo it.\n",
    becomes: { name: "open", complaints: [[1, /not closed/]] },
  },
  {
    title: "an empty head",
    file: "skills/bare/SKILL.md",
    content: "---\n---\nJust do it.\n",
    becomes: { name: "bare", fields: { description: "Just do it." }, complaints: [] },
  },
  {
    title: "a bomb of aliases",
    ...skill("bomb", [...bomb, "description: boom"]),
    becomes: { name: "bomb", fields: { description: "Do it." }, complaints: [[2, /aliases|stand for/]] },
  },
  {
    title: "JavaScript front matter",
    file: "skills/js/SKILL.md",
    content: "---js\n{ description: process.exit(7) }\n---\nDo it.\n",
    becomes: { name: "js" },
  },
  {
    title: "a YAML tag",
    ...skill("tag", ["description: x", "metadata: !!js/function 'function () { process.exit(7) }'"]),
    becomes: { name: "tag", fields: { metadata: {} } },
  },
  {
    title: "booleans in every spelling",
    ...skill("booleans", ["description: x", "disable-model-invocation: YES", 'user-invocable: "off"']),
    becomes: { name: "booleans", fields: { modelInvocable: false, userInvocable: false }, complaints: [] },
  },
  {
    title: "a boolean that is none",
    ...skill("maybe", ["description: x", "disable-model-invocation: maybe"]),
    becomes: { name: "maybe", fields: { modelInvocable: true }, complaints: [[3, /true or false/]] },
  },
  {
    title: "a hint that YAML takes for a list",
    ...skill("hint", ["description: x", "argument-hint: [issue-number]"]),
    becomes: { name: "hint", fields: { argumentHint: "[issue-number]" }, complaints: [] },
  },
  {
    title: "a hint of two brackets",
    ...skill("hints", ["description: x", "argument-hint: [filename] [format]"]),
    becomes: { name: "hints", fields: { argumentHint: "[filename] [format]" } },
  },
  {
    title: "paths with a star in front",
    ...skill("star-paths", ["description: x", "paths: *.ts, src/**/*.{js,jsx}"]),
    becomes: { name: "star-paths", fields: { paths: ["*.ts", "src/**/*.{js,jsx}"] } },
  },
  {
    title: "an effort and a context that do not exist",
    ...skill("choices", ["description: x", "effort: hihg", "context: new"]),
    becomes: {
      name: "choices",
      complaints: [
        [3, /Did you mean high/],
        [4, /one of fork, inline/],
      ],
    },
  },
  {
    title: "an agent without a fork",
    ...skill("agent", ["description: x", "agent: Explore"]),
    becomes: { name: "agent", complaints: [[3, /context: fork/]] },
  },
  {
    title: "names of arguments as text, some unusable",
    ...skill("arguments", ["description: x", "arguments: issue ARGUMENTS 2nd branch"]),
    becomes: {
      name: "arguments",
      fields: { arguments: ["issue", "branch"] },
      complaints: [
        [3, /"ARGUMENTS" cannot be/],
        [3, /"2nd" cannot be/],
      ],
    },
  },
  {
    title: "a folded description",
    ...skill("folded", ["description: >", "  Several lines", "  that are one.", "model: inherit"]),
    becomes: { name: "folded", fields: { description: "Several lines that are one." }, complaints: [] },
  },
  {
    title: "a description that is a list",
    ...skill("listed", ["description:", "  - Does a.", "  - Does b."]),
    becomes: { name: "listed", fields: { description: "Does a. Does b." }, complaints: [] },
  },
  {
    title: "a key written twice",
    ...skill("twice", ["description: one", "description: two"]),
    becomes: { name: "twice" },
  },
  {
    title: "hooks that are no map",
    ...skill("hooks", ["description: x", "hooks: ./check.sh"]),
    becomes: { name: "hooks", complaints: [[3, /"hooks" must be a map/]] },
  },
  {
    title: "metadata that is no map",
    ...skill("metadata", ["description: x", "metadata: team-a"]),
    becomes: { name: "metadata", fields: { metadata: {} }, complaints: [[3, /must be a map/]] },
  },
  {
    title: "a directory with spaces",
    ...skill("My Skill", ["description: x"]),
    becomes: { name: "My-Skill", complaints: [[undefined, /cannot be typed/]] },
  },
  {
    title: "a file where a directory should be",
    file: "skills/flat.md",
    content: "---\ndescription: x\n---\nDo it.\n",
    becomes: { failed: /move this file to .*flat\/SKILL\.md/ },
  },
  {
    title: "a binary file",
    file: "skills/binary/SKILL.md",
    content: Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3),
    becomes: { failed: /binary/ },
  },
  {
    title: "a plain command",
    file: "commands/optimize.md",
    content: "Analyze this code for performance issues: $ARGUMENTS\n",
    becomes: {
      name: "optimize",
      fields: { description: "Analyze this code for performance issues: $ARGUMENTS" },
      complaints: [],
    },
  },
  {
    title: "a command with front matter",
    file: "commands/fix-issue.md",
    content:
      "---\nallowed-tools: Bash(gh issue view:*)\nargument-hint: <number>\ndescription: Fix an issue\n---\nFix $1.\n",
    becomes: {
      name: "fix-issue",
      fields: { description: "Fix an issue", allowedTools: ["Bash(gh issue view:*)"], argumentHint: "<number>" },
      complaints: [],
    },
  },
  {
    title: "a command in a folder",
    file: "commands/frontend/component.md",
    content: "---\ndescription: New component\n---\nMake $0.\n",
    becomes: { name: "frontend:component", fields: { alias: "component" }, complaints: [] },
  },
  {
    title: "a command two folders down",
    file: "commands/ops/db/backup.md",
    content: "Back it up.\n",
    becomes: { name: "ops:db:backup", fields: { alias: "backup" } },
  },
  {
    title: "a command that says its name and paths",
    file: "commands/named.md",
    content: "---\nname: other\npaths: src/**\ndescription: x\n---\nDo it.\n",
    becomes: {
      name: "named",
      fields: { label: "named", paths: [] },
      complaints: [
        [2, /no effect/],
        [3, /no effect/],
      ],
    },
  },
  {
    title: "a command that is a directory with a SKILL.md",
    file: "commands/grouped/SKILL.md",
    content: "---\ndescription: Grouped\n---\nDo it.\n",
    becomes: { name: "grouped", fields: { description: "Grouped" } },
  },
  {
    title: "a skill that is a link to a shared directory",
    file: "skills/shared",
    content: "",
    linkTo: "shared/skill",
    becomes: { name: "shared", fields: { description: "Shared by link" } },
  },
  {
    title: "a link in a circle",
    file: "skills/circle",
    content: "",
    linkTo: ".claude/skills/circle",
    becomes: { failed: /^$/ },
  },
  {
    title: "a SKILL.md that leads to something else",
    file: "skills/leads-out/SKILL.md",
    content: "",
    linkTo: "secret.env",
    becomes: { name: "leads-out", fields: { description: "" } },
  },
]

/** Files beside those of the corpus. */
export const besides: Readonly<Record<string, string>> = {
  "shared/skill/SKILL.md": "---\ndescription: Shared by link\n---\nDo it.\n",
  "secret.env": "PASSWORD=hunter2\n",
  ".claude/skills/README.md": "Not a skill.\n",
  ".claude/skills/synced/SKILL.md": "---\ndescription: reserved\n---\n",
  ".claude/skills/no-skill-here/notes.md": "Notes.\n",
}
