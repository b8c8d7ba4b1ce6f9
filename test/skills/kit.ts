/** A throw-away folder with skills in it, and the library and a session's skills over the real disk. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { MarkdownIndex } from "../../src/platform/MarkdownIndex.ts"
import type { JsonObject } from "../../src/settings/Merge.ts"
import { Settings } from "../../src/settings/Settings.ts"
import type { MayRun } from "../../src/skills/InlineShell.ts"
import { SkillLibrary } from "../../src/skills/SkillLibrary.ts"
import { Skills, type SkillsOptions, type SkillsShape } from "../../src/skills/Skills.ts"
import type { Services } from "../../src/tools/builtin/Source.ts"
import { inWorkspace, type Place } from "../tools/builtin/kit.ts"

export interface Folder extends Place {
  /** Writes below the user's directory. */
  readonly mine: (name: string, content: string) => string
  readonly library: SkillLibrary["Service"]
  readonly managed: string
  /** A session's skills. */
  readonly session: (more?: Partial<SkillsOptions>, settings?: JsonObject) => Effect.Effect<SkillsShape>
}

export const anything: MayRun = () => Effect.succeed({ behavior: "allow", reason: "" })

export const inFolder = <A, E>(
  files: Readonly<Record<string, string>>,
  test: (folder: Folder) => Effect.Effect<A, E, Services | SkillLibrary>,
  env: Record<string, string> = {},
): Effect.Effect<A, E> =>
  inWorkspace(
    (place) =>
      Effect.gen(function* () {
        for (const [name, content] of Object.entries(files)) place.put(name, content)
        const context = yield* Effect.context<Services | SkillLibrary>()
        const managed = path.join(place.config, "..", "managed")
        const folder: Folder = {
          ...place,
          managed,
          mine: (name, content) => {
            const at = path.join(place.config, name)
            fs.mkdirSync(path.dirname(at), { recursive: true })
            fs.writeFileSync(at, content)
            return at
          },
          library: yield* SkillLibrary,
          session: (more = {}, settings = {}) =>
            Effect.service(Skills).pipe(
              Effect.provide(
                Skills.layer({
                  sessionId: "session-1",
                  cwd: place.root,
                  contextWindow: 200_000,
                  mayRun: anything,
                  trusted: () => true,
                  managedDirectory: managed,
                  ...more,
                }).pipe(Layer.provide(Settings.layerOf(settings))),
              ),
              Effect.provideContext(context),
            ),
        }
        return yield* test(folder)
      }).pipe(Effect.provide(SkillLibrary.layer.pipe(Layer.provide(MarkdownIndex.layer)))),
    { env },
  )
