import { assert, describe, it } from "@effect/vitest"
import { signalCodes } from "../../src/cli/Stdio.ts"
import { parse } from "../../src/cli/Argv.ts"
import type { Facts, SessionArgs } from "../../src/cli/SessionArgs.ts"
import { permissionModes } from "../../src/cli/Options.ts"
import { PermissionMode } from "../../src/protocol/PermissionMode.ts"
import { endings } from "../../src/protocol/Terminal.ts"

const terminal: Facts = { version: "1.2.3", stdinIsTerminal: true, stdoutIsTerminal: true, columns: 100 }
const pipe: Facts = { ...terminal, stdinIsTerminal: false, stdoutIsTerminal: false }
const id = "123e4567-e89b-42d3-a456-426614174000"

const session = (argv: ReadonlyArray<string>, facts = terminal): SessionArgs => {
  const parsed = parse(argv, facts)
  if (parsed._tag !== "Do" || parsed.job._tag !== "Session") throw new Error(JSON.stringify(parsed))
  return parsed.job
}

const complaint = (argv: ReadonlyArray<string>, facts = terminal): string => {
  const parsed = parse(argv, facts)
  if (parsed._tag !== "Wrong") throw new Error(`accepted: ${JSON.stringify(parsed)}`)
  return parsed.text
}

describe("a good command line", () => {
  const table: ReadonlyArray<[ReadonlyArray<string>, Partial<SessionArgs>, Facts?]> = [
    [
      ["fix it"],
      {
        prompt: "fix it",
        print: false,
        outputFormat: "text",
        allowedTools: [],
        which: { _tag: "New", sessionId: undefined },
      },
    ],
    [["-p", "fix it"], { prompt: "fix it", print: true }],
    [["--print", "fix it", "--model", "opus"], { model: "opus", prompt: "fix it" }],
    [["--model=opus", "fix it"], { model: "opus", prompt: "fix it" }],
    [["-p", "x", "--output-format=json"], { outputFormat: "json" }],
    [
      ["-p", "x", "--output-format", "stream-json", "--include-partial-messages", "--verbose"],
      { partialMessages: true, verbose: true },
    ],
    [["x", "--max-turns", "3", "--max-budget-usd=1.50"], { maxTurns: 3, maxBudgetUsd: 1.5 }],
    [["x", "--max-budget-usd", "$2"], { maxBudgetUsd: 2 }],
    [["x", "--permission-mode", "acceptEdits"], { permissionMode: "acceptEdits" }],
    [["x", "--permission-mode", "manual"], { permissionMode: "default" }],
    [["x", "--dangerously-skip-permissions"], { permissionMode: "bypassPermissions" }],
    [["x", "--allowedTools", "Read", "Bash(git log *)"], { allowedTools: ["Read", "Bash(git log *)"] }],
    [["x", "--allowed-tools=Read,Edit Grep"], { allowedTools: ["Read", "Edit", "Grep"] }],
    [["x", "--disallowedTools", "Bash(rm *),WebFetch"], { disallowedTools: ["Bash(rm *)", "WebFetch"] }],
    [["--allowedTools", "Read", "--", "fix it"], { allowedTools: ["Read"], prompt: "fix it" }],
    [
      ["--allowedTools", "Read Bash(npm test *)", "-p"],
      { allowedTools: ["Read", "Bash(npm test *)"], prompt: undefined },
      pipe,
    ],
    [["--", "demo"], { prompt: "demo" }],
    [["x", "--add-dir", "../a", "../b"], { addDirs: ["../a", "../b"] }],
    [["-c"], { which: { _tag: "Latest", fork: false, sessionId: undefined } }],
    [["--continue", "--fork-session", "--session-id", id], { which: { _tag: "Latest", fork: true, sessionId: id } }],
    [["-r", id, "go on"], { prompt: "go on", which: { _tag: "Resume", id, fork: false, sessionId: undefined } }],
    [["--resume"], { which: { _tag: "Latest", fork: false, sessionId: undefined } }],
    [["x", "--session-id", id.toUpperCase()], { which: { _tag: "New", sessionId: id } }],
    [
      ["x", "--system-prompt", "be brief", "--append-system-prompt-file", "a.md"],
      { systemPrompt: { text: "be brief" }, appendSystemPrompt: { file: "a.md" } },
    ],
    [["-p", "x", "--json-schema", '{"type":"object"}'], { jsonSchema: { type: "object" } }],
    [["x", "--setting-sources", "user, project"], { settingSources: ["user", "project"] }],
    [["x", "--no-color", "--debug"], { color: false, debug: true }],
    [["x"], { color: false }, { ...terminal, noColor: true }],
    [["x"], { print: true }, pipe],
    [
      ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--max-turns=3"],
      { print: true, inputFormat: "stream-json", maxTurns: 3 },
      terminal,
    ],
    [[], { print: false, prompt: undefined }],
  ]
  for (const [argv, expected, facts] of table) {
    it(`troupe ${argv.join(" ")}${facts === pipe ? " in a pipe" : ""}`, () => {
      const args = session(argv, facts)
      for (const [key, value] of Object.entries(expected)) {
        assert.deepStrictEqual(Reflect.get(args, key), value, key)
      }
    })
  }

  it("finds the commands", () => {
    const job = (...argv: ReadonlyArray<string>) => {
      const parsed = parse(argv, terminal)
      return parsed._tag === "Do" ? parsed.job : parsed
    }
    assert.include(job("demo", "--no-color"), { _tag: "Demo", color: false })
    assert.include(job("config", "explain", "model", "--json"), { _tag: "ConfigExplain", key: "model", json: true })
    assert.include(job("config", "list", "--settings", "a.json"), { _tag: "ConfigList", settings: "a.json" })
    assert.include(job("model", "serve", "a.yaml", "--port", "8080"), {
      _tag: "ModelServe",
      playbook: "a.yaml",
      port: 8080,
    })
  })
})

describe("a bad command line says what, why and what else", () => {
  const table: ReadonlyArray<[ReadonlyArray<string>, ReadonlyArray<string>, Facts?]> = [
    [
      ["--modle", "x"],
      ["--modle", "Did you mean --model?"],
    ],
    [["--outputformat=json"], ["--outputformat", "--output-format"]],
    [["--xyzzy"], ["--xyzzy", "--help"]],
    [["--model"], ["--model", "needs a value"]],
    [
      ["x", "--output-format", "jsn"],
      ['"jsn"', "text, json, stream-json", "Did you mean json?"],
    ],
    [
      ["x", "--permission-mode", "bypass"],
      ["bypass", "bypassPermissions"],
    ],
    [["x", "--permission-mode", "acceptedits"], ["Did you mean acceptEdits?"]],
    [
      ["x", "--max-turns", "0"],
      ["--max-turns", "at least 1"],
    ],
    [
      ["x", "--max-turns", "three"],
      ["--max-turns", "whole number"],
    ],
    [["x", "--max-budget-usd", "-1"], ["--max-budget-usd"]],
    [
      ["x", "--max-budget-usd", "free"],
      ["--max-budget-usd", "dollars"],
    ],
    [
      ["x", "--setting-sources", "user,projct"],
      ["projct", "Did you mean project?"],
    ],
    [
      ["fix", "the", "test"],
      ["in quotes", 'troupe "fix the test"'],
    ],
    [["-p"], ["needs a prompt"]],
    [["   "], ["prompt is empty"]],
    [
      ["-p", "--allowedTools", "Read", "fix the bug"],
      ["--allowedTools", '"fix the bug"', "--"],
    ],
    [
      ["-p", "--allowedTools", "Read", "hello"],
      ["needs a prompt", "--allowedTools", '"hello"'],
    ],
    [
      ["--add-dir", "../lib", "Fix the bug"],
      ["--add-dir", '"Fix the bug"'],
    ],
    [["x", "--output-format", "json"], ["--output-format json needs -p"]],
    [["--input-format", "stream-json"], ["needs --output-format stream-json"]],
    [
      ["x", "--input-format", "stream-json", "--output-format", "stream-json"],
      ["exclude each other", "stdin"],
    ],
    [["-p", "x", "--include-partial-messages"], ["--include-partial-messages needs"]],
    [["x", "--json-schema", "{}"], ["--json-schema needs -p"]],
    [
      ["-p", "x", "--json-schema", "schema.json"],
      ["--json-schema", "not valid JSON", "$(cat"],
    ],
    [["-p", "x", "--json-schema", "[]"], ["JSON object"]],
    [["x", "--system-prompt", "a", "--system-prompt-file", "b"], ["exclude each other"]],
    [["x", "--dangerously-skip-permissions", "--permission-mode", "plan"], ["contradict"]],
    [["x", "--model", "opus", "--fallback-model", "opus"], ["must differ"]],
    [["-c", "-r", id], ["--continue and --resume"]],
    [
      ["-r", "fix it"],
      ['"fix it" is no session id', "--continue"],
    ],
    [["-p", "x", "--resume"], ["--resume needs a session id"]],
    [["x", "--fork-session"], ["--fork-session needs"]],
    [
      ["x", "--session-id", "7"],
      ["--session-id", "UUID"],
    ],
    [
      ["-c", "--session-id", id],
      ["--session-id", "--fork-session"],
    ],
    [
      ["config", "explian"],
      ["explian", "explain"],
    ],
    [["config", "explain", "a", "b"], ["one argument too many"]],
    [["demo", "--modle"], ["unknown flag --modle."]],
    [["model", "serve"], ["playbook"]],
    [
      ["model", "serve", "a", "--port", "99999"],
      ["--port", "65535"],
    ],
    [
      ["--model", "opus", "demo"],
      ["--model", "in front of a command"],
    ],
  ]
  for (const [argv, parts, facts] of table) {
    it(`troupe ${argv.join(" ")}`, () => {
      const text = complaint(argv, facts)
      for (const part of parts) assert.include(text, part)
    })
  }

  it("does not suggest a flag that the command has not", () => {
    assert.notInclude(complaint(["demo", "--modle"]), "Did you mean")
  })
})

describe("help", () => {
  const text = (...argv: ReadonlyArray<string>) => {
    const parsed = parse(argv, terminal)
    return parsed._tag === "Show" ? parsed.text : ""
  }

  it("has groups, defaults, examples and every exit code", () => {
    const help = text("--help")
    for (const part of ["Output:", "Permissions:", "Session:", "Examples:", 'default: "text"', "config", "demo"]) {
      assert.include(help, part)
    }
    const codes = [...Object.values(endings).map(({ exitCode }) => exitCode), ...Object.values(signalCodes)]
    for (const code of codes) assert.match(help, new RegExp(`\\b${code}  `))
  })

  it("shows the version with any of its flags", () => {
    for (const flag of ["-v", "--version"]) assert.strictEqual(text(flag), "1.2.3 (Troupe)\n")
  })

  it("of a command group names its commands", () => {
    assert.include(text("config"), "explain")
    assert.include(text("model", "--help"), "serve")
  })

  it("knows every permission mode", () => {
    assert.deepStrictEqual([...permissionModes], [...PermissionMode.literals])
  })
})

describe("flags that clients give", () => {
  const session = (...argv: ReadonlyArray<string>) => {
    const parsed = parse(argv, terminal)
    if (parsed._tag !== "Do" || parsed.job._tag !== "Session") throw new Error(JSON.stringify(parsed))
    return parsed.job
  }
  const talking = ["--input-format=stream-json", "--output-format=stream-json"]

  it("are named when they have no effect, each once", () => {
    assert.deepStrictEqual(session("x").idle, [])
    assert.deepStrictEqual(
      session("x", "--task-budget", "9", "--betas=a", "--betas=b", "--no-session-persistence").idle,
      ["--task-budget has no effect yet.", "--betas has no effect yet.", "--no-session-persistence has no effect yet."],
    )
    assert.deepStrictEqual(session("x", "--await-initialize", "--allow-dangerously-skip-permissions").idle, [])
  })

  it("let the client be asked, unless nobody is to be", () => {
    assert.isFalse(session(...talking).asksClient)
    assert.isTrue(session(...talking, "--permission-prompt-tool=stdio").asksClient)
    assert.isFalse(session(...talking, "--permission-prompt-tool", "stdio", "--permission-prompts=none").asksClient)
    const other = session(...talking, "--permission-prompt-tool", "mcp__a__b")
    assert.isFalse(other.asksClient)
    assert.match(other.idle.join(), /except with stdio/)
    assert.match(session("x", "--permission-prompt-tool=stdio").idle.join(), /without --input-format stream-json/)
  })

  it("choose among the tools", () => {
    assert.isUndefined(session("x").tools)
    assert.isUndefined(session("x", "--tools=default").tools)
    assert.deepStrictEqual(session("x", "--tools=Read, Edit").tools, ["Read", "Edit"])
    assert.deepStrictEqual(session("x", "--tools=").tools, [""])
  })
})
