/**
 * Owns which single lines must survive as they are. A rule sees one line and nothing around it, so that what was put shorter is found again;
 * its time grows with the length of the line only.
 */
export type LineReason =
  | "stack trace"
  | "error"
  | "failure wording"
  | "warning"
  | "exit code"
  | "conflict"
  | "test output"
  | "compiler output"
  | "difference"
  | "place"
  | "detail"
  | "declaration"
  | "member"
  | "version"
  | "environment variable"
  | "id"
  | "address"
  | "status"
  | "statement"
  | "edit"

export interface LineRule {
  readonly reason: LineReason
  readonly pattern: RegExp
}

const line = (reason: LineReason, pattern: RegExp): LineRule => ({ reason, pattern })

/** What a file reader puts before a line. */
export const lineNumber = /^\s*\d+(?:\t|→)/
const inFile = String.raw`^(?:\s*\d+(?:\t|→))?\s*`
const numbered = String.raw`^\s*\d+(?:\t|→)\s+`
const code = (pattern: string) => new RegExp(inFile + pattern)
const modifiers = String.raw`(?:(?:export|default|pub|public|private|protected|internal|static|abstract|async|final|declare|sealed|open|override|virtual|inline|extern|data|case|local|partial|readonly|unsafe)(?:\(\w+\))?\s+)*`

/** In the order in which a line is asked. */
export const lineRules: ReadonlyArray<LineRule> = [
  // Where something went wrong.
  line(
    "stack trace",
    /^[\w./]{1,200}\.(?:\(\*?\w+\)\.)?\w{1,80}\([^()]{0,200}\)$|^created by \S|^(?:PHP )?Stack trace:|^PHP +\d+\. /,
  ),
  line(
    "stack trace",
    /^\s*(?:at\s+\S.{0,300}[:(]\S{0,200}\d+\)?$|at \S.{0,300} in \S+:line \d+$|at (?:async |<?[\w$.]{1,200}>?(?: \[as [\w$.]+\])? \()|File "[^"]+", line \d+|from \S+:\d+:in |\S+\.go:\d+ \+0x|goroutine \d+|\.{3} \d+ more$|#\d+\s+(?:0x[0-9a-f]+ in |\S+\(\d+\): |\{main\}|\S+ \()|(?:==\d+==\s+)?(?:at|by) 0x[0-9A-F]+: )/,
  ),
  line(
    "stack trace",
    /^(?:Traceback \(most recent call last\)|Caused by: |Exception in thread |stack (?:backtrace|traceback):|\s+\d+: +0x|\s+\[cause\]: |\s+\w+\.<anonymous> \()|\bthread '[^']*' (?:\(\d+\) )?panicked at |^\*\* \(\w+/,
  ),
  line(
    "stack trace",
    /\b(?:at|on) \S+ line \d+\b|\bin \S+ on line \d+\b|^\s*\[\d+\] \S.{0,200} (?:at|@) \S|^\s*@ \S+ \S+:\d+$/,
  ),
  line(
    "error",
    /^\s*(?:[│!✗×>*] ?)?(?:\[?(?:error|fatal|severe|critical|panic|exception)\]:? |(?:\w+ )?(?:error|fatal|panic|abort|uncaught|exception)(?:\[\w+\])?: |(?:error|panic|fatal(?: error)?):?$|npm (?:ERR!|error) \S|E\s{2,}\S|PHP (?:Fatal|Parse|Warning)|Parse error\b|Error (?:in|at|from|response|while|loading|during|executing|occurred|running|reading|parsing|building|opening)\b|Execution halted|Unhandled exception|Uncaught |Failed asserting|Assertion (?:with|failed))/i,
  ),
  line(
    "error",
    /\b(?:ERROR|FATAL|SEVERE|CRITICAL|PANIC|EMERG)\b(?!\s*[=_])|\b(?:level|severity|lvl)["']?[=:]\s?"?(?:error|fatal|critical)\b|\bstatus=[1-9]|(?:^|\s)failed \(|\bExited \([1-9]/,
  ),
  line("error", /\b(?:[A-Z][\w.]{0,80})?(?:Error|Exception|Failure|Panic)\b(?:: |:$|\(| \[)|^\w+(?:Error|Exception)$/),
  line("error", /(?:: |- |\] |\d\s{1,4})(?:fatal )?(?:error|warning)(?:: | [A-Z]{1,4}\d+| \[|\s{2,}\S)/i),
  line("error", /^==\d+==\s?(?:ERROR|Invalid|Conditional)|^(?:WRITE|READ) of size|<== Memory access|^SUMMARY: /),
  line("warning", /^\s*(?:\[)?warning(?:\])?(?:\[\w+\])?:? ?(?:\s{2}|(?<=[:\]] ))|^WARNING:|\bWARN(?:ING)?\b:? /i),
  line(
    "error",
    /^\s*[!×⚠✗✘x] [\w@-]+(?:\/[\w-]+)?\([\w/-]+\): |^\S+: \*\*\* |^\S+: In (?:\w+ ){0,4}function |^[╷│] ?Error/i,
  ),
  line(
    "error",
    /\b(?:ENOENT|EACCES|EPERM|ECONN[A-Z]+|EADDRINUSE|ETIMEDOUT|ENOTFOUND|EEXIST|ENOTDIR|EISDIR|EPIPE|ENOSPC|EMFILE|ERR_[A-Z_]+|SIG(?:KILL|SEGV|TERM|ABRT|INT|BUS|PIPE)|OOMKilled|CrashLoopBackOff)\b/,
  ),
  line(
    "error",
    /"(?:error|errors|error_description|detail|message|code|reason)"\s*:\s*["{[]|[Ss]egmentation fault|core dumped/,
  ),
  line(
    "failure wording",
    /(?:command not found|[Nn]o such (?:file|table|host|module)|[Pp]ermission denied|[Cc]annot (?:find|read|open|access|resolve|import|use|connect|iterate|load)|[Cc]ould(?: not|n't) (?:find|read|open|resolve|connect|load|compile|apply|be)|[Cc]onnection (?:refused|reset)|undefined reference|[Uu]nresolved import|[Nn]ot a (?:git repository|directory)|is not (?:defined|set|a function|recognized|assignable|valid|allowed|possible)|is invalid|syntax error|[Uu]nexpected (?:token|end|identifier)|already in use|[Tt]imed out|does not (?:exist|match|apply)|did not match|not found\b|[Ff]ailed (?:to|for|with|because|on|at) |[Uu]ndefined (?:name|method|variable|symbol|identifier|function)|[Uu]nknown (?:option|command|column|flag|argument|host)|[Nn]o (?:matching|rule to|space left|route to|module named)|[Ii]ncompatible|[Mm]ismatch(?:ed)?\b|[Mm]issing (?:script|separator|module|required|argument)|[Vv]iolates |[Dd]enied\b|[Rr]efused\b|[Rr]ejected\b|[Aa]borted\b|[Dd]eadlock|[Kk]illed\b|[Oo]ut of memory|unbound variable|unterminated|[Aa]ccess denied|with overflow|out of (?:range|bounds|memory)|treated as errors)/,
  ),
  line(
    "failure wording",
    /\[FAIL(?:ED)?\]|\bFAILED\b|^\S[\w./-]*: (?:failed|invalid|missing|unknown|no |can't|unable|bad )/i,
  ),
  line(
    "exit code",
    /\bexit(?:ed|s)?(?: with)?(?: (?:non-zero|an?|code|status))*:? -?[1-9]\d{0,2}\b|\b(?:exit|return)[ _-]?(?:code|status|value)\b["']?[:= ]{1,3}(?:was |is |of )?-?[1-9]\d{0,2}\b|returned (?:a )?(?:non-zero|[1-9]\d{0,2} exit)|\bError \d+$|\bterminated by signal|\bkilled by signal/i,
  ),
  line(
    "conflict",
    /^(?:CONFLICT\b|[-+ ]{0,2}(?:<{7}|>{7}) |[-+ ]{0,2}={7}$|Automatic merge failed|You have unmerged|(?:U[UAD]?|AA|DD|AU|DU)\s\S|\s*(?:both (?:modified|added|deleted)|(?:added|deleted) by (?:us|them)): )/,
  ),
  // The same behind the bars of a tree, or a time.
  line("stack trace", /^[\s|+]{1,40}File "[^"]{1,300}", line \d+/),
  line("error", /^[\s|+-]{1,40}[A-Z]\w{0,80}(?:Error|Exception|Group): /),
  line("warning", /\b[A-Z]\w{0,80}Warning: /),
  line("detail", /^\[?\d{4}-\d\d-\d\d[T ].{0,80}\b(?:HINT|DETAIL|STATEMENT|CONTEXT|QUERY): /),
  // What tests and compilers say.
  line("test output", /^\s{0,8}\d+ - \S.{0,200} \((?:Timeout|Failed|Not Run|SEGFAULT|Exception)\)$/),
  line("compiler output", /^\s{0,12}\|\s{1,200}[-^~]{1,200}(?:\s|$)|^(?:help|note): \S/),
  line(
    "test output",
    /^\s*#\s+(?:Failed test|Looks like|Structures begin|\$(?:got|expected)|(?:got|expected|at)\b)|\bFailed \d+\/\d+|\bDubious, |^Test Summary|^\s+Failed tests?:|^\s*Did you mean|\bdid you mean\b|\bundefined (?:local |reference)|^\s*\d+ +\| +.{0,200}(?:<--|\^)|test returned \d|\b[Cc]an't (?:locate|open|call|use|find|exec|load|redeclare|convert)|\bfailed(?:--|[.:]?$)|Non-zero exit|Parse errors:/,
  ),
  line(
    "test output",
    /^\s*(?:[✗✘×✖❯●○•] |(?:not )?ok\s+(?:\d+|\S+\s)|--- (?:FAIL|PASS)|=== FAIL|FAIL(?:ED|URES?)?\b|\d+\) \S|[#ℹ] (?:tests|suites|pass|fail|cancelled|skipped|todo) \d|\d+ (?:pass|fail)$|PASS$|OK$|All tests |Result: (?:PASS|FAIL)|Files=\d|\((?:fail|pass)\) )/,
  ),
  line(
    "test output",
    /\b\d+ (?:passed|failed|passing|failing|pending|tests?|examples?|specs?|runs|assertions?|errors?|failures?|problems?|skipped|success(?:es)?|mismatch(?:es)?)\b(?=$|[\s,.;|)])|\bTests?:\s+\d|\bTests run: \d|\bTest (?:Suites|Files)\b|test result:|\bRan \d+ tests?|\bFailed: +\d|Passed! +-|assertion .{0,200}failed|BUILD FAIL|^FAILURES!|^OK \(\d/i,
  ),
  line(
    "test output",
    /^\s{0,40}(?:[-+>|]\s{0,10})?(?:expected|received|actual|left|right|got|want|wanted)\b(?: \S{1,20})?\s{0,10}[:=]|^\s{0,40}[-+] (?:expected|actual|received)|^\s{0,40}(?:Expected|Received|Actual|Failure\/Error)\b|\bgot:? .{1,200}\bwant(?:ed)?\b/i,
  ),
  line("test output", /^\s{2,8}\w+(?:::\w+)+(?:$| )|^\s*rspec \.|^> {2,}\S/),
  line(
    "compiler output",
    /^\s*(?:-->|={3,} .{1,120} ={3,}$|_{3,} .{1,120} _{3,}$|-{4} \S.{0,120} -{4}$|,-\[|╭─\[|[A-Z]{1,6}\d{3,5}:? (?:\[\*\] )?\S|\^-+ |=\s(?:note|help):|\d+:\d+\s+(?:error|warning)\s)/,
  ),
  line(
    "difference",
    /^(?:diff --|\d+(?:,\d+)?[acd]\d+(?:,\d+)?$|[<>] \S|@@|index [0-9a-f]+\.\.|--- \S|\+\+\+ \S|[-+]{1,2}(?![-+=]{3})(?! ?\[| *$)\S| [-+]\S|[-+] {1,12}["'\w[{(]|\s{2,12}[-+] ["'[{\d])/,
  ),
  line(
    "place",
    /(?:^|[\s("'`[>])(?:[A-Za-z]:\\|file:\/\/|[~.]{0,2}\/)?[\w@.-]+(?:[/\\][\w@.+-]+)*\.[A-Za-z]\w{0,7}(?::\d+(?::\d+)?\b|:\[\d+,\d+\]|\(\d+, ?\d+\)|::\w)/,
  ),
  line(
    "place",
    /(?:^|\s)[\w./-]+\.[A-Za-z]\w{0,7}:\(\.text|^(?:\/|[A-Z]:\\)[\w@./\\-]{1,300}\.\w{1,8}:?$|\bIn \S+ line \d+:|^\s*>\s*\d+ \||\b(?:line|Zeile|ligne|línea|linha) \d+ (?:of|in|von|de|di|em) [\w./\\-]+\.\w+/,
  ),
  line(
    "detail",
    /^\s+(?:code|path|errno|syscall|address|port|location|dest|hostname|operator|info|required|found|note|symbol|cause|reason|message|constraint|table)\s*[:=]\s*\S|^(?:DETAIL|HINT|LINE \d+|QUERY|CONTEXT):|^- \/\S+$|^< [\w-]*(?:request|trace|correlation)-id: /,
  ),
  // What a program declares.
  line("declaration", /^\s{0,12}(?:public|protected|private)\s[^;]{1,400};\s*$/),
  line("declaration", code(String.raw`package\s+[\w.]+;?\s*$`)),
  line(
    "declaration",
    code(
      `${modifiers}(?:(?:function\\*?|fn|fun|func|def|defp|sub|proc|macro_rules!)\\s+[\\w$.:?!~(]|(?:class|struct|interface|trait|enum|union|record|protocol|object|extension|actor|mixin|impl|namespace|module|defmodule|service|message|contract)\\b(?:<[^>]*>)?\\s+[\\w$.:&<]+(?:\\s*[({<:;=,]|\\s+(?:extends|implements|for|where|with|of|do|is)\\b|\\s*$))`,
    ),
  ),
  line(
    "declaration",
    code(
      `(?:@(?:spec|type|callback)\\s|defstruct\\b|(?:data|newtype|instance)\\s+[A-Z][\\w ]*(?:=|where)|[a-z][\\w']*\\s+::\\s+\\S|(?:resource|variable|output|provider|module|data)\\s+"[^"]+"|${modifiers}(?:const|var|let|val|static)\\s+[A-Z]\\w*(?:\\s*:\\s*[^=]{1,80}|\\s+\\w+)?\\s*=\\s|[A-Z][A-Z0-9_]{2,40}\\s+=\\s|(?:has|belongs)_\\w+ :|local\\s+function|(?:export\\s+|declare\\s+|pub\\s+)?type\\s+[\\w$]+(?:<[^>]*>)?\\s*(?:=|\\bstruct\\b|\\binterface\\b|\\bfunc\\b|\\{)|export\\s+(?:const|let|var|default)\\b|(?:const|let|var|val)\\s+[\\w$]+(?:\\s*:\\s*[^=]{1,80})?\\s*=\\s*(?:async\\b|function\\b|\\(|\\w+\\s*=>|fn\\b|struct\\b)|#define\\s+\\w|typedef\\b|\\(defn?-?\\s|attr_\\w+ :|rpc\\s+\\w+\\(|[\\w$]+\\s*<-\\s*function\\()`,
    ),
  ),
  line(
    "declaration",
    new RegExp(
      `${inFile}${modifiers}(?!(?:return|else|if|for|while|switch|catch|throw|new|await|delete|case|and|or|not|the|a|print|assert)\\b)(?:[A-Za-z_][\\w<>[\\],.?:]*[*&]*\\s+){0,4}[*&]*[\\w$#~]+\\([^()]{0,300}\\)(?:\\s*(?:const|noexcept|override|throws [\\w., ]+|:\\s*[\\w<>[\\]|., ?]+|->\\s*[\\w<>[\\]:&, ]+|\\([\\w, .*[\\]]+\\)|[\\w.*[\\]]+|=>?\\s\\S.{0,200}))?\\s*(?:[{;]|\\{.{0,300}\\})?$`,
    ),
  ),
  line(
    "declaration",
    new RegExp(
      `${inFile}(?!(?:return|else|throw|new|await|delete)\\b)(?:[A-Za-z_][\\w<>:]*[*&]*\\s+){1,4}[*&]*[\\w$]+\\([^()]{0,300}\\);$`,
    ),
  ),
  line(
    "declaration",
    /^(?:\s*\d+(?:\t|→))?\s*(?:CREATE|ALTER)\s+(?:UNIQUE\s+)?(?:TABLE|INDEX|VIEW|TYPE|FUNCTION|TRIGGER)\b/i,
  ),
  line(
    "member",
    new RegExp(
      `${numbered}(?:(?:readonly|public|private|protected|internal|static|final|val|var|let|const|pub|required|late|override)\\s+)*[\\w$#]+[?!]?\\s*:\\s*(?:[A-Z&'"\\[{(*]|string|number|boolean|bool|int|str|float|i\\d|u\\d|f\\d|list|dict|any|unknown|bytes|usize|[a-z]\\w*(?:\\[.{0,80}\\]|\\.\\w+)?\\s*(?:=|[,;]?$))[^{}]{0,200}$`,
    ),
  ),
  line(
    "member",
    new RegExp(
      `${numbered}(?:(?!(?:return|throw|break|delete|goto|import|using|use|package|yield|await|else|new)\\b)(?:(?:unsigned|signed|const|struct|enum|long)\\s+)*[\\w:<>,.]+\\s+[*&]*\\w+(?:\\[\\w*\\])?;|[a-z]\\w*\\s+[*\\[\\]]*(?:string|u?int\\d*|bool|float\\d+|byte|rune|error|any|map\\[\\S+|chan \\S+|(?:\\w+\\.)?[A-Z]\\w*)|[A-Z]\\w*\\s+[*\\[\\]]*[\\w.]+(?:\\[[\\w.]+\\]\\S*)?(?:\\s+\`[^\`]*\`)?|(?:public|private|protected|internal|static|final|readonly|mutable)\\s[\\w<>[\\],.?$ ]{1,120}(?:;|=.{1,200}|\\{ get.{0,40}))$`,
    ),
  ),
  // What is a fact as it stands.
  line(
    "version",
    /^(?!> ).*?(?:^|[\s"'=@v(:/^~])v?(?!\d+\.\d+\.\d+\.\d)\d{1,5}\.\d{1,5}\.\d{1,6}(?:[-+.][\w.+-]{1,60})?(?=$|[\s"',;:)\]|<])|\bversion["']?[:=\s"']{1,4}v?\d+\.\d+|\bgo\d+\.\d+/i,
  ),
  line(
    "version",
    /^(?:\s*\d+(?:\t|→))?\s*[│├└─*+ -]{0,40}(?:[\w@./+-]{1,80} ?(?:\(|v|[=><~!]=\s?|@)\s?\d+(?:\.\d+)+\S*|[\w@./+-]{1,80}\s+v?\d+\.\d+(?:\.\w+)*\)?|["']?[\w@./-]{1,80}["']?\s*[:=]\s*["'][\^~>=<]*\s?v?\d+(?:\.\d+)*[\w.-]*["'],?|(?:gem|implementation|api|id)\b.{1,100}["'][~>=<^ ]*\d+\.\d+.{0,40}|image:\s*\S+:\S+|FROM \S+|\w+ \d+(?:\.\d+)+)$|<version>\d/,
  ),
  line("version", /^\S+(?:==|@)\d+(?:\.\d+)+\S*$/),
  line(
    "version",
    /\b(?!(?:Section|Chapter|Figure|Table|Step|Part|Page|Kapitel|Abschnitt|About|Only|Over|Around)\b)(?:[A-Z][A-Za-z+#]{1,20}(?:\.js|JS)?|node|python|php|ruby|java) v?\d{1,3}\.\d{1,3}(?![\d%]|\s?(?:%|s\b|ms\b|[kMG]i?B\b|€|\$|Euro|hours|seconds|percent))/,
  ),
  line(
    "environment variable",
    /(?:^|[\s"'`(])[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){1,8}=\S|^(?:\s*\d+(?:\t|→))?\s*(?:export\s+|set\s+|-e\s+|ENV\s+)?[A-Z][A-Z0-9]{1,30}=\S/,
  ),
  line(
    "environment variable",
    /(?:process\.env\.|import\.meta\.env\.|os\.environ|getenv\(|ENV\[|\$env:|(?:^|\s|")\$\{?)[A-Z("'[][A-Z0-9_"'(]{2,}/,
  ),
  line("id", /\b(?:SHA(?:1|256|512)|MD5):\S{16,}|\b[0-9a-f]{2}(?::[0-9a-f]{2}){15,}/),
  line(
    "id",
    /\b(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,64}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/,
  ),
  line(
    "id",
    /\b[a-z]{2,10}_(?=[A-Za-z]{0,40}\d)(?=[a-z0-9]{0,40}[A-Z])[A-Za-z0-9]{5,60}\b|\b[a-z]{2,10}_(?=[a-z]{0,40}\d)[a-z0-9]{14,60}\b|\barn:aws:\S/,
  ),
  line(
    "address",
    /\b(?:https?|wss?|ssh|git|postgres(?:ql)?|mysql|redis|mongodb(?:\+srv)?|amqps?|s3|ftp|jdbc:\w+):\/\/[^\s)>\]"']+|\bgit@[\w.-]+:\S/,
  ),
  line("address", /\b(?:localhost|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}):\d{2,5}\b/),
  line(
    "status",
    /^< ?HTTP\/[\d.]+ \d{3}|^HTTP\/[\d.]+ \d{3}|\bHTTP(?:\/[\d.]+)? (?:status )?[45]\d\d\b|\bstatus(?: ?[Cc]ode)?["']?[:= ]{1,3}[45]\d\d\b|\berror: [45]\d\d\b/,
  ),
  line("statement", /^(?:- )?[A-Z][\w' -]{1,30}: (?:\/|~\/|[A-Z]:\\|v?\d|true$|false$|yes$|no$)\S*/i),
  line("edit", /^(?:\w+ )?\{.*"(?:old_string|new_string|new_source|edits|patch|content)":/),
]

/** Longer lines are data, not statements; a rule need not read megabytes. */
const longestLine = 2_000

/** Why a line must survive as it is. */
export const reasonOf = (text: string): LineReason | undefined =>
  text.length > longestLine || text.trim() === ""
    ? undefined
    : lineRules.find(({ pattern }) => pattern.test(text))?.reason
