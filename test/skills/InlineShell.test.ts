import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as fs from "node:fs"
import type { SkillsOptions } from "../../src/skills/Skills.ts"
import { becomes, living, marker } from "../tools/processes.ts"
import { inFolder } from "./kit.ts"

const command = (body: string, head = "") => (head === "" ? body : `---\n${head}\n---\n${body}`)

interface Way {
  readonly args?: string
  readonly head?: string
  readonly options?: Partial<SkillsOptions>
  readonly env?: Record<string, string>
}

/** What the model is told when a command with this text is used. */
const used = (body: string, { args = "", env, head, options }: Way = {}) =>
  inFolder(
    { ".claude/commands/x.md": command(body, head) },
    (folder) =>
      Effect.gen(function* () {
        const skills = yield* folder.session(options)
        return yield* Effect.map(skills.invoke("x", args, "person"), ({ messages }) => messages.join("\n"))
      }),
    env,
  )

describe("Commands in the text of a skill", () => {
  it.live("are replaced by what they print, in both forms", () =>
    Effect.gen(function* () {
      const body = "- A: !`echo one; echo two >&2`\n\n```!\nprintf 'x\\n'\npwd | wc -l\n```\nKEY=!`no`\n"
      assert.strictEqual(yield* used(body), "- A: one\ntwo\n\nx\n1\nKEY=!`no`")
    }),
  )

  it.live("get arguments as words, whatever these say", () =>
    Effect.gen(function* () {
      const args = `a 'b; touch pwned' $(touch pwned) !\`touch pwned\``
      const text = yield* used("!`printf '<%s>' $ARGUMENTS`\nAlso: $1\n", { args })
      assert.include(text, "<a><b; touch pwned><$(touch><pwned)><!`touch><pwned`>")
      assert.include(text, "Also: b; touch pwned")
    }),
  )

  it.live("print text: nothing in it runs or is filled in", () =>
    inFolder(
      {
        ".claude/commands/x.md": "!`cat printed.txt` and $0\n",
        "printed.txt": "!`touch made` $0 ${CLAUDE_SESSION_ID} @printed.txt\n",
      },
      (folder) =>
        Effect.gen(function* () {
          const skills = yield* folder.session()
          const { messages } = yield* skills.invoke("x", "v", "model")
          assert.deepStrictEqual(messages, ["!`touch made` $0 ${CLAUDE_SESSION_ID} @printed.txt and v"])
          assert.isFalse(fs.existsSync(folder.at("made")))
        }),
    ),
  )

  it.live("do not run where an argument could become a part of them", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(used('!`bash -c "echo $0"`', { args: "'$(touch made)'" }))
      assert.match(message, /not run .* \$0 cannot be filled .* double quotes/)
      assert.strictEqual(yield* used('!`bash -c "echo $0"`', { args: "fine" }), "fine")
    }),
  )

  it.live("know where they are", () =>
    Effect.gen(function* () {
      const text = yield* used('!`echo ${CLAUDE_SESSION_ID} $CLAUDE_SESSION_ID; basename "$PWD"; echo $CLAUDECODE`')
      assert.strictEqual(text, "session-1 session-1\nwork\n1")
    }),
  )

  it.live("end the use of the skill when one fails, and say what it printed", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(used("!`echo fine` !`echo broken >&2; exit 3`"))
      assert.strictEqual(reason, "Shell")
      assert.strictEqual(
        message,
        'Shell command failed for pattern "echo broken >&2; exit 3": exit code 3\n[stderr]\nbroken',
      )
      assert.strictEqual(yield* used("a!`x` !`grep nothing /dev/null` !`false || true`."), "a!`x`  .")
    }),
  )

  it.live("are ended when they hang, with everything they started", () =>
    Effect.gen(function* () {
      const mark = marker()
      const { message } = yield* Effect.flip(used(`!\`sleep ${mark} & sleep ${mark}\``, { env: { BASH_DEFAULT_TIMEOUT_MS: "200" } })) // prettier-ignore
      assert.match(message, /ended after 0\.2 s/)
      yield* becomes("nothing sleeps any more", () => living(mark).length === 0)
    }),
  )

  it.live("are ended when whoever used the skill does not want it any more", () =>
    Effect.gen(function* () {
      const mark = marker()
      const fiber = yield* Effect.forkChild(Effect.ignore(used(`!\`sleep ${mark}\``)))
      yield* becomes("it sleeps", () => living(mark).length > 0)
      yield* Fiber.interrupt(fiber)
      yield* becomes("nothing sleeps any more", () => living(mark).length === 0)
    }),
  )

  it.live("may print more than anybody reads: the beginning and the end are shown, the whole is in a file", () =>
    inFolder({ ".claude/commands/x.md": "!`yes abcdefgh | head -c 3000000`" }, (folder) =>
      Effect.gen(function* () {
        const skills = yield* folder.session()
        const { messages } = yield* skills.invoke("x", "", "model")
        const [text = ""] = messages
        assert.isBelow(text.length, 31_000)
        const file = /\[The whole output, 3000000 bytes, is in (.+)\]/.exec(text)?.[1] ?? ""
        assert.strictEqual(fs.statSync(file).size, 3_000_000)
      }),
    ),
  )

  it.live("run only if the rules allow it, with those of the skill", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const mayRun = (line: string, allowed: ReadonlyArray<string>) =>
        Effect.sync(() => {
          asked.push([line, allowed])
          return { behavior: line.startsWith("touch") ? "ask" : "allow", reason: "no rule allows it" } as const
        })
      const head = "allowed-tools: Bash(echo *)"
      assert.strictEqual(yield* used("!`echo $0`", { options: { mayRun }, args: "hi", head }), "hi")
      assert.deepStrictEqual(asked, [["echo hi", ["Bash(echo *)"]]])
      const { message } = yield* Effect.flip(used("!`touch made`", { options: { mayRun } }))
      assert.match(message, /permission check failed for pattern "touch made": no rule allows it\. Add it/)
    }),
  )

  it.live("do not run where the settings say so, nor a server's, nor what nobody has agreed to", () =>
    inFolder({ ".claude/commands/x.md": "A !`touch made` b" }, (folder) =>
      Effect.gen(function* () {
        folder.mine("commands/mine.md", "!`echo mine`")
        const disabled = yield* folder.session({}, { disableSkillShellExecution: true })
        const said = Effect.map(disabled.invoke("x", "", "person"), ({ messages }) => messages[0])
        assert.strictEqual(yield* said, "A [shell command execution disabled by policy] b")
        const mine = yield* disabled.invoke("mine", "", "person")
        assert.strictEqual(mine.messages[0], "[shell command execution disabled by policy]")
        const stranger = yield* folder.session({ trusted: () => false })
        assert.match((yield* stranger.invoke("x", "", "person")).messages[0] ?? "", /not run/)
        assert.strictEqual((yield* stranger.invoke("mine", "", "person")).messages[0], "mine")
        assert.isFalse(fs.existsSync(folder.at("made")))
      }),
    ),
  )
})
