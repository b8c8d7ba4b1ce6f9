/** A process of its own that remembers ninety long lines as fast as it can. */
import * as Effect from "effect/Effect"
import process from "node:process"
import * as Pastes from "../../src/cli/Pastes.ts"
import * as PromptHistory from "../../src/cli/PromptHistory.ts"

const [file = "", name = ""] = process.argv.slice(2)
const history = PromptHistory.make(file, "/w", Pastes.make())
for (let i = 0; i < 90; i++) Effect.runSync(history.add(`${name}${i} ${"x".repeat(3000)}`, "s"))
