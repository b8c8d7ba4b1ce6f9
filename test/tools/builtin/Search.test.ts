import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { Glob } from "../../../src/tools/builtin/Glob.ts"
import { Grep } from "../../../src/tools/builtin/Grep.ts"
import { Workspace } from "../../../src/tools/Workspace.ts"
import { call, inWorkspace, type Place, refusal, said } from "./kit.ts"

const old = (place: Place, name: string, ageSeconds: number) => {
  const time = 1_700_000_000 - ageSeconds
  fs.utimesSync(place.at(name), time, time)
}

const repository = (place: Place) => {
  execFileSync("git", ["init", "-q"], { cwd: place.root })
  place.put(".gitignore", "ignored/\n")
  place.put("src/a.ts", "import x\nconst needle = 1\nlast\n")
  place.put("src/deep/b.ts", "needle needle\n")
  place.put("src/c.js", "Needle\n")
  place.put("ignored/d.ts", "needle\n")
  place.put(".hidden/e.ts", "needle\n")
  place.put("-dash.txt", "--needle\n")
  for (const [age, name] of ["src/c.js", "src/a.ts", ".hidden/e.ts", "src/deep/b.ts", "ignored/d.ts"].entries()) {
    old(place, name, age)
  }
}

describe("Glob", () => {
  it.live("finds files by name, the newest first, hidden and ignored ones too", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        repository(place)
        const output = yield* call(Glob, { pattern: "**/*.ts" })
        const filenames = ["src/a.ts", ".hidden/e.ts", "src/deep/b.ts", "ignored/d.ts"]
        assert.strictEqual(output.content, filenames.join("\n"))
        assert.deepInclude(output.structured, { filenames, numFiles: 4, truncated: false })
        assert.strictEqual(yield* said(Glob, { pattern: "./src/*.{ts,js}" }), "src/c.js\nsrc/a.ts")
        assert.strictEqual(yield* said(Glob, { pattern: "*.ts", path: "src/deep" }), "src/deep/b.ts")
        assert.strictEqual(yield* said(Glob, { pattern: place.at("src", "*.js") }), "src/c.js")
        assert.strictEqual(yield* said(Glob, { pattern: place.at("src", "c.js") }), "src/c.js")
        assert.strictEqual(yield* said(Glob, { pattern: "**/*.rs" }), "No files match.")
        assert.notInclude(yield* said(Glob, { pattern: "**/*" }), ".git/")
      }),
    ),
  )

  it.live("names files outside the shell's directory in full", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        repository(place)
        yield* (yield* Workspace).enter("src/deep")
        assert.strictEqual(yield* said(Glob, { pattern: "*.ts" }), "b.ts")
        assert.strictEqual(yield* said(Glob, { pattern: "../*.js" }), place.at("src/c.js"))
        const invocation = yield* Glob.decode({ pattern: "/etc/*.conf" })
        assert.deepStrictEqual(yield* invocation.effects, { reads: [fs.realpathSync("/etc")] })
      }),
    ),
  )

  it.live("leaves out what git ignores when the environment says so", () =>
    inWorkspace(
      (place) =>
        Effect.gen(function* () {
          repository(place)
          assert.strictEqual(yield* said(Glob, { pattern: "**/*.ts" }), "src/a.ts\nsrc/deep/b.ts")
        }),
      { env: { CLAUDE_CODE_GLOB_NO_IGNORE: "false", CLAUDE_CODE_GLOB_HIDDEN: "false" } },
    ),
  )

  it.live("stops at a hundred files and says so", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        for (let i = 0; i < 120; i++) place.put(`f${i}.txt`, "")
        const output = yield* call(Glob, { pattern: "*.txt" })
        assert.deepInclude(output.structured, { numFiles: 100, truncated: true })
        assert.match(String(output.content), /\n\[100 of 120 files, the newest\. Narrow the pattern or the path\.\]$/)
      }),
    ),
  )

  it.live("refuses a bad pattern or place in clear words", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        place.put("src/a.ts", "")
        assert.match(yield* refusal(Glob, { pattern: "{a" }), /the glob is not valid: .*unclosed/)
        assert.match(yield* refusal(Glob, { pattern: "" }), /pattern/)
        assert.match(yield* refusal(Glob, { pattern: "*", path: "scr" }), /There is no file .*scr.*Did you mean .*src/)
        assert.match(yield* refusal(Glob, { pattern: "*", path: "src/a.ts" }), /is a file/)
      }),
    ),
  )
})

describe("Grep", () => {
  it.live("lists files with matches, the newest first, without those that git ignores", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        repository(place)
        const output = yield* call(Grep, { pattern: "needle", glob: "*.ts" })
        const filenames = ["src/a.ts", ".hidden/e.ts", "src/deep/b.ts"]
        assert.strictEqual(output.content, filenames.join("\n"))
        assert.deepStrictEqual(output.structured, { mode: "files_with_matches", numFiles: 3, filenames, totalFiles: 3 })
        assert.strictEqual(yield* said(Grep, { pattern: "needle", "-i": true, type: "js" }), "src/c.js")
        assert.strictEqual(yield* said(Grep, { pattern: "nowhere" }), "No files found.")
      }),
    ),
  )

  it.live("puts two thousand files in order of their age, page by page", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        const names = Array.from({ length: 2_000 }, (_, index) => `d${index % 7}/f${index}.txt`)
        for (const [index, name] of names.entries()) {
          place.put(name, "needle\n")
          old(place, name, index)
        }
        const output = yield* call(Grep, { pattern: "needle" })
        assert.deepStrictEqual(output.structured, {
          mode: "files_with_matches",
          numFiles: 250,
          filenames: names.slice(0, 250),
          totalFiles: 2_000,
          appliedLimit: 250,
        })
        const last = yield* said(Grep, { pattern: "needle", offset: 1_990 })
        assert.strictEqual(last, names.slice(1_990).join("\n"))
      }),
    ),
  )

  it.live("shows matching lines with numbers and context", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        repository(place)
        const grep = (input: object) => said(Grep, { output_mode: "content", ...input })
        assert.strictEqual(yield* grep({ pattern: "needle =", path: "src" }), "src/a.ts:2:const needle = 1")
        assert.strictEqual(yield* grep({ pattern: "needle =", "-n": false }), "src/a.ts:const needle = 1")
        const around = "src/a.ts-1-import x\nsrc/a.ts:2:const needle = 1\nsrc/a.ts-3-last"
        assert.strictEqual(yield* grep({ pattern: "needle =", "-C": 1 }), around)
        assert.strictEqual(yield* grep({ pattern: "needle =", context: 1, path: "src/a.ts" }), around)
        assert.strictEqual(yield* grep({ pattern: "needle =", "-A": 1, "-B": 1 }), around)
        assert.strictEqual(yield* grep({ pattern: "--needle" }), "-dash.txt:1:--needle")
        assert.strictEqual(yield* grep({ pattern: "none" }), "No matches found.")
        const spans = yield* grep({ pattern: "import.*needle", multiline: true })
        assert.strictEqual(spans, "src/a.ts:1:import x\nsrc/a.ts:2:const needle = 1")
      }),
    ),
  )

  it.live("counts matching lines per file", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        place.put("a", "x\nx\ny\n")
        place.put("b", "x\n")
        const output = yield* call(Grep, { pattern: "x", output_mode: "count" })
        assert.strictEqual(output.content, "a:2\nb:1\n3 matching lines in 2 files.")
        assert.deepInclude(output.structured, { mode: "count", numFiles: 2, numMatches: 3 })
      }),
    ),
  )

  it.live("understands every mode: type, case, only the match, lines across lines", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        put("a.py", "Alpha = 1\nbeta = 2\n")
        put("b.ts", "const alpha = 1\n")
        const grep = (input: object) => said(Grep, { output_mode: "content", ...input })
        assert.strictEqual(yield* grep({ pattern: "alpha", "-i": true, type: "py" }), "a.py:1:Alpha = 1")
        assert.strictEqual(yield* grep({ pattern: "al.ha", "-o": true }), "b.ts:1:alpha")
        assert.strictEqual(yield* grep({ pattern: "alpha", "-n": false, glob: "*.ts" }), "b.ts:const alpha = 1")
        assert.strictEqual(yield* grep({ pattern: "1.beta", multiline: true }), "a.py:1:Alpha = 1\na.py:2:beta = 2")
        assert.strictEqual(yield* grep({ pattern: "beta", "-B": 1 }), "a.py-1-Alpha = 1\na.py:2:beta = 2")
        assert.strictEqual(yield* grep({ pattern: "Alpha", context: 1 }), "a.py:1:Alpha = 1\na.py-2-beta = 2")
        const counted = yield* call(Grep, { pattern: "=", output_mode: "count", head_limit: 1 })
        // The total is of all files, also of those that are not shown.
        assert.match(String(counted.content), /^a\.py:2\n3 matching lines in 2 files/)
        assert.deepInclude(counted.structured, { numMatches: 3, appliedLimit: 1 })
      }),
    ),
  )

  it.live("pages through many results", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        place.put("a", Array.from({ length: 300 }, (_, i) => `x${i}\n`).join(""))
        const grep = (input: object) => said(Grep, { pattern: "x", output_mode: "content", ...input })
        const first = (yield* grep({})).split("\n")
        assert.strictEqual(first.length, 251)
        assert.strictEqual(first.at(-1), "[250 of 300 shown. Continue with offset 250, or narrow the search.]")
        const rest = yield* grep({ offset: 250 })
        assert.match(rest, /^a:251:x250\n[\s\S]*a:300:x299$/)
        assert.strictEqual((yield* grep({ head_limit: 0 })).split("\n").length, 300)
        assert.strictEqual(yield* grep({ head_limit: 1, offset: 299 }), "a:300:x299")
        assert.match(yield* grep({ offset: 1000 }), /only 300 results/)
      }),
    ),
  )

  it.live("shortens very long lines", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        place.put("min.js", `${"y".repeat(100)}needle${"z".repeat(10_000)}`)
        assert.isBelow((yield* said(Grep, { pattern: "needle", output_mode: "content" })).length, 700)
      }),
    ),
  )

  it.live("refuses a bad expression, type or place in clear words", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        place.put("a", "x")
        assert.match(yield* refusal(Grep, { pattern: "a(" }), /not a valid regular expression[\s\S]*unclosed group/)
        assert.match(yield* refusal(Grep, { pattern: "a\\nb" }), /not a valid regular expression[\s\S]*multiline/)
        assert.match(yield* refusal(Grep, { pattern: "a", type: "nope" }), /file type is not known: .*nope/)
        assert.match(yield* refusal(Grep, { pattern: "a", glob: "{a" }), /glob is not valid/)
        assert.match(yield* refusal(Grep, { pattern: "a", path: "missing" }), /There is no file/)
        assert.match(yield* refusal(Grep, { pattern: "a", output_mode: "lines" }), /output_mode/)
        assert.match(yield* refusal(Grep, { pattern: "a", "-A": "two" }), /-A/)
      }),
    ),
  )

  it.live("does not follow links out of the workspace", () =>
    inWorkspace((place) =>
      Effect.gen(function* () {
        fs.mkdirSync(place.config)
        fs.writeFileSync(`${place.config}/secret`, "needle")
        fs.symlinkSync(place.config, place.at("link"))
        assert.strictEqual(yield* said(Grep, { pattern: "needle" }), "No files found.")
        const invocation = yield* Grep.decode({ pattern: "needle", path: "link" })
        assert.deepStrictEqual(yield* invocation.effects, { reads: [place.at("link"), place.config] })
        assert.isTrue(invocation.readOnly && invocation.concurrencySafe)
      }),
    ),
  )
})
