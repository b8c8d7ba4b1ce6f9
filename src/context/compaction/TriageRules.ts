/**
 * Owns the two tables of triage: which lines must survive as they are, and which rule a whole piece falls under. Every pattern looks at one
 * line, and takes time by its length only.
 */
import type { NotedFacts } from "../../protocol/Compaction.ts"
import type { Category, Said } from "./Triage.ts"

export interface LineRule {
  readonly reason: string
  readonly pattern: RegExp
}

export interface ItemRule {
  readonly reason: string
  readonly category: Category
  readonly fits: (said: Said) => boolean
}

const line = (reason: string, pattern: RegExp): LineRule => ({ reason, pattern })

/** In the order in which a line is asked; its name is the reason. */
export const lineRules: ReadonlyArray<LineRule> = [
  // Where something went wrong.
  line(
    "stack trace",
    /^\s*(?:at\s+\S.*[:(]\S*\d+\)?$|at async |File ".+", line \d+|from \S+:\d+:in |\S+\.go:\d+ \+0x|goroutine \d+|\.{3} \d+ more$)/,
  ),
  line(
    "stack trace",
    /^(?:Traceback \(most recent call last\)|Caused by:|Exception in thread|stack backtrace:|\s+\d+: +0x)/,
  ),
  line("stack trace", /\bat \S+ line \d+\b/),
  line(
    "error",
    /^\s*(?:\[?(?:ERROR|FATAL|SEVERE|CRITICAL|PANIC)\]?\b|(?:error|fatal|panic|warning|abort)(?:\[\w+\])?:|npm (?:ERR!|error)|E\s{2,}\S)/i,
  ),
  line("error", /\b(?:[A-Z]\w*)?(?:Error|Exception|Failure|Panic)\b(?::|\()/),
  line("error", /(?:: |- )(?:fatal )?(?:error|warning)(?::| [A-Z]{1,4}\d+| \[)/i),
  line(
    "error",
    /\b(?:ENOENT|EACCES|EPERM|ECONN\w+|EADDRINUSE|ETIMEDOUT|ENOTFOUND|EEXIST|ENOTDIR|EISDIR|ERR_\w+|SIG(?:KILL|SEGV|TERM|ABRT|INT))\b/,
  ),
  line(
    "error",
    /(?:command not found|[Nn]o such file or directory|[Pp]ermission denied|[Cc]annot (?:find|read|open|access|resolve|import|use)|[Ss]egmentation fault|core dumped|[Cc]onnection refused|undefined reference|[Uu]nresolved import|[Nn]ot a (?:git repository|directory)|is not (?:defined|a function|recognized|assignable)|syntax error|[Uu]nexpected (?:token|end|identifier)|already in use|timed out)/,
  ),
  line(
    "exit code",
    /\b(?:exit(?:ed)?|status|returned)\b[^.\n]{0,20}\b(?:code|status)?\s*[:=]?\s*-?[1-9]\d{0,2}\b|\bError \d+$/i,
  ),
  line("conflict", /^(?:CONFLICT\b|<{7} |>{7} |={7}$|Automatic merge failed)/),
  // What tests and compilers say.
  line(
    "test output",
    /^\s*(?:[✓✔✗✘×✖❯●○•]|(?:not )?ok \d+|--- (?:FAIL|PASS)|=== (?:RUN|FAIL)|FAIL(?:ED|URE)?\b|PASS(?:ED)?\b|\d+\) |# (?:tests|pass|fail|Subtest|duration))/,
  ),
  line(
    "test output",
    /\b(?:\d+ (?:passed|failed|passing|failing|pending|skipped|tests?|assertions?|errors?|warnings?|failures?)\b|Tests?:\s|Test (?:Suites|Files)|test result:|Ran \d+ tests?|AssertionError|assertion .*failed|BUILD (?:FAILED|SUCCESS))/i,
  ),
  line(
    "test output",
    /^\s*(?:expected|received|actual|left|right)\b\s*[:=]|^\s*[-+] (?:expected|actual|received)|^\s*(?:Expected|Received|Actual)\b/i,
  ),
  line("compiler output", /^\s*(?:-->|\|\s*\^|\^+|~+\^?~*|[\d ]+\|.*|=\s(?:note|help):)/),
  line(
    "place",
    /(?:^|[\s("'`[])(?:[A-Za-z]:\\|\.{0,2}\/)?[\w@.-]+(?:[/\\][\w@.+-]+)*\.[A-Za-z]\w{0,7}(?::\d+(?::\d+)?|\(\d+,\d+\))/,
  ),
  // What a program declares.
  line(
    "declaration",
    /^\s*(?:export\s+(?:default\s+)?|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|abstract\s+|async\s+|final\s+|declare\s+)*(?:function\b|class\b|interface\b|type\s+\w+\s*[=<]|enum\b|struct\b|trait\b|impl\b|fn\b|def\b|func\b|module\b|namespace\b)/,
  ),
  line("declaration", /^\s*(?:export\s+(?:const|let|var)\b|(?:public|private|protected|static)\s+[\w<>[\],.? ]+\()/),
  line("declaration", /^\s*(?:CREATE|ALTER)\s+(?:TABLE|INDEX|VIEW|TYPE|FUNCTION)\b/i),
  // What is a fact as it stands.
  line("version", /(?:^|[\s"'=@v(])v?\d+\.\d+\.\d+(?:[-+][\w.]+)?(?=$|[\s"',;)])|\bversion[:\s"]+v?\d+\.\d+/i),
  line("environment variable", /^\s*(?:\d+[:|\t→ ]+)?(?:export\s+|set\s+|-e\s+|ENV\s+)?[A-Z][A-Z0-9]*_?[A-Z0-9_]+=\S*/),
  line("environment variable", /(?:process\.env\.|os\.environ|getenv\(|\$\{?)[A-Z][A-Z0-9_]{2,}/),
  line(
    "id",
    /^commit [0-9a-f]{40}|\b[0-9a-f]{40}\b|^\[[\w/.-]+(?: \(root-commit\))? [0-9a-f]{7,12}\]|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/,
  ),
  line("address", /\bhttps?:\/\/[^\s)>\]"']+/),
  line("status", /^< ?HTTP\/[\d.]+ \d{3}|\bHTTP(?:\/[\d.]+)? [45]\d\d\b|\bstatus(?:Code)?[:= ]+[45]\d\d\b/i),
]

export const itemRules: ReadonlyArray<ItemRule> = []

/** What people's own words say that must outlive any summary. */
export const minedFacts = (_said: ReadonlyArray<string>): NotedFacts => ({
  acceptanceCriteria: [],
  decisions: [],
  failedApproaches: [],
  identifiers: [],
})
