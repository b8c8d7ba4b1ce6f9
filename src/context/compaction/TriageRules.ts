/**
 * Owns the table by which a whole piece of the conversation is sorted: who says it, by which tool, and what it looks like. The first rule
 * that fits decides, and its name is the reason.
 */
import type { LineReason } from "./LineRules.ts"
import type { Reading } from "./Reading.ts"
import * as Shell from "./ShellKind.ts"
import type { Category, Source } from "./Triage.ts"
import * as Wording from "./Wording.ts"

export interface ItemRule {
  readonly reason: string
  readonly category: Category
  readonly fits: (reading: Reading) => boolean
}

const trouble: ReadonlyArray<LineReason> = ["stack trace", "error", "exit code", "conflict"]
/** What a person would copy rather than reword. */
const facts: ReadonlyArray<LineReason> = [
  ...trouble,
  "place",
  "version",
  "environment variable",
  "id",
  "address",
  "status",
  "compiler output",
]
/** What a shell says that is needed again. */
const output: ReadonlyArray<LineReason> = [
  ...trouble,
  "failure wording",
  "warning",
  "test output",
  "compiler output",
  "difference",
  "version",
  "environment variable",
  "id",
  "status",
  "declaration",
]

type Fits = (reading: Reading) => boolean
const from =
  (...sources: ReadonlyArray<Source>): Fits =>
  ({ said }) =>
    sources.includes(said.source)
const tool =
  (pattern: RegExp): Fits =>
  ({ said }) =>
    said.tool !== undefined && pattern.test(said.tool)
const all =
  (...every: ReadonlyArray<Fits>): Fits =>
  (reading) =>
    every.every((fits) => fits(reading))
const any =
  (...some: ReadonlyArray<Fits>): Fits =>
  (reading) =>
    some.some((fits) => fits(reading))
const has =
  (...reasons: ReadonlyArray<LineReason>): Fits =>
  (reading) =>
    reading.has(...reasons)
const isShorterThan =
  (length: number): Fits =>
  ({ text }) =>
    text.trim().length < length

const verbatim = (reason: string, ...fits: ReadonlyArray<Fits>): ItemRule => rule("PRESERVE_VERBATIM", reason, fits)
const structured = (reason: string, ...fits: ReadonlyArray<Fits>): ItemRule => rule("PRESERVE_STRUCTURED", reason, fits)
const compress = (reason: string, ...fits: ReadonlyArray<Fits>): ItemRule => rule("COMPRESS_AGGRESSIVE", reason, fits)
const ephemeral = (reason: string, ...fits: ReadonlyArray<Fits>): ItemRule => rule("EPHEMERAL", reason, fits)
const rule = (category: Category, reason: string, fits: ReadonlyArray<Fits>): ItemRule => ({
  category,
  reason,
  fits: all(...fits),
})

// Tools by what they do, also those of servers: `mcp__tracker__list_issues`.
const planning = tool(
  /^(?:Todo\w*|Task(?:Create|Update|List|Get)?|ExitPlanMode|Agent|AskUserQuestion|SendMessage|TeamCreate)$/,
)
const changing = tool(
  /^(?:Edit|MultiEdit|Write|NotebookEdit|apply_patch|str_replace\w*)$|^mcp__.*(?:create|update|write|edit|set|send|comment)/i,
)
const acknowledging = tool(
  /^(?:Edit|MultiEdit|Write|NotebookEdit|Todo\w*|Task(?:Create|Update|Stop)|Kill\w+|EnterPlanMode|Enter\w+|apply_patch|Skill|Monitor|SendMessage)$/,
)
const listing = tool(/^(?:Glob|Grep|LS|ToolSearch|ListMcp\w*)$|^mcp__.*(?:list|search|find)/i)
const answering = tool(/^(?:AskUserQuestion|ExitPlanMode|TaskList|TaskGet|TodoRead)$/)
const shell = tool(/^(?:Bash|PowerShell|Shell|TaskOutput|BashOutput|\w*Output)$/)
const reading = tool(/^(?:Read|NotebookRead|ReadMcpResource)$/)
const web = tool(/^Web(?:Fetch|Search)$|fetch|browse/i)
const agent = tool(/^(?:Agent|Task)$/)

const kind =
  (...kinds: ReadonlyArray<Shell.Kind>): Fits =>
  ({ said }) =>
    kinds.includes(Shell.kindOf(said.command ?? ""))

/** A file that a shell shows. */
const shown: Fits = all(shell, kind("showing"))
const isDocument: Fits = (text) =>
  text.shaped("prose") >= 0.4 * text.plain.length || /^#{1,3} \p{L}/u.test(text.plain[0] ?? "")
const isChecklist: Fits = (text) => text.shaped("box") >= 2
const isList: Fits = (text) =>
  text.shaped("bullet", "box") >= 2 || /\(1\).{1,400}\(2\)/s.test(text.text.slice(0, 5_000))
/** What is wanted, told in bare words: `two columns, sortable, a print view`. */
const isKeywords: Fits = ({ text }) => /^\P{Lu}[^.!?;:\n]{2,60}(?:, [^.!?;:\n,]{2,40}){2,}$/u.test(text.trim())
const isTable: Fits = (text) => text.shaped("row") >= 3
const laysDown =
  (least: number): Fits =>
  (text) =>
    text.obligations() >= least
const says =
  (wording: (sentence: string) => boolean): Fits =>
  (text) =>
    text.says(wording)
const hasHeading: Fits = (text) => text.hasHeading
/** Points of which most lay something down. */
const isRuleList: Fits = (text) => {
  const points = text.plain.flatMap((line) => /^\s*(?:[-*•+]|\d{1,2}[.)])\s+(.+)/.exec(line.slice(0, 500))?.[1] ?? [])
  return (
    points.length >= 2 &&
    points.filter((one) => Wording.obliges(one) || Wording.wants(one)).length >= 0.5 * points.length
  )
}
const isScenario: Fits = (text) =>
  text.plain.some((line) =>
    /^\s*(?:Feature|Scenario(?: Outline)?|Funktionalität|Szenario|Fonctionnalité|Scénario|Característica|Escenario): /.test(
      line,
    ),
  )
/** Names, each with its kind: `- limit (integer, optional)`. */
const isFields: Fits = (text) =>
  text.plain.filter((line) =>
    /^\s*(?:[-*] )?[`"]?[\w.$-]{1,60}[`"]?\s*(?:\(|: |– |- |,)\s*[`"]?(?:string|integer|int|number|bool(?:ean)?|array|object|list|date|text|float|enum|required|optional|asc)\b/i.test(
      line.slice(0, 400),
    ),
  ).length >= 2
const isSchema: Fits = (text) => text.isSchema
/** Data of which the first line says what each column is. */
const isHeadedData: Fits = (text) =>
  /^(?:[\w "-]{1,40}[,;\t]){0,20}"?(?:type|typ|tipo|required|nullable|datatype|format)"?(?:[,;\t]|$)/i.test(
    text.plain[0] ?? "",
  )
/** Next to a hint where more can be read, an address is none of the work. */
const isOnlyHint: Fits = (text) => text.count("address") === text.lines.filter((line) => hint.test(line)).length
const hint =
  /\b(?:learn more|more (?:information|details|about)|see|docs?|documentation|visit|read|help|definitions|report)\b.{0,200}https?:/i
const loud: Fits = any(has(...trouble), (text) =>
  text.reasons.some((reason, at) => reason === "place" && isMarked(text.lines[at])),
)
const isMarked = (line: string | undefined) => line !== undefined && /:\d+:\d+|\(\d+,\d+\)/.test(line)

/** What happens to the session, told by the harness. */
const isNotice: Fits = ({ text }) =>
  /\b(?:(?:is|are|was|were|has|have)(?: \w+)? (?:been|running|waiting|working|moved|saved|started|stopped|finished|completed|loaded|connected|restored|resumed|compacted|switched|updated|ended|reloaded|killed|queued|ready|active|idle|modified|changed)|(?:re)?connected|resumed|finished|completed|started|switched to|compacted|restored|reloaded|hook|background|tool calls?|\d+ ?(?:s|sec|seconds|minutes|%))\b/i.test(
    text,
  )

/** Of what only lists, a complaint of the shell itself. */
const loudListing = (text: Reading): boolean =>
  /^(?:\w*sh|ls|find|grep|rg|cat|tree|du|wc|stat|git|fatal|error)(?:: |\[)/m.test(text.text.slice(0, 5_000)) ||
  text.has("conflict") ||
  // Hits in a log: what was looked for is the trouble itself.
  /^\[?\d{4}-\d\d-\d\d[T ].{0,80}\b(?:ERROR|FATAL|PANIC|CRITICAL)\b/m.test(text.text.slice(0, 5_000)) ||
  (/\b(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|Evicted|unhealthy|Error)\b|\bExited \([1-9]/.test(
    text.text.slice(0, 5_000),
  ) &&
    !/^\S+:\d+:/m.test(text.text.slice(0, 5_000)))

const countsTrouble = (text: Reading): boolean =>
  text.lines.some(
    (line) =>
      line.length < 1_000 && /\b[1-9]\d* (?:errors?|warnings?|problems?|failures?|failed)\b|^\s*warning: /i.test(line),
  )

/** In the order in which they are asked. */
export const itemRules: ReadonlyArray<ItemRule> = [
  // Calls.
  structured("a task, a plan or a question", from("tool_call"), planning),
  verbatim("a change", from("tool_call"), changing),
  verbatim("a call with settings", from("tool_call"), shell, has("environment variable")),
  ephemeral("a call", from("tool_call")),

  // Results of any tool.
  verbatim(
    "a failure",
    from("tool_result"),
    ({ said }) => said.isError === true,
    ({ text }) => text.trim() !== "",
  ),
  ephemeral("nothing said", from("tool_result"), ({ text }) =>
    /^\s*(?:\(no (?:output|content)\)|\(empty\))?\s*$/i.test(text),
  ),
  structured("an answer of a person, or the list of tasks", from("tool_result"), answering),
  ephemeral("an acknowledgement", from("tool_result"), acknowledging),
  ephemeral("a listing or raw hits", from("tool_result"), listing),

  // What a file says.
  structured("a schema", from("tool_result"), any(reading, shell, web), any(isSchema, isHeadedData)),
  structured("a list of tasks", from("tool_result"), any(reading, shell, web), isChecklist),
  verbatim("code", from("tool_result"), any(reading, shown), has("declaration"), (text) => !isDocument(text)),
  structured(
    "rules or decisions",
    from("tool_result"),
    any(reading, shown),
    any(laysDown(2), all(hasHeading, isList), isRuleList, isScenario, all(hasHeading, says(Wording.settles))),
  ),
  verbatim(
    "errors or settings in a file",
    from("tool_result"),
    any(reading, shown),
    has("stack trace", "error", "environment variable", "exit code", "conflict"),
    (text) => !isDocument(text),
  ),
  verbatim(
    "versions or addresses in a file",
    from("tool_result"),
    any(reading, shown),
    has("version", "address", "id", "declaration"),
    (text) => text.shaped("prose") < 0.3 * text.plain.length,
  ),
  structured("settings", from("tool_result"), any(reading, shown), (text) => text.mostly("setting", "bullet", "row")),
  verbatim(
    "code",
    from("tool_result"),
    any(reading, shown),
    (text) => text.mostly("code", "setting"),
    (text) => !isDocument(text),
  ),
  compress("a page", from("tool_result"), any(reading, shown)),

  // What a page of the web says.
  ephemeral("raw hits", from("tool_result"), web, (text) => text.mostly("result") || text.shaped("result") >= 3),
  ephemeral(
    "raw hits",
    from("tool_result"),
    tool(/^WebSearch$/),
    (text) => text.sentences.every((one) => !/[.!?。]$/.test(one)) || text.mostly("bullet"),
  ),
  structured(
    "fields or rules",
    from("tool_result"),
    web,
    any(isTable, isFields, isRuleList, isScenario, laysDown(1), all(hasHeading, isList)),
  ),
  verbatim(
    "facts of a page",
    from("tool_result"),
    web,
    has(...trouble, "version", "environment variable", "declaration"),
  ),
  compress("a page", from("tool_result"), web),

  // What a shell says.
  compress("a manual", from("tool_result"), shell, kind("manual")),
  ephemeral("a listing or raw hits", from("tool_result"), shell, kind("looking"), (text) => !loudListing(text)),
  verbatim("trouble in a listing", from("tool_result"), shell, kind("looking")),
  ephemeral(
    "progress or passing status",
    from("tool_result"),
    shell,
    kind("preparing"),
    (text) => !loud(text) && !text.has("failure wording"),
  ),
  ephemeral(
    "passing status",
    from("tool_result"),
    shell,
    kind("building"),
    (text) => !loud(text) && !countsTrouble(text),
  ),
  compress(
    "a page",
    from("tool_result"),
    shell,
    (text) =>
      text.plain.length >= 4 && text.shaped("prose") >= 0.6 * text.plain.length && !text.has(...trouble, "test output"),
  ),
  verbatim("facts in output", from("tool_result"), shell, has(...output)),
  verbatim(
    "a place or an address",
    from("tool_result"),
    shell,
    any(
      has("place"),
      all(has("address"), (text) => !isOnlyHint(text)),
    ),
  ),
  compress("talk", from("tool_result"), shell, (text) => text.plain.length >= 3 && text.mostly("prose")),
  ephemeral("passing status", from("tool_result"), shell),

  // What an agent or another tool came to.
  verbatim("facts in a report", from("tool_result"), has(...facts)),
  structured("findings", from("tool_result"), any(isList, hasHeading, isTable, laysDown(1), says(Wording.settles))),
  ephemeral("a listing", from("tool_result"), (text) => text.mostly("entry", "total")),
  ephemeral("an acknowledgement", from("tool_result"), (text) => !agent(text) && isShorterThan(80)(text)),
  compress("a report", from("tool_result")),

  // What the harness tells.
  verbatim(
    "the surroundings",
    from("system"),
    any(has(...facts), (text) => text.count("statement") >= 2),
  ),
  ephemeral("a reminder", from("system"), ({ text }) =>
    /\b(?:reminder|otherwise ignore|has(?:n't| not) been used|do(?:n't| not) mention this)\b/i.test(
      text.slice(0, 1_000),
    ),
  ),
  structured(
    "instructions or open points",
    from("system"),
    any(isList, hasHeading, laysDown(1), says(Wording.wants), says(Wording.settles)),
  ),
  ephemeral("a notice", from("system"), any(isShorterThan(60), all(isShorterThan(400), isNotice))),
  compress("talk", from("system")),

  // What a person says.
  verbatim("facts from a person", from("user"), has(...facts)),
  structured(
    "a task, a constraint or a decision",
    from("user"),
    any(
      isList,
      isTable,
      hasHeading,
      laysDown(1),
      says(Wording.wants),
      says(Wording.settles),
      says(Wording.enumerates),
      isKeywords,
    ),
  ),
  compress("talk", from("user")),

  // What the model says.
  verbatim("facts from the model", from("assistant"), has(...facts)),
  structured(
    "a plan or a decision",
    from("assistant"),
    any(
      isList,
      hasHeading,
      isTable,
      laysDown(2),
      says(Wording.settles),
      says(Wording.failed),
      says(Wording.enumerates),
    ),
  ),
  structured("constraints", from("assistant"), laysDown(1), isShorterThan(180)),
  compress("talk", from("assistant")),
]
