/**
 * Owns handing a session over from one live process to another on this machine, so that at every moment exactly one place has all of it.
 *
 * The receiver first lays everything down beside where the journal will be. Then the sender writes one record into its own journal: that
 * append decides. Before it the session is the sender's, from it on the receiver's, whoever dies when: both can read the decision, and
 * whoever opens the session at the receiver's finishes what was begun. A sender whose connection broke before it decided never decides.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Ids from "../kernel/Ids.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { type Connection, LocalSocket, type SocketError } from "../platform/LocalSocket.ts"
import type { EventOf } from "../protocol/Event.ts"
import { isArriving, stagedAt } from "./Elsewhere.ts"
import * as Divergence from "./Divergence.ts"
import * as Journal from "./Journal.ts"
import { type JournalError, journalError, type SessionBusy } from "./JournalError.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"
import * as Teleport from "./Teleport.ts"
import * as TeleportFile from "./TeleportFile.ts"
import type { Section } from "./TeleportSection.ts"

const protocol = 1
const limits = { longest: 2 * TeleportFile.mostBytes }

const Hello = Schema.Struct({
  protocol: Schema.Int,
  token: Schema.String,
  sessionId: Schema.String,
  handOver: Schema.String,
  configDir: Schema.String,
})
const Luggage = Schema.Struct({ file: Schema.String })
const Answer = Schema.Union([
  Schema.Struct({ welcome: Schema.Struct({ configDir: Schema.String }) }),
  Schema.Struct({ staged: Schema.Literal(true) }),
  Schema.Struct({ confirmed: Schema.Literal(true) }),
  Schema.Struct({ refused: Schema.String }),
])
const Decided = Schema.Struct({ decided: Schema.String })

/** `path#token`, as the receiver prints it. */
export const parseAddress = (address: string): { readonly path: string; readonly token: string } | undefined => {
  const at = address.lastIndexOf("#")
  return at < 1 ? undefined : { path: address.slice(0, at), token: address.slice(at + 1) }
}

const what = "The session cannot be handed over"
const failing = (why: string) => new TeleportFile.TeleportError({ what, why })

const say = (connection: Connection, value: unknown) =>
  Effect.mapError(connection.send(JSON.stringify(value)), (error) => failing(error.message))

const hear = <A>(connection: Connection, schema: Schema.Codec<A>) => {
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema))
  return Effect.flatMap(
    Effect.mapError(connection.receive, (error) => failing(error.message)),
    (line) =>
      line === undefined
        ? Effect.fail(failing("the other process is gone"))
        : Effect.mapError(decode(line), () =>
            failing("the other process speaks another language; is it as new as this one?"),
          ),
  )
}

// ---- the sender

export interface SendOptions {
  readonly address: string
  readonly sessionId: string
  /** The whole session as a file: nothing of it leaves the machine, so nothing is struck out. */
  readonly packed: Effect.Effect<string, JournalError>
  /** Appends to the session's journal, which this process holds, and brings it to the disk. */
  readonly commit: (event: EventOf<"SessionHandedOver">) => Effect.Effect<void, JournalError>
}

export interface Sent {
  readonly to: string
  /** The receiver has said that it has it. Otherwise it is gone, and who opens the session there finishes what it began. */
  readonly confirmed: boolean
}

/** Until this returns the sender holds the session; afterwards it must let go of it. When it fails, nothing has changed hands. */
export const send = Effect.fn("HandOver.send")(function* (options: SendOptions) {
  const sockets = yield* LocalSocket
  const { configDir } = yield* Host
  const address = parseAddress(options.address)
  if (address === undefined) {
    return yield* failing("the address is not whole. Copy all of what the receiver printed: <socket>#<token>")
  }
  const handOver = yield* Ids.uuid
  const connection = yield* Effect.mapError(sockets.connect(address.path, limits), (error) => failing(error.message))
  const answer = hear(connection, Answer).pipe(
    Effect.filterOrFail(
      (said) => !("refused" in said),
      (said) => failing("refused" in said ? said.refused : ""),
    ),
  )
  yield* say(connection, { protocol, token: address.token, sessionId: options.sessionId, handOver, configDir })
  const welcome = yield* answer
  if (!("welcome" in welcome)) return yield* failing("the other process answers something else")
  const to = welcome.welcome.configDir
  yield* say(connection, { file: yield* options.packed })
  const staged = yield* answer
  if (!("staged" in staged)) return yield* failing("the other process answers something else")
  yield* options.commit({ _tag: "SessionHandedOver", handOver, to })
  const confirmed = yield* say(connection, { decided: handOver }).pipe(Effect.andThen(answer), Effect.result)
  const sent: Sent = { to, confirmed: Result.isSuccess(confirmed) && "confirmed" in confirmed.success }
  return sent
}, Effect.scoped)

// ---- the receiver

export interface ReceiveOptions {
  readonly path: string
  readonly token: string
  readonly cwd: string
  readonly version: string
  readonly sections: ReadonlyArray<Section>
  /** It is listening. */
  readonly ready: Effect.Effect<void>
  /** Somebody came and got nothing. */
  readonly refused: (why: string) => Effect.Effect<void>
}

type Needs = Files | FileSystem.FileSystem | Host

/** Waits for one session and takes it. Who has no token is sent away, and the waiting goes on. */
export const receive = Effect.fn("HandOver.receive")(function* (options: ReceiveOptions) {
  const sockets = yield* LocalSocket
  const server = yield* Effect.mapError(sockets.listen(options.path, limits), (error: SocketError) =>
    failing(error.message),
  )
  yield* options.ready
  while (true) {
    const taken = yield* Effect.result(Effect.scoped(Effect.flatMap(server.accept, (peer) => take(peer, options))))
    if (Result.isSuccess(taken)) return taken.success
    yield* options.refused(taken.failure.message)
  }
}, Effect.scoped)

const take = Effect.fnUntraced(function* (peer: Connection, options: ReceiveOptions) {
  const { hash } = yield* Files
  const { configDir } = yield* Host
  const refuse = Effect.fnUntraced(function* (why: string) {
    yield* Effect.ignore(say(peer, { refused: why }))
    return yield* failing(why)
  })
  // Who sends nothing must not keep others waiting.
  const hello = yield* hear(peer, Hello).pipe(
    Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.fail(failing("it came and said nothing")) }),
  )
  // By their hashes: how long it takes tells nothing about the token.
  if (hash(hello.token) !== hash(options.token)) return yield* refuse("the token is wrong")
  if (hello.protocol !== protocol) return yield* refuse("the two processes are of different versions")
  if (!SessionPaths.isSessionId(hello.sessionId)) return yield* refuse("the session id is no UUID")
  yield* say(peer, { welcome: { configDir } })
  const { file: text } = yield* hear(peer, Luggage)
  const file = TeleportFile.decode(text, hash)
  if (Result.isFailure(file)) return yield* refuse(file.failure)
  const { sessionId } = file.success.manifest
  if (sessionId !== hello.sessionId) return yield* refuse("what came is another session")
  const staged: Staged = {
    handOver: hello.handOver,
    from: hello.configDir,
    cwd: options.cwd,
    sessionId,
    version: options.version,
  }
  if (hello.configDir === configDir) return yield* takeBeside(peer, staged, file.success, options)
  const present = yield* Journal.readRaw(sessionId)
  const isStranger =
    present.records.length > 0 && Divergence.compare(present.records, file.success.records).shared.length === 0
  if (isStranger) return yield* refuse("another session of this id is here already")
  yield* stage(staged, text).pipe(Effect.catch((error) => refuse(error.message)))
  yield* say(peer, { staged: true })
  // However this ends, the sender's journal says what has become of it.
  yield* Effect.ignore(hear(peer, Decided))
  const arrived = yield* finish(staged, options.sections)
  if (arrived === undefined) {
    yield* discard(sessionId)
    return yield* failing("the sender left before it had handed the session over, and keeps it")
  }
  yield* Effect.ignore(say(peer, { confirmed: true }))
  return arrived
})

/** Both have their sessions in the same place: there is nothing to carry, only the lock changes hands. */
const takeBeside = Effect.fnUntraced(function* (
  peer: Connection,
  { cwd }: Staged,
  file: TeleportFile.TeleportFile,
  { sections, version }: ReceiveOptions,
) {
  yield* say(peer, { staged: true })
  yield* hear(peer, Decided)
  yield* Effect.ignore(say(peer, { confirmed: true }))
  return yield* Teleport.arrive({ file, cwd, sessionId: "keep", onConflict: "here", version, sections }).pipe(
    // Until the sender has let go.
    Effect.retry({
      while: ({ _tag }) => _tag === "SessionBusy",
      schedule: Schedule.spaced("50 millis").pipe(Schedule.upTo({ times: 1_200 })),
    }),
  )
})

const Staged = Schema.Struct({
  handOver: Schema.String,
  /** The sender's configuration directory, where its journal is. */
  from: Schema.String,
  cwd: Schema.String,
  sessionId: Schema.String,
  version: Schema.String,
})
type Staged = typeof Staged.Type

/** The note comes last: without it there is nothing. */
const stage = Effect.fnUntraced(function* (staged: Staged, text: string) {
  const files = yield* Files
  const fs = yield* FileSystem.FileSystem
  const host = yield* Host
  const at = stagedAt(host, staged.sessionId)
  yield* fs.makeDirectory(at.directory, { recursive: true, mode: 0o700 })
  yield* files.writeAtomic(at.file, text, { mode: 0o600 })
  yield* files.writeAtomic(at.note, JSON.stringify(staged), { mode: 0o600 })
})

const discard = Effect.fnUntraced(function* (sessionId: string) {
  const fs = yield* FileSystem.FileSystem
  const at = stagedAt(yield* Host, sessionId)
  yield* Effect.ignore(fs.remove(at.note))
  yield* Effect.ignore(fs.remove(at.file))
})

const nothing: { readonly records: ReadonlyArray<Journal.RawRecord> } = { records: [] }

/** What the sender's journal says: nothing until it has decided, then what it recorded after it had packed. */
const decision = Effect.fnUntraced(function* (staged: Staged, sequence: number) {
  const host = yield* Host
  const { records } = yield* Effect.provideService(Journal.readRaw(staged.sessionId), Host, {
    ...host,
    configDir: staged.from,
  }).pipe(Effect.orElseSucceed(() => nothing))
  const at = records.findLastIndex(
    ({ event }) => event._tag === "SessionHandedOver" && "handOver" in event && event.handOver === staged.handOver,
  )
  return at === -1 ? undefined : records.slice(0, at).filter(({ seq }) => seq > sequence)
})

/** Makes the session ours if the sender has decided so; may be done again. */
const finish = Effect.fnUntraced(function* (staged: Staged, sections: ReadonlyArray<Section>) {
  const { hash } = yield* Files
  const host = yield* Host
  const at = stagedAt(host, staged.sessionId)
  const bytes = yield* Effect.mapError(RegularFile.read(at.file), journalError("read", at.file))
  const read = TeleportFile.decode(new TextDecoder().decode(bytes), hash)
  if (Result.isFailure(read)) return yield* failing(read.failure)
  const late = yield* decision(staged, read.success.manifest.sequence)
  if (late === undefined) return undefined
  const file = { ...read.success, records: [...read.success.records, ...late] }
  const arrived = yield* Teleport.arrive({
    file,
    cwd: staged.cwd,
    sessionId: "keep",
    onConflict: "there",
    version: staged.version,
    sections,
  })
  yield* discard(staged.sessionId)
  return arrived
})

const decodeStaged = Schema.decodeUnknownOption(Schema.fromJsonString(Staged))

/** A session that was handed over to here by a process that did not live to see it is ours from now on. */
export const settle: (sessionId: string) => Effect.Effect<void, JournalError | SessionBusy, Needs> = Effect.fnUntraced(
  function* (sessionId) {
    if (!(yield* isArriving(sessionId))) return
    const at = stagedAt(yield* Host, sessionId)
    const bytes = yield* Effect.orElseSucceed(RegularFile.readIfThere(at.note), () => new Uint8Array(0))
    if (bytes.length === 0) return
    const staged = decodeStaged(new TextDecoder().decode(bytes))
    if (staged._tag === "None" || staged.value.sessionId.toLowerCase() !== sessionId.toLowerCase()) return
    yield* finish(staged.value, []).pipe(Effect.catchTag("TeleportError", (error) => Effect.logWarning(error.message)))
  },
)
