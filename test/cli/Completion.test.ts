/** Completions as shells really give them: the scripts are read by bash, zsh and fish, and asked. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { completion } from "../../src/cli/Completion.ts"
import { words } from "../../src/cli/CompletionWords.ts"
import { debugCategories } from "../../src/cli/DebugFilter.ts"
import * as Describe from "../../src/cli/Describe.ts"
import { type Shell, shells } from "../../src/cli/Options.ts"
import * as Program from "../../src/cli/Program.ts"
import * as SessionPaths from "../../src/session/SessionPaths.ts"
import * as Coding from "../../src/tools/builtin/Coding.ts"

const program = Program.make("0", { out: () => {}, err: () => {}, columns: 100 }, () => {})
const described = Describe.describe(program, debugCategories)
const id = "123e4567-e89b-42d3-a456-426614174000"

/** A directory with a few files, the script, and a `troupe` that knows one session. */
const place = (shell: Shell) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-completion-"))
  fs.mkdirSync(path.join(directory, "source"))
  fs.mkdirSync(path.join(directory, "bin"))
  fs.writeFileSync(path.join(directory, "some prompt.txt"), "")
  fs.writeFileSync(path.join(directory, "bin/troupe"), `#!/bin/sh\nprintf '${id}\\t2026-11-18 fix: it\\n'\n`, {
    mode: 0o755,
  })
  const script = path.join(directory, `script.${shell}`)
  fs.writeFileSync(script, completion(shell, program))
  const env = { ...process.env, HOME: directory, PATH: `${directory}/bin:${process.env["PATH"] ?? ""}` }
  const remove = () => fs.rmSync(directory, { recursive: true, force: true })
  return { script, options: { cwd: directory, env, encoding: "utf8" as const }, remove }
}

/** A line as the person typed it up to the cursor, and what must be offered. */
const table: ReadonlyArray<[line: string, offered: ReadonlyArray<string>]> = [
  [
    "troupe ",
    [
      "agents",
      "completion",
      "config",
      "context",
      "demo",
      "hooks",
      "instructions",
      "memory",
      "model",
      "permissions",
      "replay",
      "rewind",
      "sessions",
      "skills",
      "teleport",
    ],
  ],
  ["troupe con", ["config", "context"]],
  ["troupe config ", ["explain", "list", "set", "trust", "unset"]],
  ["troupe completion ", ["bash", "fish", "zsh"]],
  ["troupe --out", ["--output-format"]],
  ["troupe --output-format ", ["json", "stream-json", "text"]],
  ["troupe --output-format s", ["stream-json"]],
  ["troupe --permission-mode ac", ["acceptEdits"]],
  ["troupe --setting-sources user,pro", ["user,project"]],
  ["troupe --model opu", ["opus"]],
  ["troupe word --fork", ["--fork-session"]],
  ["troupe --model opus --fork", ["--fork-session"]],
  ["troupe --allowedTools Read Wr", ["Write"]],
  ["troupe --debug perm", ["permissions"]],
  ["troupe config set a b --scope ", ["local", "project", "user"]],
  ["troupe config explain --js", ["--json"]],
  ["troupe --resume 123", [id]],
  ["troupe sessions show 123", [id]],
  ["troupe word ", []],
]

const clean = (lines: ReadonlyArray<string>) => lines.filter((line) => line !== "").toSorted()

describe("completion in bash", () => {
  const { script, options, remove } = place("bash")
  /** Calls the function as bash does, which takes words apart at `=`. */
  const ask = (line: string): ReadonlyArray<string> => {
    const typed = line.split(/ +|(=)/).filter((word) => word !== undefined)
    const lastWords = typed.map((word) => `'${word}'`).join(" ")
    const code = `. "$1"; COMP_WORDS=(${lastWords}); COMP_CWORD=${typed.length - 1}; _troupe; printf '%s\\n' "\${COMPREPLY[@]}"`
    return clean(execFileSync("bash", ["--norc", "-c", code, "bash", script], options).split("\n"))
  }

  it("offers what the description says", () => {
    for (const [line, offered] of table) assert.deepStrictEqual(ask(line), offered, line)
  })

  it("completes values behind an equals sign", () => {
    assert.deepStrictEqual(ask("troupe --output-format=st"), ["stream-json"])
    assert.deepStrictEqual(ask("troupe --output-format="), ["json", "stream-json", "text"])
  })

  it("completes names of files and directories where a path is expected, spaces included", () => {
    assert.deepStrictEqual(ask("troupe --system-prompt-file so"), ["some prompt.txt", "source"])
    assert.deepStrictEqual(ask("troupe --add-dir so"), ["source"])
    assert.deepStrictEqual(ask("troupe model serve some"), ["some prompt.txt"])
  })

  it("is registered for the command, and leaves nothing on the screen", () => {
    const { stdout, stderr, status } = spawnSync(
      "bash",
      ["--norc", "-uec", '. "$1"; complete -p troupe', "bash", script],
      options,
    )
    assert.deepStrictEqual(
      { stdout, stderr, status },
      { stdout: "complete -F _troupe troupe\n", stderr: "", status: 0 },
    )
  })

  afterAll(remove)
})

const has = (shell: string) => spawnSync(shell, ["--version"]).status === 0

describe("completion in fish", () => {
  const { script, options, remove } = place("fish")

  it.skipIf(!has("fish"))("offers what the description says (skipped where fish is not installed)", () => {
    const lines = table.map(([line]) => `'${line}'`).join(" ")
    const code = `source '${script}'; for line in ${lines}; complete -C $line; echo ---; end`
    const answers = execFileSync("fish", ["--no-config", "-c", code], options).split("---\n")
    table.forEach(([line, offered], at) => {
      const found = clean((answers[at] ?? "").split("\n").map((text) => text.split("\t")[0] ?? ""))
      for (const one of offered) assert.include(found, one, line)
      if (/ --?\w+$| $/.test(line) && offered.length > 0) assert.deepStrictEqual(found, offered, line)
    })
  })

  afterAll(remove)
})

describe("completion in zsh", () => {
  const { script, options, remove } = place("zsh")

  it.skipIf(!has("zsh"))("completes at a real prompt (skipped where zsh is not installed)", () => {
    // zsh completes only at a terminal; its own module for pseudo-terminals gives it one.
    const keys = table.flatMap(([line, offered]) => {
      const typed = line.split(" ").at(-1) ?? ""
      return offered.length === 1 && offered[0] !== undefined
        ? [{ line, whole: line.slice(0, line.length - typed.length) + offered[0] }]
        : []
    })
    const code = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -U compinit; compinit -u -D; source '${script}'; bindkey '^I' complete-word"
zpty -w shell 'show() { print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N show; bindkey "^T" show; print rea""dy'
zpty -r shell got '*ready*'
for line in ${keys.map(({ line }) => `'${line}'`).join(" ")}; do
  zpty -w -n shell "$line"$'\\t\\x14'
  zpty -r shell got '*<<*>>*'
  print -r -- "$got"
done
zpty -w shell exit
zpty -d shell`
    const { stdout, stderr } = spawnSync("zsh", ["-f", "-c", code], { ...options, timeout: 20_000 })
    const found = [...stdout.matchAll(/<<(.*?)>>/g)].map(([, line]) => line?.replace(/[=, ]+$/, ""))
    assert.deepStrictEqual(
      found,
      keys.map(({ whole }) => whole),
      stderr,
    )
  })

  afterAll(remove)
})

describe("the words that change", () => {
  const temporary = () => fs.mkdtempSync(path.join(os.tmpdir(), "troupe-words-"))
  const second = "223e4567-e89b-42d3-a456-426614174000"

  it("are the sessions of this directory, the latest first, with what they are about", () => {
    const config = temporary()
    const file = (session: string) => SessionPaths.transcriptPath({ configDir: config }, "/my/work", session)
    fs.mkdirSync(path.dirname(file(id)), { recursive: true })
    const said = (content: unknown) => `${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`
    fs.writeFileSync(file(id), `{"type":"summary"}\nno json\n${said([{ type: "text", text: "older\u001b[31m one" }])}`)
    fs.utimesSync(file(id), 1000, 1000)
    fs.writeFileSync(file(second), said("the\nnewer"))
    fs.writeFileSync(path.join(path.dirname(file(id)), "agent-1.jsonl"), said("not a session"))
    fs.mkdirSync(file("323e4567-e89b-42d3-a456-426614174000"))
    const lines = words("sessions", { env: { CLAUDE_CONFIG_DIR: config }, cwd: () => "/my/work" }).split("\n")
    assert.match(lines[0] ?? "", new RegExp(`^${second}\t[-0-9: ]+ the newer$`))
    assert.match(lines[1] ?? "", new RegExp(`^${id}\t1970-01-01 [0-9:]+ older one$`))
    assert.lengthOf(lines, 3)
    fs.rmSync(config, { recursive: true })
  })

  it("are none where there is nothing, and nothing fails", () => {
    assert.strictEqual(words("sessions", { env: { CLAUDE_CONFIG_DIR: "/nowhere" }, cwd: () => "/" }), "")
    assert.strictEqual(
      words("anything", {
        env: {},
        cwd: () => {
          throw new Error("gone")
        },
      }),
      "",
    )
  })
})

describe("the description", () => {
  it("names the tools a session has", () => {
    assert.deepStrictEqual(
      Describe.toolNames,
      [...new Set(Coding.coding.flatMap(({ listed, name }) => (listed ? [name] : [])))].toSorted(),
    )
  })

  it("keeps what is hidden to itself", () => {
    for (const shell of shells) assert.notInclude(completion(shell, program), "__man")
    assert.notInclude(
      described.commands.map(({ path }) => path),
      "__complete",
    )
  })
})
