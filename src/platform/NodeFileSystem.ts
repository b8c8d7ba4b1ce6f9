/** Owns the file system on Node, with the one call made fast that every look at a path needs: where it really leads. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"

/** The operating system's own answer; Node's asks about each part of a path in turn. What fails is asked again, for the error. */
export const layer: Layer.Layer<FileSystem.FileSystem> = Layer.effect(
  FileSystem.FileSystem,
  Effect.map(FileSystem.FileSystem, (given) =>
    FileSystem.FileSystem.of({
      ...given,
      realPath: (path) =>
        Effect.callback<string | undefined>((resume) => {
          fs.realpath.native(path, (error, real) => resume(Effect.succeed(error === null ? real : undefined)))
        }).pipe(
          Effect.filterOrElse(
            (real) => real !== undefined,
            () => given.realPath(path),
          ),
        ),
    }),
  ),
).pipe(Layer.provide(NodeFileSystem.layer))
