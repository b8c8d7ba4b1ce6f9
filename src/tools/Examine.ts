/**
 * Owns what a call would do, found out before anybody decides: its tool, its arguments, and everything it would touch, by name and by
 * the place the name leads to. Nothing runs here.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { Git } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import type { Ripgrep } from "../platform/Ripgrep.ts"
import type { Ask } from "../permissions/Permissions.ts"
import type { Analysis } from "../policy/Bash.ts"
import * as GitConfig from "../policy/bash/GitConfig.ts"
import type { Call as PolicyCall, PathTouch } from "../policy/Call.ts"
import type { Touch } from "../policy/Effects.ts"
import * as PathName from "../security/PathName.ts"
import * as Expansion from "./Expansion.ts"
import * as SearchPath from "./SearchPath.ts"
import * as ShellAnalysis from "./ShellAnalysis.ts"
import type { Effects, Invocation, Tool } from "./Tool.ts"
import { ToolCatalog } from "./ToolCatalog.ts"
import { Workspace } from "./Workspace.ts"

/** A call as the model made it. */
export interface Call {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** The arguments as they arrived, when they are not JSON. Nobody guesses what was meant. */
  readonly malformedInput?: string | undefined
}

/** A call that may be tried, with what it would do. */
export interface Ready {
  readonly _tag: "Ready"
  readonly call: Call
  readonly tool: Tool<never>
  readonly invocation: Invocation<never>
  readonly ask: Ask
  /** How many calls had changed something when this was found out. */
  readonly asOf: number
}

/** A call that cannot be tried, and why, in words for the model. */
export interface Rejected {
  readonly _tag: "Rejected"
  readonly call: Call
  readonly why: string
}

export type Prepared = Ready | Rejected

/** `asOf` counts the calls that changed something so far. */
export const make = Effect.gen(function* () {
  const catalog = yield* ToolCatalog
  const workspace = yield* Workspace
  const { home } = yield* Host
  const git = yield* Git
  const disk = yield* Effect.context<FileSystem.FileSystem | Ripgrep>()

  const asFound = yield* SearchPath.make

  const analyse = Effect.fnUntraced(function* (command: string) {
    const look = yield* ShellAnalysis.analyser
    const place = { cwd: workspace.cwd(), home }
    const seen = look(command, place)
    // Looking at the repository costs something, so only for those who need it.
    if (!seen.commands.some((one) => one.needsCleanGit === true)) return yield* asFound(seen)
    const own = yield* git.own(place.cwd)
    const clean = own !== undefined && !own.more && own.texts.every(GitConfig.isClean)
    return yield* asFound(clean ? look(command, { ...place, cleanGit: true }) : seen)
  })

  const locate = Effect.fnUntraced(function* (touch: Extract<Touch, { readonly path: string }>) {
    const { path, pattern } = touch
    const kind = touch._tag === "Reads" ? "read" : "write"
    // A pattern is judged by the directory that it starts in.
    const at = pattern === true ? path.slice(0, path.slice(0, path.search(/[*?[\\]/)).lastIndexOf("/") + 1) : path
    const real = yield* workspace.real(at)
    const tracked = touch._tag === "Reads" && touch.tracked === true
    // Below /proc every process sees something else, so what we find there is not what the command will.
    const isCertain = tracked || ((yield* workspace.contains(at)) && PathName.problemOfPlace(path) === undefined)
    const found: PathTouch = {
      path,
      real: pattern === true ? path : real,
      kind,
      outside: !isCertain,
      // By the name it was given and by the place it leads to: a link must not make a guarded file look harmless.
      protected: kind === "write" && (workspace.isSensitive(path) || workspace.isSensitive(real)),
      ...(pattern === true && { pattern }),
      ...(touch._tag === "Reads" && touch.possible === true && { possible: true }),
    }
    return { touch: found, tracked, names: touch._tag === "Writes" ? touch.names : undefined }
  })

  /**
   * A pattern stands for the files it matches now, each at the place it leads to. One that nobody can take apart may match anything,
   * so it counts as leading out.
   */
  const expanded = Effect.fnUntraced(function* ({ names, touch, tracked }: Effect.Success<ReturnType<typeof locate>>) {
    if (touch.pattern !== true) return touch
    const files = tracked
      ? yield* trackedBelow(touch.path.slice(0, -2))
      : yield* Effect.provideContext(Expansion.expand(touch.path, names), disk)
    if (files === undefined) return { ...touch, outside: true }
    // Of a link git has only the text.
    if (tracked) return { ...touch, files }
    if (touch.path.endsWith("/**")) {
      // Searches follow no link but the one they were given.
      const top = touch.path.slice(0, -3)
      const place = yield* workspace.real(top)
      return {
        ...touch,
        files: place === top ? files : [...files, ...files.map((file) => place + file.slice(top.length))],
      }
    }
    if (files.length > mostFollowed) return { ...touch, files }
    const places = yield* Effect.forEach(files, workspace.real)
    const inside = yield* Effect.forEach(files, workspace.contains)
    const real = [...new Set([...files, ...places])]
    const guarded = touch.kind === "write" && real.some(workspace.isSensitive)
    return {
      ...touch,
      files: real,
      outside: touch.outside || inside.includes(false),
      protected: touch.protected || guarded,
    }
  })

  const trackedBelow = Effect.fnUntraced(function* (directory: string) {
    const own = yield* git.own(workspace.cwd())
    return own === undefined ? [] : own.tracked?.filter((file) => file.startsWith(directory))
  })

  /** The same for the policy. */
  const policyCall = Effect.fnUntraced(function* (tool: Tool<never>, invocation: Invocation<never>, effects: Effects) {
    const analysis = effects.executes === undefined ? undefined : yield* analyse(effects.executes)
    const touches = [...touchesOf(effects), ...(analysis?.touches ?? [])]
    const located = yield* Effect.forEach(touches, (touch) =>
      touch._tag === "Reads" || touch._tag === "Writes"
        ? Effect.map(locate(touch), (one) => [one])
        : Effect.succeed([]),
    )
    const paths = yield* Effect.forEach(located.flat(), expanded)
    const bash = analysis === undefined ? undefined : withoutDisguise(analysis, paths)
    const [domain] = effects.connects ?? []
    const opinion = yield* invocation.opinion
    const call: PolicyCall = {
      tool: tool.name,
      aliases: tool.aliases,
      input: invocation.input,
      readOnly: invocation.readOnly,
      touches,
      paths,
      ...(bash !== undefined && { bash }),
      ...(domain !== undefined && { domain }),
      ...(effects.sandboxed === true && { sandboxed: true }),
      ...(effects.skill !== undefined && { skill: effects.skill }),
      ...(opinion.behavior !== "passthrough" && { opinion }),
    }
    return call
  })

  return Effect.fnUntraced(function* (given: Call, asOf: number): Effect.fn.Return<Prepared> {
    const rejected = (why: string): Rejected => ({ _tag: "Rejected", call: given, why })
    if (given.malformedInput !== undefined) return rejected(malformed(given.name, given.malformedInput))
    const tool = catalog.find(given.name)
    if (tool === undefined) {
      return rejected(
        `There is no tool named ${given.name}. The tools of this session are: ${catalog.names().join(", ")}.`,
      )
    }
    const decoded = yield* Effect.result(tool.decode(given.input))
    if (decoded._tag === "Failure") return rejected(decoded.failure.message + catalog.hint(tool.name))
    const invocation = decoded.success
    const effects = yield* invocation.effects
    const call = yield* policyCall(tool, invocation, effects)
    const paths = call.paths ?? []
    // A command names its files itself; a tool must not be led to one that is none, or that is not what it seems.
    const deceit = effects.executes === undefined ? paths.map(problemOf).find((one) => one !== undefined) : undefined
    if (deceit !== undefined) return rejected(deceit)
    const certain = paths.filter((touch) => touch.possible !== true)
    const named = (touches: ReadonlyArray<PathTouch>) => [...new Set(touches.map(({ path }) => path))]
    const readOnly =
      call.bash === undefined ? invocation.readOnly : call.bash._tag === "Understood" && call.bash.readOnly
    const ask: Ask = {
      toolUseId: given.id,
      tool: tool.name,
      input: invocation.input,
      summary: invocation.summary,
      readOnly,
      reads: named(certain.filter(({ kind }) => kind === "read")),
      writes: named(certain.filter(({ kind }) => kind === "write")),
      executes: effects.executes,
      outside: named(certain.filter(({ outside }) => outside)),
      sensitive: named(certain.filter((touch) => touch.protected)),
      call,
    }
    return { _tag: "Ready", call: given, tool, invocation: concluded(invocation, call, readOnly), ask, asOf }
  })
})

/** Of a command the analysis says whether it only reads; that makes it safe beside others, and safe to repeat. */
const concluded = (invocation: Invocation<never>, call: PolicyCall, readOnly: boolean): Invocation<never> =>
  call.bash === undefined || !readOnly
    ? invocation
    : { ...invocation, readOnly, concurrencySafe: true, idempotency: "read_only" }

/** A file whose name is an option: where a pattern matches it, the program is told something nobody wrote. */
const withoutDisguise = (analysis: Analysis, paths: ReadonlyArray<PathTouch>): Analysis => {
  if (analysis._tag === "Opaque" || !analysis.readOnly) return analysis
  const option = paths
    .filter((touch) => touch.pattern === true && !touch.path.endsWith("/**"))
    .flatMap(({ files = [] }) => files)
    .find((file) => file.includes("/-"))
  if (option === undefined) return analysis
  return { ...analysis, readOnly: false, why: `a pattern in it matches ${option}, which may be taken for an option` }
}

/** More files than this are judged by their names. */
const mostFollowed = 2_000

const problemOf = ({ path, real }: PathTouch): string | undefined =>
  PathName.problemOfText(path) ?? PathName.problemOfPlace(path) ?? PathName.problemOfPlace(real)

const touchesOf = ({ connects = [], reads = [], writes = [] }: Effects): ReadonlyArray<Touch> => [
  ...reads.map((path) => ({ _tag: "Reads", path }) as const),
  ...writes.map((path) => ({ _tag: "Writes", path, how: "change" }) as const),
  ...connects.map((host) => ({ _tag: "Connects", host }) as const),
]

const malformed = (tool: string, raw: string): string => {
  const shown = raw.length > 200 ? `${raw.slice(0, 200)}… (${raw.length} characters)` : raw
  return (
    `The arguments of this ${tool} call are not complete, valid JSON, so it was not run: ${shown}\n` +
    "Send the call again with complete arguments; split a very long one into several calls."
  )
}
