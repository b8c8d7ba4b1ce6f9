/**
 * Owns what the help and the manual page say beside flags and commands: examples, exit codes, variables, files.
 *
 * Data without Effect; `Program` and `ManPage` lay it out.
 */

export interface Entry {
  readonly name: string
  readonly says: string
}

/** By command, as it is typed behind `troupe`; the empty name is the session itself. */
export const examples: Readonly<Record<string, ReadonlyArray<Entry>>> = {
  "": [
    { name: 'troupe "fix the failing test"', says: "work in this terminal" },
    { name: 'troupe -p "explain src/index.ts"', says: "print the answer and exit" },
    { name: 'git diff | troupe -p "review this change"', says: "stdin is added to the prompt" },
    { name: 'troupe -p "list the TODOs" --output-format json --max-budget-usd 0.50', says: "" },
    { name: 'troupe -p "run the tests" --allowedTools "Bash(npm test *)" Read', says: "" },
    { name: "troupe --continue", says: "go on with the latest session here" },
    { name: "troupe demo", says: "watch a session, no key needed" },
  ],
  config: [
    { name: "troupe config list", says: "the files that count" },
    { name: "troupe config explain permissions.allow", says: "a value, and where it comes from" },
  ],
  "config explain": [
    { name: "troupe config explain", says: "everything that is set" },
    { name: "troupe config explain model --json", says: "one key, for a program" },
  ],
  "config list": [{ name: "troupe config list --json", says: "for a program" }],
  "config trust": [
    { name: "troupe config trust", says: "look at what waits" },
    { name: "troupe config trust --yes", says: "put exactly that in force" },
  ],
  "config set": [
    { name: "troupe config set model opus", says: "for you, everywhere" },
    { name: "troupe config set permissions.defaultMode plan --scope project", says: "for everybody here" },
    { name: "troupe config set permissions.allow '[\"Read\"]' --scope local", says: "for you, here" },
  ],
  "config unset": [{ name: "troupe config unset model", says: "the default applies again" }],
  permissions: [
    {
      name: 'troupe permissions explain --tool Bash --input \'{"command":"git status"}\'',
      says: "why it may run, or not",
    },
  ],
  "permissions explain": [
    { name: 'troupe permissions explain --tool Bash --input \'{"command":"cat .env"}\'', says: "and what it touches" },
    { name: 'troupe permissions explain --tool Read --input \'{"file_path":"/etc/hosts"}\' --json', says: "" },
  ],
  skills: [
    { name: "troupe skills list", says: "what there is, and from where" },
    { name: 'troupe skills explain "write the release notes"', says: "which would be thought of" },
  ],
  "skills list": [{ name: "troupe skills list --json", says: "for a program" }],
  "skills show": [{ name: "troupe skills show deploy", says: "its fields and its text" }],
  "skills validate": [
    { name: "troupe skills validate", says: "all that count here" },
    { name: "troupe skills validate .claude/skills/deploy", says: "this one" },
  ],
  "skills explain": [{ name: 'troupe skills explain "deploy to staging"', says: "scores and reasons" }],
  memory: [
    { name: "troupe memory list", says: "what is remembered, and since when" },
    { name: "troupe memory show feedback_testing.md", says: "one of them" },
  ],
  "memory path": [{ name: 'ls "$(troupe memory path)"', says: "plain files, to read, change and delete" }],
  instructions: [{ name: "troupe instructions list", says: "what a session here would be told, and by which file" }],
  "instructions list": [{ name: "troupe instructions list --json", says: "for a program" }],
  hooks: [
    { name: "troupe hooks list", says: "all of them, and which wait for your agreement" },
    { name: "troupe hooks explain Stop", says: "what runs when an answer is done" },
  ],
  "hooks list": [{ name: "troupe hooks list --json", says: "for a program" }],
  "hooks explain": [
    {
      name: `troupe hooks explain PreToolUse --tool Bash --input '{"command":"rm x"}'`,
      says: "which would hear of this call, and why others would not",
    },
  ],
  agents: [
    { name: "troupe agents list", says: "all of them" },
    { name: "troupe agents validate .claude/agents", says: "what is wrong, and where" },
  ],
  "agents list": [{ name: "troupe agents list --json", says: "for a program: active, all, failed" }],
  "agents show": [{ name: "troupe agents show Explore", says: "and the words it is told" }],
  "agents validate": [{ name: "troupe agents validate .claude/agents/reviewer.md", says: "one file" }],
  teleport: [
    { name: "troupe teleport export --latest", says: "the latest session here, as a file" },
    { name: "troupe teleport import 5f0c6f0e.teleport", says: "go on with it in this directory" },
  ],
  "teleport export": [
    { name: "troupe teleport export --latest --output s.teleport --with-work-tree", says: "with its files" },
  ],
  "teleport import": [
    { name: "troupe teleport import s.teleport --with-work-tree --cwd copy", says: "and unpack them" },
    { name: "troupe teleport import s.teleport --session-id new", says: "as another session" },
  ],
  "teleport send": [{ name: "troupe teleport send <session> --to '<socket>#<token>'", says: "" }],
  "teleport receive": [{ name: "troupe teleport receive --cwd ~/project", says: "wait for a session, for there" }],
  replay: [
    { name: "troupe replay latest", says: "does this version do what was done then?" },
    { name: "troupe replay latest --edit 12=@other.txt", says: "what if record 12 had said this?" },
    { name: "troupe replay latest --fork-at 12 --model opus", says: "what would another model have done?" },
  ],
  "replay export": [{ name: "troupe replay export latest --output test/fixtures/bug", says: "a test of it" }],
  sessions: [
    { name: "troupe sessions list", says: "those of this directory" },
    { name: "troupe sessions search rate limit --all", says: "where was that said?" },
    { name: "troupe sessions export 5f0c -o review.html", says: "a page to show to others" },
  ],
  "sessions list": [
    { name: "troupe sessions list --all --tag release", says: "everywhere, by tag" },
    { name: "troupe sessions list --json", says: "for a program" },
  ],
  "sessions search": [{ name: "troupe sessions search flaky test", says: "messages with both words" }],
  "sessions show": [{ name: "troupe sessions show 5f0c", says: "the beginning of its id is enough" }],
  "sessions rename": [{ name: 'troupe sessions rename 5f0c "Release 2.1"', says: "" }],
  "sessions tag": [{ name: 'troupe sessions tag "Release 2.1" release done', says: "by its title" }],
  "sessions untag": [{ name: "troupe sessions untag 5f0c done", says: "" }],
  "sessions export": [
    { name: "troupe sessions export 5f0c > session.md", says: "" },
    { name: "troupe sessions export 5f0c --format html -o session.html", says: "stands alone, no scripts" },
  ],
  "sessions delete": [{ name: "troupe sessions delete 5f0c", says: "asks first" }],
  "sessions cleanup": [{ name: "troupe sessions cleanup --dry-run", says: "what would go" }],
  context: [{ name: "troupe context cache", says: "of the last session in this directory" }],
  "context cache": [{ name: "troupe context cache --json", says: "for a program: totals, agents, every request" }],
  rewind: [
    { name: "troupe rewind", says: "what the latest session here can go back to" },
    { name: "troupe rewind --to 3 --dry-run", says: "what would become of each file" },
    { name: "troupe rewind --to 3 --code", says: "files as they were before prompt 3" },
  ],
  model: [{ name: "troupe model serve demo.yaml", says: "play a playbook on a free port" }],
  "model serve": [{ name: "troupe model serve demo.yaml --port 8080", says: "on a port of your choice" }],
  demo: [{ name: "troupe demo", says: "finds and fixes a failing test, then shows the change" }],
  completion: [
    { name: 'eval "$(troupe completion bash)"', says: "in ~/.bashrc" },
    { name: "troupe completion zsh > ~/.zfunc/_troupe", says: "a directory of $fpath" },
    { name: "troupe completion fish > ~/.config/fish/completions/troupe.fish", says: "" },
  ],
}

/** When the manual was last read through. */
export const revised = "2026-11-18"

export const atThePrompt =
  "At the prompt, a line that ends in a backslash goes on in the next one, and pasted lines stay together. Up and Down recall what " +
  "was typed in this directory, Ctrl-R searches it. Ctrl-C interrupts the turn or clears the line, twice it leaves, as Ctrl-D does."

export const severalValues =
  "Flags that take several values (--allowedTools, --disallowedTools, --add-dir) take every word up to the next flag. Put the " +
  'prompt before them, or behind "--", or join the values with commas. A prompt that is also a command: troupe -- demo'

export const exitCodes: ReadonlyArray<Entry> = [
  { name: "0", says: "done" },
  { name: "1", says: "failed" },
  { name: "2", says: "wrong usage" },
  { name: "3", says: "a limit was reached" },
  { name: "4", says: "the model declined to answer" },
  { name: "129", says: "the terminal was closed (SIGHUP)" },
  { name: "130", says: "interrupted (Ctrl-C)" },
  { name: "141", says: "the reader of the output went away" },
  { name: "143", says: "terminated (SIGTERM)" },
]

export const environment: ReadonlyArray<Entry> = [
  { name: "ANTHROPIC_API_KEY", says: "the key for the model service" },
  { name: "ANTHROPIC_AUTH_TOKEN", says: "a bearer token, in the place of a key" },
  { name: "ANTHROPIC_BASE_URL", says: "another address that speaks the Messages API" },
  { name: "ANTHROPIC_MODEL", says: "the model when no flag and no setting names one" },
  { name: "ANTHROPIC_CUSTOM_HEADERS", says: "headers for every request, one a line" },
  { name: "API_TIMEOUT_MS", says: "how long one request may take" },
  { name: "CLAUDE_CODE_MAX_OUTPUT_TOKENS", says: "how long one reply may be" },
  { name: "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING", says: "1: no file is kept before it is changed" },
  {
    name: "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
    says: "1: with -p, too, files are kept before they are changed",
  },
  { name: "CLAUDE_CODE_SKIP_PROMPT_HISTORY", says: "not empty: what is typed is not kept for the next session" },
  { name: "CLAUDE_CONFIG_DIR", says: "settings and sessions are here, and not in ~/.claude" },
  { name: "NO_COLOR", says: "not empty: no colours" },
  { name: "FORCE_COLOR", says: "not empty and not 0: colours also where no terminal reads them" },
  { name: "TERM", says: "dumb: no colours, and no line is drawn twice" },
]

export const files: ReadonlyArray<Entry> = [
  { name: "~/.claude/settings.json", says: "your settings" },
  { name: ".claude/settings.json", says: "the settings of a project, for everybody who works on it" },
  { name: ".claude/settings.local.json", says: "your settings for a project" },
  { name: "~/.claude/history.jsonl", says: "what was typed at the prompt" },
  { name: "~/.claude/file-history/", says: "what files held before a session changed them" },
  { name: "~/.claude/projects/", says: "transcripts, by project" },
  { name: "~/.claude/troupe/sessions/", says: "journals: everything that happened, one directory a session" },
  { name: "~/.claude/troupe/debug/", says: "the logs of --debug; latest is the newest" },
]

/** Lines of `width` columns at most. */
export const wrap = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}

const column = 48

/** The examples of a command, as its help ends with them. */
export const exampleLines = (command: string, width: number): ReadonlyArray<string> =>
  (examples[command] ?? []).flatMap(({ name, says }) => {
    const beside = `  ${name.padEnd(column)} ${says}`.trimEnd()
    if (beside.length <= width) return [beside]
    return says === "" ? [`  ${name}`] : [`  ${name}`, `      ${says}`]
  })

/** What stands below the flags in `troupe --help`. */
export const below = (width: number): string => {
  const middle = Math.ceil(exitCodes.length / 2)
  const code = (entry: Entry | undefined) => (entry === undefined ? "" : `${entry.name.padStart(4)}  ${entry.says}`)
  const codes =
    width < 74
      ? exitCodes.map(code)
      : exitCodes.slice(0, middle).map((left, i) => `${code(left).padEnd(36)}${code(exitCodes[middle + i])}`.trimEnd())
  const names = environment.slice(0, 4).map(({ name }) => name)
  return [
    "",
    "Examples:",
    ...exampleLines("", width),
    "",
    ...wrap(severalValues, width),
    "",
    "Exit codes:",
    ...codes,
    "",
    ...wrap(`Environment: ${[...names, "CLAUDE_CONFIG_DIR", "NO_COLOR"].join(", ")}. All of them: man troupe`, width),
    "",
  ].join("\n")
}
