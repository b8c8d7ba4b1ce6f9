/**
 * Owns `troupe demo`: a real session in a throw-away git workspace with a failing test. Tools, files, processes, HTTP and
 * journal are real; only the model is scripted, and the demo says so.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import * as Terminal from "../protocol/Terminal.ts"
import * as Coding from "../tools/builtin/Coding.ts"
import type { Common } from "./SessionArgs.ts"
import * as Display from "./Display.ts"
import type { Opener } from "./OpenSession.ts"
import { demoPlaybook } from "./PackageRoot.ts"
import * as Screen from "./Screen.ts"
import { signalCodes, type Stdio } from "./Stdio.ts"
import { diffLines } from "./ToolView.ts"

export interface Stage {
  readonly url: string
  readonly workspace: Readonly<Record<string, string>>
}

export interface DemoDoor<E1, E2> {
  readonly stdio: Stdio
  /** Serves a playbook on loopback; `workspace` are the files it was written for. */
  readonly serve: (playbook: string) => Effect.Effect<Stage, E1, Scope.Scope>
  /** Sessions in a directory with these variables on top of the environment; `undefined` removes one. */
  readonly agentsAt: (
    cwd: string,
    env: Readonly<Record<string, string | undefined>>,
  ) => Effect.Effect<Opener, E2, Scope.Scope>
}

export class DemoFailed extends Schema.TaggedError<DemoFailed>()("DemoFailed", {
  message: Schema.String,
}) {}

export const prompt = "The test in this directory fails. Find out why, fix it, and show that it passes."

const run = promisify(execFile)

const attempt = <A>(what: string, action: () => Promise<A>) =>
  Effect.tryPromise({
    try: action,
    catch: (error) =>
      new DemoFailed({ message: `The demo cannot ${what}: ${error instanceof Error ? error.message : String(error)}` }),
  })

/** Nothing of the person's own git configuration takes part: no hooks, no signing, no templates. */
const gitSettings = [
  "user.name=demo",
  "user.email=demo@localhost",
  "commit.gpgsign=false",
  "core.hooksPath=/dev/null",
  "init.defaultBranch=main",
].flatMap((setting) => ["-c", setting])

/** The output; `undefined` where there is no git, which the demo can do without. */
const git = (cwd: string, ...words: ReadonlyArray<string>) => {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" }
  return Effect.tryPromise(() => run("git", [...gitSettings, ...words], { cwd, env })).pipe(
    Effect.map(({ stdout }): string | undefined => stdout),
    Effect.orElseSucceed(() => undefined),
  )
}

/** `workspace` goes when the demo ends; `config` stays, because the transcript is in it. */
const makePlace = Effect.fnUntraced(function* (files: Stage["workspace"]) {
  const root = yield* attempt("make a directory", async () => realpath(await mkdtemp(join(tmpdir(), "troupe-demo-"))))
  const place = { root, workspace: join(root, "workspace"), config: join(root, "config") }
  yield* Effect.addFinalizer(() =>
    Effect.ignore(attempt("tidy up", () => rm(place.workspace, { recursive: true, force: true }))),
  )
  yield* attempt("fill its workspace", async () => {
    await mkdir(place.workspace)
    await mkdir(place.config)
    for (const [name, text] of Object.entries(files)) await writeFile(join(place.workspace, name), text)
  })
  yield* git(place.workspace, "init", "--quiet", "--template=")
  yield* git(place.workspace, "add", ".")
  yield* git(place.workspace, "commit", "--quiet", "--message", "The state before the demo")
  return place
})

/** Runs the demo and answers the exit code. */
export const runDemo = <E1, E2>(door: DemoDoor<E1, E2>, flags: Pick<Common, "color">) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { stdio } = door
      const stage = yield* door.serve(demoPlaybook())
      const place = yield* makePlace(stage.workspace)
      const look = { color: flags.color, live: stdio.outputIsTerminal, columns: stdio.columns, cwd: place.workspace }
      const display = yield* Display.make(Screen.make(look), stdio.screen)
      yield* display.lines([
        {
          tone: "warning",
          text: "This is a demonstration: the model is scripted. It plays a playbook over HTTP on this machine.",
        },
        { tone: "quiet", text: "Everything else is real: the session, its tools, the files, the test, the journal." },
        { tone: "quiet", text: `workspace  ${place.workspace}` },
        { tone: "quiet", text: `model      ${stage.url} (scripted)` },
        { tone: "normal", text: "" },
        { tone: "normal", text: `› ${prompt}` },
        { tone: "normal", text: "" },
      ])
      const agents = yield* door.agentsAt(place.workspace, {
        ANTHROPIC_BASE_URL: stage.url,
        ANTHROPIC_API_KEY: "scripted",
        ANTHROPIC_AUTH_TOKEN: undefined,
        ANTHROPIC_MODEL: undefined,
        ANTHROPIC_CUSTOM_HEADERS: undefined,
        CLAUDE_CONFIG_DIR: place.config,
      })
      const agent = yield* agents.open({
        cwd: place.workspace,
        model: "sonnet",
        permissionMode: "bypassPermissions",
        tools: Coding.coding,
      })
      const stop = Effect.flatMap(stdio.signal, (signal) =>
        Effect.andThen(
          agent.interrupt(),
          Effect.flatMap(stdio.signal, () => stdio.quit(signalCodes[signal])),
        ),
      )
      yield* Effect.forkScoped(stop)
      let exitCode = 1
      yield* display.spinning(
        Stream.runForEach(agent.prompt(prompt), (event) => {
          if (event._tag === "TurnEnded") exitCode = Terminal.exitCode(event.terminal)
          return display.show(event)
        }),
      )
      const diff = yield* git(place.workspace, "diff", "--no-color", "--no-ext-diff")
      yield* display.lines([
        { tone: "normal", text: "" },
        ...(diff === undefined || diff === "" ? [] : diffLines(diff)),
        { tone: "normal", text: "" },
        {
          tone: "quiet",
          text: "cost       what a real model of that name would have charged; this one charges nothing",
        },
        { tone: "quiet", text: `transcript ${agent.transcriptPath}` },
        { tone: "quiet", text: `journal    ${agent.journalPath}` },
        { tone: "quiet", text: `The workspace is removed; these two stay. To remove them: rm -r ${place.root}` },
        { tone: "normal", text: "" },
        { tone: "normal", text: "With a real model:" },
        { tone: "normal", text: "  export ANTHROPIC_API_KEY=…" },
        { tone: "normal", text: '  troupe "fix the failing test"' },
      ])
      return exitCode
    }),
  )
