/** Owns watching the files that hooks want to hear of: `FileChanged`, whoever changes them. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Change, Watch } from "../platform/Watch.ts"
import type { HookEngineShape, Watched } from "./HookEngine.ts"

const eventOf = { created: "add", changed: "change", removed: "unlink" } as const

/** Until the scope closes; nothing is watched where nobody wants it, or where the platform cannot. */
export const follow = Effect.fnUntraced(function* (engine: HookEngineShape, cwd: () => string) {
  const watch = yield* Effect.serviceOption(Watch)
  if (Option.isNone(watch)) return

  const changes = ({ names, paths }: Watched) => {
    const files = [
      ...new Set([...names.map((name) => `${cwd()}/${name}`), ...paths.filter((path) => path.startsWith("/"))]),
    ]
    if (files.length === 0) return Stream.empty
    return watch.value
      .files(files)
      .pipe(Stream.catch((error) => Stream.drain(Stream.fromEffect(Effect.logWarning(error.message)))))
  }
  const heard = (burst: ReadonlyArray<Change>) =>
    Effect.forEach(burst, ({ path, type }) => engine.fire("FileChanged", { file_path: path, event: eventOf[type] }), {
      discard: true,
    })
  yield* engine.watched.pipe(
    Stream.switchMap(changes),
    Stream.runForEach(heard),
    Effect.forkScoped({ startImmediately: true }),
  )
})
