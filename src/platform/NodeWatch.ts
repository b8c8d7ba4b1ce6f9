/** Owns watching on node, by chokidar: loaded at first use, quiet about everything that was not asked for. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Change, collapse, make, Watch, WatchError, type WatchOptions } from "./Watch.ts"

const never = new Set([".git", "node_modules"])

/** However busy it is, a burst is told at last. */
const maxRounds = 20

/** A file that does not exist yet is seen from the nearest directory that does. */
const existing = (at: string): string => {
  for (let here = at; ; here = path.dirname(here)) {
    if (fs.existsSync(here) || path.dirname(here) === here) return here
  }
}

const isBelow = (at: string, directory: string): boolean => {
  const prefix = directory.endsWith(path.sep) ? directory : directory + path.sep
  return at.startsWith(prefix)
}

/** Events about the way to a wanted path are not events about it. */
const concerns = (at: string, wanted: ReadonlyArray<string>): boolean =>
  wanted.some((one) => at === one || isBelow(at, one))

const ignored =
  (wanted: ReadonlyArray<string>, options: WatchOptions) =>
  (at: string): boolean => {
    const here = path.resolve(at)
    const inside = wanted.find((one) => isBelow(here, one))
    if (inside !== undefined) {
      if (never.has(path.basename(here))) return true
      if (options.recursive !== true && path.dirname(here) !== inside) return true
      return options.ignore?.(here) ?? false
    }
    return !wanted.some((one) => one === here || isBelow(one, here))
  }

const types: Readonly<Record<string, Change["type"]>> = {
  add: "created",
  addDir: "created",
  change: "changed",
  unlink: "removed",
  unlinkDir: "removed",
}

const open = Effect.fnUntraced(function* (paths: ReadonlyArray<string>, options: WatchOptions = {}) {
  const wanted = paths.map((at) => path.resolve(at))
  const failed = (cause: unknown) =>
    new WatchError({ path: paths.join(", "), detail: cause instanceof Error ? cause.message : String(cause) })
  const queue = yield* Queue.unbounded<Change, WatchError>()
  const { watch } = yield* Effect.tryPromise({ try: () => import("chokidar"), catch: failed })
  const watcher = yield* Effect.acquireRelease(
    Effect.sync(() =>
      watch([...new Set(wanted.map(existing))], {
        ignored: ignored(wanted, options),
        ignoreInitial: true,
        ignorePermissionErrors: true,
        persistent: true,
        atomic: false,
      }),
    ),
    (watcher) => Effect.promise(() => watcher.close()),
  )
  watcher.on("all", (event, at) => {
    const type = types[event]
    const here = path.resolve(at)
    if (type !== undefined && concerns(here, wanted)) Queue.offerUnsafe(queue, { type, path: here })
  })
  // The first look takes as long as the disk does: whoever leaves meanwhile does not wait for it.
  yield* Effect.callback<void, WatchError>((resume) => {
    watcher.on("error", (cause) => {
      Queue.failCauseUnsafe(queue, Cause.fail(failed(cause)))
      resume(Effect.fail(failed(cause)))
    })
    watcher.once("ready", () => resume(Effect.void))
  })
  const burst = Effect.gen(function* () {
    const changes = [yield* Queue.take(queue)]
    for (let round = 0; round < maxRounds; round++) {
      yield* Effect.sleep(options.settleMs ?? 100)
      const more = yield* Queue.clear(queue)
      if (more.length === 0) break
      changes.push(...more)
    }
    return collapse(changes)
  })
  return Stream.fromEffectRepeat(burst).pipe(Stream.filter((changes) => changes.length > 0))
})

export const layer: Layer.Layer<Watch> = Layer.succeed(Watch, make(open))
