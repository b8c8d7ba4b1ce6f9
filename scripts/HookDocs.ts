/** Owns the text of `docs/hooks.md`: the table of `src/hooks/HookEvents.ts` in words. */
import { type EventSpec, type Kind, kinds, pendingKinds, usualSeconds } from "../src/hooks/HookEvent.ts"
import { eventNames, specOf } from "../src/hooks/HookEvents.ts"

const intro = `# Hooks

<!-- Made by \`npm run docs\` from src/hooks/HookEvents.ts; a test compares the two. -->

A hook runs at one of ${eventNames.length} events of a session. Hooks stand under \`hooks\` in any settings file, in the front matter of agents and
skills, and in plugins:

\`\`\`json
{
  "hooks": {
    "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "if": "Bash(rm *)", "command": "./guard.sh" }] }]
  }
}
\`\`\`

\`troupe hooks list\` shows those there are, \`troupe hooks explain PreToolUse --tool Bash --input '{"command":"rm x"}'\` which would run and why
others would not. A folder's own hooks run only once somebody has agreed to them (\`troupe config trust\`).

## What a hook is told and may answer

- **Matcher**: empty or \`*\` means every occurrence; letters, digits, \`_\`, \`-\`, spaces, \`,\` and \`|\` make a list of exact names; anything
  else is a regular expression that may match anywhere. \`if\` is one permission rule, for events about a tool.
- **Input** comes as JSON on stdin (or as the body of the request): \`session_id\`, \`prompt_id\`, \`transcript_path\`, \`cwd\`, \`hook_event_name\`, in
  subagents \`agent_id\` and \`agent_type\`, and the fields below.
- **Exit codes** of a command: 0 decides nothing, 2 is said below, any other is an error that stops nothing. Output that begins with \`{\` is read as
  JSON whatever the code is.
- **JSON for every event**: \`continue: false\` with \`stopReason\`, \`systemMessage\`, \`terminalSequence\`; \`decision: "block"\` with \`reason\` where it is
  named below; and \`hookSpecificOutput\` with \`hookEventName\` and the fields below.
- **All that match run at the same time**, the same one only once. Where they disagree, \`deny\` comes before \`defer\`, \`ask\` and \`allow\`; of
  several \`updatedInput\` the highest counts: managed, the embedding program, flags, user, project, local, plugin, agent, skill.
- **Time**: ${times()}; \`timeout\` (seconds) changes it. Who gives no answer in time decides nothing, unless it says otherwise below.
- More than 10,000 characters for the model go to a file, with a preview.

## The events
`

function times(): string {
  const groups = new Map<number, Array<Kind>>()
  for (const kind of kinds) groups.set(usualSeconds[kind], [...(groups.get(usualSeconds[kind]) ?? []), kind])
  return [...groups].map(([seconds, names]) => `${seconds} s for ${names.join(", ")}`).join("; ")
}

const code = (names: ReadonlyArray<string>): string => names.map((name) => `\`${name}\``).join(", ")

const handlers = (all: ReadonlyArray<Kind>): string =>
  all
    .map((kind) => `\`${kind}\`${pendingKinds[kind] === undefined ? "" : ` (pending: ${pendingKinds[kind]})`}`)
    .join(", ")

const guards = { functions: "a function that gives no answer in time blocks", all: "no answer in time blocks" } as const

const section = (name: string, spec: EventSpec): string => {
  const { block, carries, matcher, outputs } = spec
  const rows = [
    `Runs ${spec.when}.${spec.pending === undefined ? "" : ` **Pending: ${spec.pending}.**`}`,
    "",
    matcher === undefined
      ? "- Matcher: none"
      : `- Matcher: \`${matcher.field}\`, ${matcher.what}${matcher.values === undefined ? "" : ` (${code(matcher.values)})`}`,
    `- Input: ${code([...Object.keys(spec.input), ...carries]) || "nothing of its own"}`,
    `- Handlers: ${handlers(spec.kinds)}${spec.seconds === undefined ? "" : `; ${spec.seconds} s`}${spec.background === true ? "; nobody waits for them" : ""}`,
    `- Exit code 2: ${spec.exit2Means}`,
    ...(block === undefined ? [] : [`- \`decision: "block"\`: ${block}`]),
    ...Object.entries(outputs).map(([field, means]) => `- \`${field}\`: ${means}`),
    ...(spec.stdout === "context" ? ["- Plain text on stdout is told to the model"] : []),
    ...(spec.continues ? [] : ["- `continue: false` means nothing"]),
    ...(spec.systemMessage === "person"
      ? []
      : [`- \`systemMessage\` is for ${spec.systemMessage === "model" ? "the model" : "nobody"}`]),
    ...(spec.notOk === "nothing" ? [] : [`- \`ok: false\` of a model: ${notOk(spec)}`]),
    ...(spec.timeoutBlocks === undefined ? [] : [`- ${guards[spec.timeoutBlocks]}`]),
    ...(spec.envFile === true ? ["- Variables written to `CLAUDE_ENV_FILE` are set for later commands"] : []),
  ]
  return `### ${name}\n\n${rows.join("\n")}\n`
}

const notOk = ({ exit2, notOk: effect }: EventSpec): string =>
  effect === "stop"
    ? "ends the turn, or with `continueOnBlock` blocks"
    : exit2 === "blocks"
      ? "blocks"
      : "is told to the model"

export const render = (): string => `${intro}\n${eventNames.map((name) => section(name, specOf(name))).join("\n")}`
