/** Owns `troupe teleport`: a session into a file, out of one, and from process to process, with what people are told about it. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { resolve } from "node:path"
import * as HookIndex from "../hooks/HookIndex.ts"
import { hooks as hooksSection } from "../hooks/TeleportHooks.ts"
import * as Ids from "../kernel/Ids.ts"
import * as Secrets from "../model/Secrets.ts"
import * as TeleportPermissions from "../permissions/TeleportPermissions.ts"
import { fromPlatform } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { isSecretVariable } from "../security/Sensitive.ts"
import * as Elsewhere from "../session/Elsewhere.ts"
import * as HandOver from "../session/HandOver.ts"
import * as Journal from "../session/Journal.ts"
import * as RegularFile from "../session/RegularFile.ts"
import * as Sessions from "../session/Sessions.ts"
import * as Teleport from "../session/Teleport.ts"
import * as TeleportFile from "../session/TeleportFile.ts"
import * as Section from "../session/TeleportSection.ts"
import * as CarriedTree from "../session/CarriedTree.ts"
import { Settings } from "../settings/Settings.ts"
import { tasks } from "../tools/TeleportTasks.ts"
import * as HooksView from "./HooksView.ts"
import { version } from "./PackageRoot.ts"
import { visible, visibleJson } from "./Reveal.ts"
import { signalCodes, type Stdio } from "./Stdio.ts"
import type { TeleportJob } from "./TeleportProgram.ts"
import * as SessionNamed from "./SessionNamed.ts"

type JobOf<What extends TeleportJob["what"]> = Extract<TeleportJob, { readonly what: What }>
type Out = Pick<Stdio, "out" | "err" | "signal">

/** Does it, and answers the exit code. */
export const teleported = Effect.fnUntraced(function* (job: TeleportJob, stdio: Out) {
  switch (job.what) {
    case "export":
      return yield* exported(job, stdio)
    case "import":
      return yield* imported(job, stdio)
    case "send":
      return yield* sent(job, stdio)
    case "receive":
      return yield* received(job, stdio)
  }
})

/** What every part of the house adds. */
export const sections = Effect.gen(function* () {
  const { hash } = yield* Files
  const { cwd, home } = yield* Host
  const { layers } = yield* (yield* Settings).current
  const here = HookIndex.list(HooksView.known(layers, { cwd, home }))
  return [
    Section.context,
    Section.ledger,
    Section.cost,
    Section.workers,
    Section.teammates,
    tasks,
    TeleportPermissions.permissions,
    TeleportPermissions.approvals,
    hooksSection(here, hash),
  ]
})

/** What this machine knows to be secret: the values of such variables. The environment itself stays here. */
const secretsHere = Effect.map(Host, ({ allEnv, env }) => {
  const secrets = Secrets.fromEnv(env)
  for (const [name, value] of Object.entries(allEnv)) {
    if (isSecretVariable(name) && isNoWord(value)) secrets.learn(value)
  }
  return secrets.redact
})

/** A name or a word that happens to stand in such a variable would be struck out of ordinary sentences. */
const isNoWord = (value: string): boolean => value.length >= 8 && /[^a-z]/.test(value)

/** Writes a session into a file. It may be in use, by this process or another. */
export const writeOut = Effect.fnUntraced(function* (
  sessionId: string,
  options: { readonly output: string | undefined; readonly workTree: boolean },
) {
  const files = yield* Files
  const { cwd } = yield* Host
  const path = resolve(cwd, options.output ?? `${sessionId.slice(0, 8)}.teleport`)
  const home = (yield* Sessions.cwdOf(sessionId)) ?? cwd
  const git = yield* CarriedTree.describe(home)
  const packed = options.workTree ? yield* CarriedTree.pack(home) : undefined
  const left = yield* Teleport.leave({
    sessionId,
    sections: yield* sections,
    version: version(),
    secrets: yield* secretsHere,
    ...(git !== undefined && { git }),
    ...(packed !== undefined && { packed: new Map([["worktree", packed]]) }),
  })
  yield* files.writeAtomic(path, left.text, { mode: 0o600 })
  const { redacted } = left.manifest
  const notes = [
    ...left.problems,
    ...Object.entries(redacted).map(([kind, count]) => `Struck out: ${kind}, ${count} times.`),
    ...(packed === undefined
      ? []
      : ["The work tree is in it as it is: its files were not looked through for secrets."]),
    ...(packed?.left ?? []).map((file) => `Left behind: ${file}.`),
  ]
  return { path, manifest: left.manifest, notes }
})

const find = Effect.fnUntraced(function* (session: string | undefined) {
  const { cwd } = yield* Host
  const id = session === undefined ? yield* Sessions.latest(cwd) : yield* SessionNamed.idOf(session)
  const what = "There is nothing to take along"
  if (id === undefined) return yield* new TeleportFile.TeleportError({ what, why: `no session was held in ${cwd}` })
  yield* HandOver.settle(id)
  const found = yield* Sessions.locate(id)
  if (found?.kind === "own") return id.toLowerCase()
  const why =
    found === undefined
      ? `there is no session ${id} here. Check the id and CLAUDE_CONFIG_DIR`
      : `session ${id} is another client's. Resume it here once, then it has a journal`
  return yield* new TeleportFile.TeleportError({ what, why })
})

const say = Effect.fnUntraced(function* (stdio: Out, json: boolean, value: object, lines: ReadonlyArray<string>) {
  const text = json ? visibleJson(JSON.stringify(value, undefined, 2)) : visible(lines.join("\n"))
  yield* stdio.out.write(`${text}\n`)
  return 0
})

const exported = Effect.fnUntraced(function* (job: JobOf<"export">, stdio: Out) {
  const sessionId = yield* find(job.session)
  const { manifest, notes, path } = yield* writeOut(sessionId, job)
  const { format: _, sections: parts, ...about } = manifest
  return yield* say(stdio, job.json, { file: path, ...about, sections: parts.map(({ name }) => name), notes }, [
    `${path}: session ${sessionId}, ${manifest.records} records, trace ${manifest.traceId}`,
    ...notes,
    `Over there: troupe teleport import ${path.slice(path.lastIndexOf("/") + 1)}`,
  ])
})

const readIn = Effect.fnUntraced(function* (path: string) {
  const { hash } = yield* Files
  const what = `${path} cannot be imported`
  const refuse = (why: string) => new TeleportFile.TeleportError({ what, why: `${why}. Nothing was changed here` })
  const info = yield* RegularFile.stat(path)
  if (Number(info.size) > TeleportFile.mostBytes) {
    return yield* refuse(`it is larger than ${TeleportFile.mostBytes / 1048576} MiB`)
  }
  const bytes = yield* RegularFile.read(path)
  const file = TeleportFile.decode(new TextDecoder().decode(bytes), hash)
  return Result.isSuccess(file) ? file.success : yield* refuse(file.failure)
})

const decodeWorkTree = Schema.decodeUnknownEffect(CarriedTree.CarriedTree)

const imported = Effect.fnUntraced(function* (job: JobOf<"import">, stdio: Out) {
  const fs = yield* FileSystem.FileSystem
  const host = yield* Host
  const path = resolve(host.cwd, job.file)
  const file = yield* readIn(path)
  const carried = file.sections.get("worktree")
  const target = resolve(host.cwd, job.cwd ?? ".")
  const refuse = (why: string) => new TeleportFile.TeleportError({ what: `${path} cannot be imported`, why })
  const arrive = Effect.fnUntraced(function* (cwd: string) {
    const { onConflict, sessionId } = job
    return yield* Teleport.arrive({
      file,
      cwd,
      sessionId,
      onConflict,
      version: version(),
      sections: yield* sections,
    }).pipe(
      Effect.catchTag("SessionBusy", ({ holder, sessionId }) =>
        Effect.fail(
          refuse(
            `session ${sessionId} is in use here by ${holder === undefined ? "another process" : `process ${holder}`}. End that first, or add --session-id new`,
          ),
        ),
      ),
    )
  })
  let cwd: string
  let arrived: Teleport.Arrived
  if (job.workTree) {
    if (carried === undefined) return yield* refuse("it brings no work tree: it was exported without --with-work-tree")
    const tree = yield* Effect.mapError(decodeWorkTree(carried), () => refuse("its work tree is not readable"))
    cwd = yield* CarriedTree.unpack(tree, target)
    arrived = yield* arrive(cwd).pipe(
      // Both or neither.
      Effect.onError(() => Effect.ignore(fs.remove(target, { recursive: true }))),
    )
  } else {
    const info = yield* Effect.mapError(fs.stat(target), (error) => fromPlatform("go on in", target, error))
    if (info.type !== "Directory") return yield* refuse(`${target} is no directory. Name another one with --cwd`)
    cwd = yield* Effect.orElseSucceed(fs.realPath(target), () => target)
    arrived = yield* arrive(cwd)
  }
  const notes = [
    ...arrived.notes,
    ...(carried !== undefined && !job.workTree
      ? ["It brings a work tree, which was left packed: --with-work-tree --cwd <new directory> unpacks it."]
      : []),
  ]
  return yield* say(stdio, job.json, { ...arrived, cwd, notes }, [...told(arrived, cwd), ...notes, goOn(arrived, cwd)])
})

const outcomes: Readonly<Record<Teleport.Arrived["outcome"], string>> = {
  created: "is here",
  continued: "was here before, and goes on where the file left it",
  moved: "was here already, all of it",
  behind: "is further on here than in the file",
  merged: "went on in both places",
}

const told = ({ outcome, sessionId, traceId }: Teleport.Arrived, cwd: string): ReadonlyArray<string> => [
  `Session ${sessionId} ${outcomes[outcome]} (trace ${traceId}), in ${cwd}`,
]

const goOn = ({ sessionId }: Teleport.Arrived, cwd: string): string =>
  `To go on: cd ${cwd} && troupe --resume ${sessionId}`

/** The file for a hand-over: complete, since it does not leave this machine. */
export const packed = (sessionId: string) =>
  Effect.gen(function* () {
    const { text } = yield* Teleport.leave({
      sessionId,
      sections: yield* sections,
      version: version(),
      secrets: undefined,
    })
    return text
  })

const sent = Effect.fnUntraced(function* (job: JobOf<"send">, stdio: Out) {
  const sessionId = yield* find(job.session)
  const { configDir } = yield* Host
  const context = yield* Effect.context<Files | FileSystem.FileSystem | Host | Settings>()
  const done = yield* Effect.scoped(
    Effect.gen(function* () {
      const journal = yield* Journal.open(sessionId)
      const gone = Elsewhere.goneTo(journal.records, configDir)
      if (gone !== undefined) return yield* new Elsewhere.SessionElsewhere({ sessionId, to: gone })
      return yield* HandOver.send({
        address: job.to,
        sessionId,
        packed: Effect.provideContext(packed(sessionId), context),
        commit: (event) => Effect.andThen(journal.append("main", event), journal.sync),
      })
    }),
  )
  return yield* say(stdio, job.json, { sessionId, ...done }, handedOver(sessionId, done))
})

/** What the sender's person is told. */
export const handedOver = (sessionId: string, { confirmed, to }: HandOver.Sent): ReadonlyArray<string> => [
  `Session ${sessionId} was handed over; it goes on in ${to}.`,
  ...(confirmed
    ? []
    : [
        `The other process was gone before it could say so, but it has everything: CLAUDE_CONFIG_DIR=${to} troupe --resume ${sessionId}`,
      ]),
]

const received = Effect.fnUntraced(function* (job: JobOf<"receive">, stdio: Out) {
  const fs = yield* FileSystem.FileSystem
  const host = yield* Host
  const target = resolve(host.cwd, job.cwd ?? ".")
  const cwd = yield* Effect.mapError(fs.realPath(target), (error) => fromPlatform("go on in", target, error))
  const path =
    job.socket === undefined
      ? `${yield* Effect.mapError(
          // Made with mode 0700.
          fs.makeTempDirectoryScoped({ directory: host.tmpDir, prefix: "troupe-receive-" }),
          (error) => fromPlatform("make a directory in", host.tmpDir, error),
        )}/session.sock`
      : resolve(host.cwd, job.socket)
  const token = (yield* Ids.uuid).replaceAll("-", "")
  const address = `${path}#${token}`
  const ready = job.json
    ? stdio.out.write(`${JSON.stringify({ waiting: address })}\n`)
    : stdio.out.write(
        `Waiting for one session, in ${cwd}. Over there: /desktop ${address}\nor, if it is closed:                troupe teleport send <session> --to '${address}'\n`,
      )
  const waiting = HandOver.receive({
    path,
    token,
    cwd,
    version: version(),
    sections: yield* sections,
    ready: Effect.ignore(ready),
    refused: (why) => Effect.ignore(stdio.err.write(`troupe: somebody was sent away: ${why}\n`)),
  })
  // What was begun is finished when somebody opens the session here.
  const arrived = yield* Effect.raceFirst(waiting, stdio.signal)
  if (typeof arrived === "string") return signalCodes[arrived]
  return yield* say(stdio, job.json, { ...arrived, cwd }, [...told(arrived, cwd), ...arrived.notes, goOn(arrived, cwd)])
}, Effect.scoped)
