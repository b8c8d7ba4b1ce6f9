/** Owns which variables are harmless to show, to set for a command, and to assign in a line. */

/** Set by the shell or said by every system; all others may hold a secret, so a line that shows them is not read-only. */
const shown = new Set(
  (
    "HOME PWD OLDPWD USER LOGNAME SHELL PATH LANG LANGUAGE TERM COLORTERM TZ UID EUID PPID HOSTNAME HOSTTYPE OSTYPE MACHTYPE " +
    "RANDOM SECONDS LINENO SHLVL BASHPID BASH_VERSION FUNCNAME PIPESTATUS COLUMNS LINES EPOCHSECONDS REPLY OPTARG OPTIND TMPDIR " +
    "EDITOR VISUAL PAGER VIRTUAL_ENV CONDA_DEFAULT_ENV NODE_ENV CI NVM_DIR GOPATH GOROOT JAVA_HOME XDG_CONFIG_HOME XDG_DATA_HOME " +
    "XDG_CACHE_HOME XDG_RUNTIME_DIR"
  ).split(" "),
)
export const isShown = (name: string): boolean => shown.has(name) || /^(?:LC_[A-Z]+|[0-9@*#?$!_-]|[0-9]+)$/.test(name)

/** Always a number, whatever the environment says. */
export const isNumeric = (name: string): boolean =>
  /^(?:[#?$!]|RANDOM|SECONDS|LINENO|UID|EUID|PPID|BASHPID|EPOCHSECONDS)$/.test(name)

/** Neither a read-only program nor the loader nor the shell takes instructions from these. */
const harmless = new Set(
  (
    "LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES CI NODE_ENV RUST_BACKTRACE " +
    "GREP_COLOR GREP_COLORS LS_COLORS"
  ).split(" "),
)

/** What may be set for a command without making it another command. */
export const isHarmlessEnv = (name: string): boolean => harmless.has(name) || /^LC_[A-Z]+$/.test(name)

/** Languages, zones and terminals are looked up as files: one that says where is not harmless. */
export const isHarmlessValue = (value: string): boolean => !/^:?[/~]|\.\./.test(value)

/** Stripped before an allow rule is matched: flags of build tools that choose neither programs nor files to run. */
const plain = new Set(
  "DEBUG VERBOSE RUST_LOG GOOS GOARCH CGO_ENABLED PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE TEST_ENV APP_ENV".split(" "),
)
export const isSafeForAllow = (name: string): boolean => isHarmlessEnv(name) || plain.has(name)

/**
 * Names that steer the shell, the loader or a program when they were inherited (an assignment then changes the environment too).
 * By convention those are upper case; other upper-case names are a line's own.
 */
const steering =
  /^(?:PATH|IFS|ENV|HOME|PWD|OLDPWD|SHELL|SHELLOPTS|PS\d|MAGIC|TMP|TEMP|TMPDIR|UID|EUID|PPID|DISPLAY|USER|LOGNAME|TMOUT|TIMEFORMAT|DIRSTACK|GROUPS|OPT[A-Z]+|RANDOM|SECONDS|LINENO|REPLY|TERMINFO|TERMCAP|TEXTDOMAIN.*|TZDIR|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN|NIX_.*|BASH.*|LD_.*|DYLD_.*|GIT_.*|SSH_.*|GPG_.*|GNUPG.*|LESS.*|MAN.*|MOST.*|NODE_.*|NPM_.*|BUN_.*|DENO_.*|PYTHON.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|JAVA.*|JDK_.*|_JAVA.*|GO[A-Z].*|RUST.*|CARGO.*|GCC_.*|CC|CXX|MAKE.*|MALLOC.*|GLIBC.*|GCONV.*|LOC.*|NLS.*|LC_.*|LANG.*|POSIX.*|HIST.*|COMP_.*|COPROC.*|MAIL.*|PROMPT.*|FUNC.*|EXEC.*|GLOB.*|F?IGNORE.*|CD.*|XDG_.*|DBUS_.*|DOCKER.*|KUBE.*|AWS_.*|RIPGREP.*|GREP_.*|TREE_.*|JQ_.*|QUOTING.*|BLOCK.*|TIME_STYLE|DF_.*|DU_.*|LS_.*|SUDO_.*|.*PAGER|.*EDITOR|VISUAL|BROWSER|.*PROXY|.*OPTIONS|.*OPTS|.*_FLAGS|.*PATH|.*_HOME|.*RC)$/

/** Whether a line may assign it and stay read-only. */
export const isAssignable = (name: string): boolean => {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return false
  // Those are ours, around the line.
  if (name.startsWith("__")) return false
  if (/[a-z]/.test(name)) return !/^(?:histchars|auto_resume|.*_proxy|npm_.*)$/.test(name)
  return name !== "_" && !steering.test(name)
}

/** Whether a line may hand it on to what it starts and stay read-only. */
export const isExportable = (name: string): boolean => isHarmlessEnv(name) || (/[a-z]/.test(name) && isAssignable(name))
