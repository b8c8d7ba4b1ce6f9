/** Owns the texts of the skills that come with the product. */

const customize = `Help with the files that extend this product. What is wanted: $ARGUMENTS

Look at what exists before writing anything: \`troupe skills list\`, \`troupe agents list\`, \`troupe hooks list\`, \`troupe config list\`
show what is in force and from which file; \`troupe skills validate\` and its siblings say what is wrong, with the line.

Where things go (a project's are for everybody who works on it, those in ~/.claude for one person everywhere):

| What | Project | Personal |
|---|---|---|
| Instructions | CLAUDE.md | ~/.claude/CLAUDE.md |
| Rules for some files | .claude/rules/*.md with \`paths:\` | ~/.claude/rules/*.md |
| Skill | .claude/skills/<name>/SKILL.md | ~/.claude/skills/<name>/SKILL.md |
| Slash command (a skill without a directory) | .claude/commands/<name>.md | ~/.claude/commands/<name>.md |
| Agent | .claude/agents/<name>.md | ~/.claude/agents/<name>.md |
| Hooks, permissions, environment | .claude/settings.json | ~/.claude/settings.json |

**Skill.** Front matter between two lines \`---\`, then the instructions. \`description\` says what it does and when to use it: it is all
the model sees beforehand, so put the words people will say into it. Others: \`argument-hint\`, \`arguments\`, \`allowed-tools\`
(\`Bash(git log *) Read\`), \`disable-model-invocation: true\` (only typed), \`user-invocable: false\` (only the model), \`context: fork\` with
\`agent\`, \`paths\`, \`model\`, \`effort\`, \`hooks\`. In the text, \\$ARGUMENTS, \\$0, \\$1 stand for what was typed; an exclamation mark right
before a command in backticks runs it and puts its output there. Keep it short; put long reference beside it, and name those files.

**Agent.** \`name\` and \`description\` are required, the body is its system prompt. \`tools\` limits what it may use; also \`model\`,
\`permissionMode\`, \`maxTurns\`, \`skills\`, \`hooks\`.

**Hook.** In settings: {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}]}}. It gets
JSON on stdin; exit code 0 goes on, 2 blocks and tells the model what it wrote to stderr. Frequent events: PreToolUse, PostToolUse,
UserPromptSubmit, Stop, SessionStart, Notification.

What in a project's files executes something (hooks, commands in skills, allowed-tools) is in force only once a person has agreed to it:
\`troupe config trust\`. After writing a file, validate it and say how to try it.`

const init = `Write a CLAUDE.md at the root of this repository for an agent that has never seen it. $ARGUMENTS

1. Look: the README, the manifest (package.json, pyproject.toml, go.mod, Makefile, …), the CI configuration, the layout of the source,
   an existing CLAUDE.md or AGENTS.md, and .cursor or .github instructions if there are any.
2. Find out by running them where that is safe: how to install, build, test (all of it, and one test), lint and format.
3. Write at most 60 lines: the commands; the structure in a few sentences, as far as it does not show from the file names; conventions
   that the code follows and a newcomer would break; traps. Leave out what any repository of this kind has, and what can be read in a
   second. Never invent: what you have not seen does not go in.
4. Improve an existing CLAUDE.md rather than replacing it, and say what you changed.`

export const texts = { customize, init }
