/** Owns running a shell command: its own process group, a time limit, bounded output, and the directory it leaves behind. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { HookEngine } from "../../hooks/HookEngine.ts"
import { Host } from "../../platform/Host.ts"
import { Process, type RunResult } from "../../platform/Process.ts"
import type { Ripgrep } from "../../platform/Ripgrep.ts"
import type { Sandbox } from "../../security/Sandbox.ts"
import * as Tasks from "../Tasks.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { meaningOfOne } from "./ExitCodes.ts"
import * as Shelter from "./Shelter.ts"
import { failure, type Services } from "./Source.ts"

const fields = {
  command: Schema.String.check(Schema.isNonEmpty()).annotate({ description: "The command line, run by bash" }),
  timeout: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
      description: "Milliseconds until it is ended (default 120000, at most 600000)",
    }),
  ),
  description: Schema.optionalKey(Schema.String.annotate({ description: "What it does, in five to ten words" })),
  run_in_background: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Return at once and let it go on; you are told when it ends" }),
  ),
}
const Input = Schema.Struct(fields)
/** Only where there is a sandbox to leave. */
const SandboxedInput = Schema.Struct({
  ...fields,
  dangerouslyDisableSandbox: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Run outside the sandbox; the user is asked. Only after it failed inside" }),
  ),
})
type Input = typeof SandboxedInput.Type

const Output = Schema.Struct({
  stdout: Schema.String,
  stderr: Schema.String,
  interrupted: Schema.Boolean,
  isImage: Schema.Boolean,
  exitCode: Schema.optionalKey(Schema.Finite),
  returnCodeInterpretation: Schema.optionalKey(Schema.String),
  persistedOutputPath: Schema.optionalKey(Schema.String),
  persistedOutputSize: Schema.optionalKey(Schema.Finite),
  backgroundTaskId: Schema.optionalKey(Schema.String),
  /** Where a background task's output goes. */
  rawOutputPath: Schema.optionalKey(Schema.String),
})
type Output = typeof Output.Type

/** Kept of the output; with the notes around it the answer stays under `maxResultChars`. */
const maxOutputBytes = 29_000
const maxResultChars = 30_000
/** Kept on disk of output that is longer. */
const maxSpillBytes = 64 * 1024 * 1024

const longestInBackground = 7_200_000

const description = `Runs a command in bash and returns what it prints.
- The directory carries over to the next call as long as it stays in the workspace; variables, functions and aliases do not. Prefer absolute paths to cd.
- stdin is empty and there is no terminal: pass flags instead of answering prompts, and avoid editors and pagers.
- Everything the command starts ends with it. It is stopped after its timeout.
- With run_in_background it goes on while you do something else, until it ends, TaskStop stops it, its timeout passes (only if given; at most ${longestInBackground} ms) or the session ends; do not add &. You are told when it ends. Its output goes to a file to Read; TaskOutput returns what is new.
- Do not sleep to wait: Monitor waits for a task, a line of its output or a file.
- Output over ${maxResultChars} characters is cut in the middle; the whole of it (up to 64 MB) is saved to a file that is named in the result.
- Use Read, Edit, Write, Glob and Grep rather than cat, sed, echo, find and grep. Quote paths with spaces. Join dependent commands with &&.`

/** What hooks left for commands comes first. The command may end with `exit`, so the directory is noted when the shell ends, whatever ends it. */
const wrapper = `readonly __command=$1 __cwd=$2 __before=$3; set --; trap 'builtin pwd >|"$__cwd" 2>/dev/null' EXIT; eval "$__before"; eval "$__command"`

const limits = Effect.map(Host, (host) => {
  const number = (name: string, otherwise: number) => {
    const value = Number(host.env(name))
    return Number.isFinite(value) && value > 0 ? value : otherwise
  }
  const most = number("BASH_MAX_TIMEOUT_MS", 600_000)
  return { most, usual: Math.min(most, number("BASH_DEFAULT_TIMEOUT_MS", 120_000)) }
})

const validate = Effect.fnUntraced(function* (input: Input) {
  const background = input.run_in_background === true
  if (background && !(yield* Tasks.allowed)) {
    return yield* failure("Background tasks are switched off (CLAUDE_CODE_DISABLE_BACKGROUND_TASKS). Run it without.")
  }
  const most = background ? longestInBackground : (yield* limits).most
  if (input.timeout !== undefined && input.timeout > most) {
    return yield* failure(`timeout is ${input.timeout} ms and may be at most ${most} ms.`)
  }
  if (input.command.includes("\0"))
    return yield* failure("The command contains a NUL character, which no shell can take.")
  yield* Shelter.plan(input)
  if (!background && isBareSleep(input.command)) {
    return yield* failure(
      `"${input.command.trim()}" only sleeps, so it was not run. To wait for a background task, a line of its output or a file, ` +
        "use Monitor; to wait for a command, start it with run_in_background: you are told when it ends.",
    )
  }
})

const units: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 }

/** Nothing but a sleep of two seconds or more; one among other commands is their business. */
const isBareSleep = (command: string): boolean => {
  const words = /^\s*sleep((?:\s+[\d.]+[smhd]?)+)\s*;?\s*$/.exec(command)?.[1]?.trim().split(/\s+/) ?? []
  const seconds = words.map((word) => Number.parseFloat(word) * (units[word.replaceAll(/[\d.]/g, "")] ?? 1))
  return seconds.reduce((sum, one) => sum + one, 0) >= 2
}

/** Nobody sits at its terminal. */
const quiet = { CLAUDECODE: "1", GIT_EDITOR: "true" }

const run = Effect.fnUntraced(function* (input: Input, call: Tool.ToolCall) {
  const workspace = yield* Workspace
  const paths = yield* Path.Path
  const fs = yield* FileSystem.FileSystem
  const processes = yield* Process
  const host = yield* Host
  const tasks = yield* Tasks.Tasks
  yield* validate(input)
  if (input.run_in_background === true) return yield* inBackground(input, call.toolUseId)
  const timeout = input.timeout ?? (yield* limits).usual
  const name = call.toolUseId.replaceAll(/[^\w-]/g, "_")
  // Output that cannot be saved is still shown in part, so a missing directory is no reason to fail.
  yield* Effect.ignore(fs.makeDirectory(workspace.spillDir, { recursive: true, mode: 0o700 }))
  // Not among our own files: those are out of sight in the sandbox.
  const own = yield* fs
    .makeTempDirectoryScoped({ directory: host.tmpDir, prefix: "troupe-bash-" })
    .pipe(Effect.mapError((error) => failure(`No temporary directory can be made: ${error.message}`)))
  const cwdFile = paths.join(own, "cwd")
  const start = yield* directory
  const spec = {
    command: "bash",
    args: ["-c", wrapper, "bash", input.command, cwdFile, (yield* HookEngine).shellPreamble()],
    cwd: start,
    env: { ...host.allEnv, PWD: start, ...quiet, ...tasks.mark() },
  }
  const ran = streamed(call, (onOutput) =>
    Effect.gen(function* () {
      const { command, notes } = yield* Shelter.started(input, spec, [own])
      const result = yield* processes
        .run({
          ...command,
          timeout,
          maxOutputBytes,
          maxSpillBytes,
          spillTo: paths.join(workspace.spillDir, `${name}.output.txt`),
          onOutput,
        })
        .pipe(Effect.mapError((error) => failure(error.message)))
      return { result, notes: yield* notes(result.stderr) }
    }).pipe(Effect.scoped),
  )
  const { notes, result } = yield* ran
  const moved = yield* follow(start, cwdFile)
  return yield* answer(input, timeout, result, moved === undefined ? notes : [...notes, moved])
}, Effect.scoped)

const inBackground = Effect.fnUntraced(function* (input: Input, toolUseId: string) {
  const tasks = yield* Tasks.Tasks
  const context = yield* Effect.context<Sandbox | Host | Workspace | Ripgrep>()
  const host = yield* Host
  const before = (yield* HookEngine).shellPreamble()
  const { command, description, timeout } = input
  const task = yield* tasks
    .start({
      type: "local_bash",
      command,
      description,
      toolUseId,
      cwd: yield* directory,
      env: { ...host.allEnv, ...quiet },
      timeout,
      within: (spec, scope) =>
        Shelter.started(input, before === "" ? spec : { ...spec, args: ["-c", `${before}\n${command}`] }, []).pipe(
          Effect.map((started) => started.command),
          Effect.provideContext(context),
          Scope.provide(scope),
        ),
    })
    .pipe(Effect.mapError((error) => failure(error.message)))
  const structured: Output = {
    stdout: "",
    stderr: "",
    interrupted: false,
    isImage: false,
    backgroundTaskId: task.id,
    rawOutputPath: task.outputFile,
  }
  return {
    content:
      `Command running in background with ID: ${task.id}. Its output goes to ${task.outputFile}\n` +
      "You are told when it ends. Until then go on; Read the file or use TaskOutput to look, Monitor to wait.",
    structured,
  }
})

/** For people: what it printed, errors last. */
const shown = ({ stdout, stderr, backgroundTaskId }: Output): string => {
  if (backgroundTaskId !== undefined) return `Running in the background (${backgroundTaskId})`
  return [stdout.trimEnd(), stderr.trimEnd()].filter((part) => part !== "").join("\n") || "(no output)"
}

/** Where the next command starts: the root again, if the current directory is gone. */
const directory = Effect.gen(function* () {
  const workspace = yield* Workspace
  const fs = yield* FileSystem.FileSystem
  const there = yield* fs.exists(workspace.cwd()).pipe(Effect.orElseSucceed(() => false))
  if (!there) yield* workspace.enter(workspace.root)
  return there ? workspace.cwd() : workspace.root
})

/** Takes the shell's last directory over; says so when it had to stay. */
const follow = Effect.fnUntraced(function* (start: string, cwdFile: string) {
  const workspace = yield* Workspace
  const fs = yield* FileSystem.FileSystem
  const noted = yield* fs.readFileString(cwdFile).pipe(Effect.orElseSucceed(() => ""))
  const last = noted.replace(/\n$/, "")
  if (last === "" || last === start || (yield* workspace.enter(last))) return undefined
  return `[${last} is outside the workspace; the next command starts in ${workspace.cwd()} again.]`
})

/** Shows output to people as it comes, a few times a second at most. */
const streamed = <A, E, R>(
  call: Tool.ToolCall,
  run: (onOutput: (output: { readonly text: string }) => void) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => {
  let waiting = ""
  const report = Effect.suspend(() => {
    const text = waiting
    waiting = ""
    return text === "" ? Effect.void : call.progress(text)
  })
  const often = Effect.forever(Effect.andThen(Effect.sleep("250 millis"), report))
  return Effect.scoped(
    Effect.andThen(
      Effect.forkScoped(often),
      run(({ text }) => {
        waiting = (waiting + text).slice(-4000)
      }),
    ),
  )
}

const spilled = ({ totalBytes, spillProblem }: RunResult, file: string): string =>
  spillProblem === undefined
    ? `[The whole output, ${totalBytes} bytes, is in ${file}]`
    : `[The output has ${totalBytes} bytes; only its beginning is in ${file}: ${spillProblem}]`

const answer = (
  input: Input,
  timeout: number,
  result: RunResult,
  more: ReadonlyArray<string>,
): Effect.Effect<Tool.ToolOutput<Output>, Tool.ToolFailure> => {
  const output = result.combined.replace(/^(?:[ \t]*\r?\n)+/, "").trimEnd()
  const meaning = result.exitCode === 1 && result.stderr === "" ? meaningOfOne(input.command) : undefined
  const notes = [
    ...(result.spilledTo === undefined ? [] : [spilled(result, result.spilledTo)]),
    ...(result.leftoversKilled ? ["[It left processes running in the background; they were ended.]"] : []),
    ...more,
  ]
  const structured: Output = {
    stdout: result.stdout,
    stderr: result.stderr,
    interrupted: result.timedOut,
    isImage: false,
    exitCode: result.exitCode,
    ...(meaning !== undefined && { returnCodeInterpretation: meaning }),
    ...(result.spilledTo !== undefined && {
      persistedOutputPath: result.spilledTo,
      persistedOutputSize: result.totalBytes,
    }),
  }
  const say = (first: string | undefined) =>
    [first, output, ...notes].filter((part) => part !== undefined && part !== "").join("\n")

  if (result.timedOut) {
    const message = say(`The command was ended after ${timeout / 1000} s, with everything it had started.`)
    return Effect.fail(new Tool.ToolFailure({ message, structured }))
  }
  if (result.exitCode !== 0 && meaning === undefined) {
    const why = result.signal === undefined ? "" : ` (ended by ${result.signal})`
    return Effect.fail(new Tool.ToolFailure({ message: say(`Exit code ${result.exitCode}${why}`), structured }))
  }
  const nothing = output === "" && meaning === undefined ? "(no output)" : undefined
  return Effect.succeed({
    content: say(meaning === undefined ? nothing : `(exit code 1: ${meaning})`),
    structured,
  })
}

const make = (input: Schema.Codec<Input, unknown>, sandboxed: boolean) =>
  Tool.make<Input, Services, Output>({
    name: "Bash",
    description,
    input,
    output: Output,
    cascades: true,
    maxResultChars,
    enabled: Effect.map(Shelter.isOffered, (offered) => offered === sandboxed),
    summary: ({ command }) => `Bash ${command.split("\n")[0] ?? ""}`,
    effects: (given) =>
      Effect.map(Shelter.standsForApproval(given), (isSafe) => ({ executes: given.command, sandboxed: isSafe })),
    validate,
    run,
    show: { result: (output) => shown(output) },
  })

/** What the call would touch is found out by the gate, from the command itself. */
export const Bash = make(Input, false)
/** The same where commands run in the sandbox. */
export const SandboxedBash = make(SandboxedInput, true)
