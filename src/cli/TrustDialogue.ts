/**
 * Owns the question whether what a folder wants to run may run: put once, at the terminal, before anything of the folder counts.
 * Whoever says no works without it, and is asked again when it has changed.
 */
import * as Effect from "effect/Effect"
import * as TrustStore from "../settings/TrustStore.ts"
import type { Review } from "../settings/Trust.ts"
import type { LineReader } from "./LineReader.ts"
import type { Sink } from "./Output.ts"

/** What one file of the folder wants, in words and as it stands there. */
export interface Wish {
  readonly review: Review
  readonly text: string
}

export type Answer = "agreed" | "declined" | "leave"

/** Shows everything that waits and asks about all of it. */
export const ask = Effect.fnUntraced(function* (
  wishes: ReadonlyArray<Wish>,
  { cwd, out, reader }: { readonly cwd: string; readonly out: Pick<Sink, "write">; readonly reader: LineReader },
) {
  yield* out.write(
    `This folder has configuration of its own that runs programs or opens permissions:\n\n` +
      wishes.map(({ text }) => text.trimEnd()).join("\n\n") +
      `\n\nIt comes with ${cwd}. Agree only if you know where that is from; a later change asks again.\n`,
  )
  while (true) {
    const read = yield* reader.read("Put it in force? [y]es, [n]o, go on without it, [q]uit: ", { fresh: true })
    if (read._tag !== "Line") return "leave" satisfies Answer
    switch (read.text.trim().toLowerCase()) {
      case "y":
      case "yes":
        yield* TrustStore.approve(wishes.map(({ review }) => review))
        return "agreed" satisfies Answer
      case "n":
      case "no":
        return "declined" satisfies Answer
      case "q":
      case "quit":
        return "leave" satisfies Answer
    }
  }
})
