import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as nodePath from "node:path"
import * as ContextSettings from "../../src/context/ContextSettings.ts"
import { hookFields, renderAll } from "../../src/context/InstructionFragment.ts"
import * as Instructions from "../../src/context/Instructions.ts"
import { TroupeNode } from "../../src/node/index.ts"
import type { HostFacts } from "../../src/platform/Host.ts"
import type { Review } from "../../src/settings/Trust.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const everything: ContextSettings.ContextSettings = {
  ...ContextSettings.none,
  scopes: ["user", "project", "local"],
  managedDirectory: "/etc/claude-code",
}

type Options = Partial<Omit<Instructions.InstructionsOptions, "settings">> & {
  readonly settings?: Partial<ContextSettings.ContextSettings>
}

const make = (options: Options = {}) =>
  Instructions.make({
    cwd: "/repo/app",
    trusted: () => false,
    ...options,
    settings: { ...everything, ...options.settings },
  })

const within =
  (files: Readonly<Record<string, string | Uint8Array>>, facts: HostFacts = {}) =>
  <A, E>(effect: Effect.Effect<A, E, Layer.Success<ReturnType<typeof MemoryWorkspace.layer>>>) =>
    Effect.provide(effect, MemoryWorkspace.layer({ "/repo/.git/HEAD": "", ...files }, facts))

const paths = (fragments: ReadonlyArray<{ readonly path: string }>) => fragments.map(({ path }) => path)

const complaints = ({ report }: Instructions.Instructions) =>
  report().diagnostics.map(({ line, message, path }) => `${path}${line === undefined ? "" : `:${line}`} ${message}`)

describe("the chain of instructions", () => {
  it.effect("goes from the machine's to the nearest, each with its owner", () =>
    Effect.gen(function* () {
      const { start } = yield* make({ settings: { managedText: "Policy in place." } })
      assert.deepStrictEqual(
        start.map(({ kind, path }) => `${kind} ${path}`),
        [
          "Managed the policy of this machine (claudeMd)",
          "Managed /etc/claude-code/CLAUDE.md",
          "User /home/user/.claude/CLAUDE.md",
          "User /home/user/.claude/rules/mine.md",
          "Project /CLAUDE.md",
          "Project /repo/CLAUDE.md",
          "Project /repo/.claude/CLAUDE.md",
          "Project /repo/.claude/rules/a/b.md",
          "Project /repo/.claude/rules/z.md",
          "Local /repo/CLAUDE.local.md",
          "Project /repo/app/CLAUDE.md",
          "Local /repo/app/CLAUDE.local.md",
        ],
      )
      assert.isTrue(start.every(({ loadReason }) => loadReason === "session_start"))
      const text = renderAll(start)
      assert.isBelow(text.indexOf("Contents of /repo/CLAUDE.md"), text.indexOf("Contents of /repo/app/CLAUDE.md"))
    }).pipe(
      within({
        "/etc/claude-code/CLAUDE.md": "m",
        "/home/user/.claude/CLAUDE.md": "u",
        "/home/user/.claude/rules/mine.md": "u",
        "/CLAUDE.md": "top",
        "/repo/CLAUDE.md": "p",
        "/repo/.claude/CLAUDE.md": "p2",
        "/repo/.claude/rules/z.md": "z",
        "/repo/.claude/rules/a/b.md": "b",
        "/repo/.claude/rules/notes.txt": "no",
        "/repo/CLAUDE.local.md": "l",
        "/repo/app/CLAUDE.md": "app",
        "/repo/app/CLAUDE.local.md": "appl",
        "/repo/app/sub/CLAUDE.md": "later",
      }),
    ),
  )

  it.effect("reads AGENTS.md only where there is no CLAUDE.md", () =>
    Effect.gen(function* () {
      const { start } = yield* make()
      assert.deepStrictEqual(paths(start), ["/repo/AGENTS.md", "/repo/app/.claude/CLAUDE.md"])
    }).pipe(within({ "/repo/AGENTS.md": "a", "/repo/app/AGENTS.md": "b", "/repo/app/.claude/CLAUDE.md": "c" })),
  )

  it.effect("leaves out whose files do not count", () =>
    Effect.gen(function* () {
      const only = (...scopes: ContextSettings.ContextSettings["scopes"]) =>
        Effect.map(make({ settings: { scopes } }), ({ start }) => paths(start))
      assert.deepStrictEqual(yield* only("user"), ["/home/user/.claude/CLAUDE.md"])
      assert.deepStrictEqual(yield* only("project"), ["/repo/CLAUDE.md"])
      assert.deepStrictEqual(yield* only("local"), ["/repo/CLAUDE.local.md"])
      assert.deepStrictEqual(yield* only(), [])
    }).pipe(within({ "/home/user/.claude/CLAUDE.md": "u", "/repo/CLAUDE.md": "p", "/repo/CLAUDE.local.md": "l" })),
  )

  it.effect("takes the user's own file once, as the user's, when the project is in the home directory", () =>
    Effect.gen(function* () {
      const { start } = yield* make({ cwd: "/home/user/p" })
      assert.deepStrictEqual(
        start.map(({ kind }) => kind),
        ["User"],
      )
      const { start: none } = yield* make({ cwd: "/home/user/p", settings: { scopes: ["project", "local"] } })
      assert.deepStrictEqual(none, [])
    }).pipe(within({ "/home/user/.claude/CLAUDE.md": "u", "/home/user/p/x": "" })),
  )

  it.effect("leaves out what settings exclude, but not the machine's", () =>
    Effect.gen(function* () {
      const claudeMdExcludes = ["**/CLAUDE.md", "/repo/.claude/rules/**"]
      const instructions = yield* make({ settings: { claudeMdExcludes } })
      assert.deepStrictEqual(paths(instructions.start), ["/etc/claude-code/CLAUDE.md"])
      assert.deepStrictEqual(complaints(instructions), [])
      assert.includeDeepMembers(
        [...instructions.report().decisions],
        [{ path: "/repo/CLAUDE.md", kind: "Project", outcome: "excluded", why: "claudeMdExcludes names it" }],
      )
    }).pipe(within({ "/etc/claude-code/CLAUDE.md": "m", "/repo/CLAUDE.md": "p", "/repo/.claude/rules/a.md": "r" })),
  )

  it.effect("skips what is too large or no text, and says so", () =>
    Effect.gen(function* () {
      const instructions = yield* make()
      assert.deepStrictEqual(instructions.start, [])
      const [binary, large] = complaints(instructions)
      assert.include(large, "/repo/app/CLAUDE.md not read: it is larger than 4 MiB")
      assert.include(binary, "binary")
    }).pipe(
      within({
        "/repo/CLAUDE.md": new Uint8Array([65, 0, 66]),
        "/repo/app/CLAUDE.md": "x".repeat(4 * 1024 * 1024 + 1),
      }),
    ),
  )

  it.effect("reads added directories only when told to", () =>
    Effect.gen(function* () {
      const addDirs = ["/shared"]
      assert.deepStrictEqual((yield* make({ addDirs })).start, [])
      const { start, touched } = yield* make({ addDirs, settings: { fromAddedDirectories: true } })
      assert.deepStrictEqual(paths(start), ["/shared/CLAUDE.md", "/shared/.claude/rules/r.md"])
      assert.deepStrictEqual(paths(yield* touched(["/shared/x/y.ts"])), ["/shared/x/CLAUDE.md"])
    }).pipe(within({ "/shared/CLAUDE.md": "s", "/shared/.claude/rules/r.md": "r", "/shared/x/CLAUDE.md": "x" })),
  )

  it.effect("strips comments for people", () =>
    Effect.gen(function* () {
      const { start } = yield* make()
      assert.deepStrictEqual(
        start.map(({ content }) => content),
        ["Use tabs."],
      )
    }).pipe(within({ "/repo/CLAUDE.md": "<!-- note -->\r\nUse tabs.\r\n", "/repo/app/CLAUDE.md": "<!-- empty -->" })),
  )
})

describe("an import", () => {
  it.effect("comes before the file that names it, relative to that file, four deep and no more", () =>
    Effect.gen(function* () {
      const instructions = yield* make()
      assert.deepStrictEqual(
        paths(instructions.start),
        ["4", "3", "2", "1"].map((n) => `/repo/d/${n}.md`).concat("/repo/CLAUDE.md"),
      )
      assert.deepStrictEqual(hookFields(instructions.start[0] ?? assert.fail()), {
        file_path: "/repo/d/4.md",
        memory_type: "Project",
        load_reason: "include",
        parent_file_path: "/repo/d/3.md",
      })
      assert.deepStrictEqual(complaints(instructions), [
        "/repo/d/4.md:3 @/repo/d/5.md is not read: it is more than 4 imports away; import it from nearer by",
      ])
    }).pipe(
      within({
        "/repo/CLAUDE.md": "@d/1.md",
        "/repo/d/1.md": "@2.md",
        "/repo/d/2.md": "@./3.md",
        "/repo/d/3.md": "@4.md",
        "/repo/d/4.md": "a\n\n@5.md",
        "/repo/d/5.md": "too deep",
      }),
    ),
  )

  it.effect("in a circle or by two ways comes once", () =>
    Effect.gen(function* () {
      const { start, report } = yield* make()
      assert.deepStrictEqual(paths(start), ["/repo/a.md", "/repo/b.md", "/repo/CLAUDE.md", "/repo/app/CLAUDE.md"])
      assert.lengthOf(
        report().decisions.filter(({ outcome }) => outcome === "duplicate"),
        3,
      )
    }).pipe(
      within({
        "/repo/CLAUDE.md": "@b.md @a.md",
        "/repo/b.md": "@a.md",
        "/repo/a.md": "@CLAUDE.md",
        "/repo/app/CLAUDE.md": "@../a.md",
      }),
    ),
  )

  it.effect("that is missing is told about when it can only be meant as a file", () =>
    Effect.gen(function* () {
      const instructions = yield* make()
      assert.deepStrictEqual(complaints(instructions), [
        "/repo/CLAUDE.md:2 @/repo/gone.md is not read: it does not exist",
      ])
    }).pipe(within({ "/repo/CLAUDE.md": "ask @somebody, use @effect/vitest\nsee @gone.md" })),
  )

  it.effect("out of the project waits until a person agrees to exactly these files", () =>
    Effect.gen(function* () {
      const asked: Array<Review> = []
      const withheld = yield* make({ trusted: (review) => asked.push(review) === 0 })
      assert.deepStrictEqual(paths(withheld.start), ["/repo/in.md", "/repo/CLAUDE.md"])
      assert.deepStrictEqual(
        withheld.report().reviews.map(({ keys, source }) => [source.kind, source.name, ...keys]),
        [["project", "/repo/CLAUDE.md", "/home/user/mine.md", "/opt/x.md"]],
      )
      assert.lengthOf(complaints(withheld), 2)
      const agreed = yield* make({ trusted: ({ hash }) => hash === asked[0]?.hash })
      assert.deepStrictEqual(paths(agreed.start), ["/home/user/mine.md", "/repo/in.md", "/opt/x.md", "/repo/CLAUDE.md"])
      assert.deepStrictEqual(complaints(agreed), [])
    }).pipe(
      within({
        "/repo/CLAUDE.md": "@~/mine.md @in.md @../opt/x.md",
        "/repo/in.md": "in",
        "/home/user/mine.md": "mine",
        "/opt/x.md": "x",
      }),
    ),
  )

  it.effect("of the user's own file needs nobody's leave", () =>
    Effect.gen(function* () {
      const { start } = yield* make()
      assert.deepStrictEqual(paths(start), ["/opt/x.md", "/home/user/.claude/CLAUDE.md"])
    }).pipe(within({ "/home/user/.claude/CLAUDE.md": "@/opt/x.md", "/opt/x.md": "x" })),
  )

  it.effect("never brings credentials, a file that rules hide, or a deceiving name", () =>
    Effect.gen(function* () {
      const instructions = yield* make({ hides: (path) => path === "/repo/hidden.md" })
      assert.deepStrictEqual(paths(instructions.start), ["/repo/CLAUDE.md"])
      assert.deepStrictEqual(
        instructions.report().decisions.map(({ outcome }) => outcome),
        ["loaded", "secret", "secret", "hidden", "bad_path"],
      )
    }).pipe(
      within({
        "/repo/CLAUDE.md": "@.env @~/.ssh/id_rsa @hidden.md @a\u200bb.md",
        "/repo/.env": "KEY=1",
        "/repo/hidden.md": "h",
        "/home/user/.ssh/id_rsa": "k",
      }),
    ),
  )
})

describe("instructions that come later", () => {
  const files = {
    "/repo/CLAUDE.md": "p",
    "/repo/app/web/CLAUDE.md": "web @more.md",
    "/repo/app/web/more.md": "more",
    "/repo/app/web/ui/CLAUDE.local.md": "ui",
    "/repo/app/web/.claude/rules/css.md": "---\npaths: '*.{css,scss}, lib/**'\n---\ncss",
    "/repo/.claude/rules/ts.md": '---\npaths:\n  - "app/**/*.ts"\n---\nTypes.',
    "/home/user/.claude/rules/sql.md": "---\npaths: ['**/*.sql']\n---\nUpper case.",
  }

  it.effect("come with the first file touched below their directory, once", () =>
    Effect.gen(function* () {
      const { start, touched } = yield* make()
      assert.deepStrictEqual(paths(start), ["/repo/CLAUDE.md"])
      const first = yield* touched(["/repo/app/web/ui/button.txt"])
      assert.deepStrictEqual(first.map(hookFields), [
        {
          file_path: "/repo/app/web/more.md",
          memory_type: "Project",
          load_reason: "include",
          trigger_file_path: "/repo/app/web/ui/button.txt",
          parent_file_path: "/repo/app/web/CLAUDE.md",
        },
        {
          file_path: "/repo/app/web/CLAUDE.md",
          memory_type: "Project",
          load_reason: "nested_traversal",
          trigger_file_path: "/repo/app/web/ui/button.txt",
        },
        {
          file_path: "/repo/app/web/ui/CLAUDE.local.md",
          memory_type: "Local",
          load_reason: "nested_traversal",
          trigger_file_path: "/repo/app/web/ui/button.txt",
        },
      ])
      assert.deepStrictEqual(yield* touched(["/repo/app/web/ui/other.txt", "/elsewhere/x"]), [])
    }).pipe(within(files)),
  )

  it.effect("come with the first file their patterns match", () =>
    Effect.gen(function* () {
      const { touched } = yield* make()
      const [rule, ...rest] = yield* touched(["/repo/app/a/b.ts"])
      assert.deepStrictEqual(hookFields(rule ?? assert.fail()), {
        file_path: "/repo/.claude/rules/ts.md",
        memory_type: "Project",
        load_reason: "path_glob_match",
        globs: ["app/**/*.ts"],
        trigger_file_path: "/repo/app/a/b.ts",
      })
      assert.deepStrictEqual(rest, [])
      assert.deepStrictEqual(yield* touched(["/repo/app/c.ts"]), [])
      assert.deepStrictEqual(paths(yield* touched(["/repo/db/x.sql"])), ["/home/user/.claude/rules/sql.md"])
      const nested = paths(yield* touched(["/repo/app/web/a.scss"]))
      assert.include(nested, "/repo/app/web/.claude/rules/css.md")
    }).pipe(within(files)),
  )

  it.effect("do not come again to a session that was told them before", () =>
    Effect.gen(function* () {
      const first = yield* make()
      const told = yield* first.touched(["/repo/app/web/x.ts"])
      const again = yield* make({ injected: told.map(({ origin }) => origin) })
      assert.deepStrictEqual(yield* again.touched(["/repo/app/web/x.ts"]), [])
    }).pipe(within(files)),
  )

  it.effect("are told through the feed, and hooks hear of each", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const instructions = yield* make()
      const hear = ({ path }: { readonly path: string }) => Effect.sync(() => void heard.push(path))
      const source = Instructions.source(instructions, hear)
      assert.deepStrictEqual(yield* source({ kind: "prompt", text: "hi" }), [])
      const told = yield* source({ kind: "round", touched: ["/repo/app/web/x.txt"] })
      assert.deepStrictEqual(heard, ["/repo/app/web/more.md", "/repo/app/web/CLAUDE.md"])
      assert.include(told[1]?.content, "Contents of /repo/app/web/CLAUDE.md")
      const origins = told.map(({ origin }) => origin)
      const again = yield* make({ injected: Instructions.injectedOf(["memory:x.md", ...origins]) })
      assert.deepStrictEqual(yield* again.touched(["/repo/app/web/x.txt"]), [])
    }).pipe(within(files)),
  )

  it.effect("with front matter that is wrong count everywhere, and the line is named", () =>
    Effect.gen(function* () {
      const instructions = yield* make()
      assert.deepStrictEqual(paths(instructions.start), ["/repo/.claude/rules/a.md"])
      assert.deepStrictEqual(complaints(instructions), [
        "/repo/.claude/rules/a.md:3 paths must be a pattern or a list of patterns; the rule counts everywhere",
      ])
    }).pipe(within({ "/repo/.claude/rules/a.md": "---\nname: x\npaths: {a: 1}\n---\nRule." })),
  )
})

describe("links on a real disk", () => {
  const there = Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(nodePath.join(os.tmpdir(), "troupe-instructions-")))),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true })),
  )
  const write = (file: string, text: string) => {
    fs.mkdirSync(nodePath.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
  }
  const at = (base: string, options: Options = {}) =>
    make({ cwd: `${base}/repo`, ...options, settings: { scopes: ["project"], managedDirectory: undefined } })

  it.live("that stay inside are the file itself; that lead out wait for a person", () =>
    Effect.gen(function* () {
      const base = yield* there
      write(`${base}/repo/.git/HEAD`, "")
      write(`${base}/repo/AGENTS.md`, "agents")
      write(`${base}/shared/rules/one.md`, "one")
      write(`${base}/secret.md`, "secret")
      fs.symlinkSync("AGENTS.md", `${base}/repo/CLAUDE.md`)
      fs.mkdirSync(`${base}/repo/.claude/rules`, { recursive: true })
      fs.symlinkSync(`${base}/shared/rules`, `${base}/repo/.claude/rules/shared`)
      fs.symlinkSync(".", `${base}/repo/.claude/rules/circle`)
      fs.symlinkSync(`${base}/secret.md`, `${base}/repo/.claude/CLAUDE.md`)
      const withheld = yield* at(base)
      assert.deepStrictEqual(paths(withheld.start), [`${base}/repo/CLAUDE.md`])
      assert.deepStrictEqual(
        withheld.report().reviews.map(({ keys }) => keys),
        [[`${base}/secret.md`], [`${base}/shared/rules/one.md`]],
      )
      const agreed = yield* at(base, { trusted: ({ keys }) => keys.includes(`${base}/shared/rules/one.md`) })
      assert.deepStrictEqual(paths(agreed.start), [
        `${base}/repo/CLAUDE.md`,
        `${base}/repo/.claude/rules/shared/one.md`,
      ])
    }).pipe(Effect.scoped, Effect.provide(TroupeNode.layer)),
  )

  it.live("to the project itself do not hide that a file is below it", () =>
    Effect.gen(function* () {
      const base = yield* there
      write(`${base}/repo/.git/HEAD`, "")
      write(`${base}/repo/sub/CLAUDE.md`, "sub")
      fs.symlinkSync(`${base}/repo`, `${base}/link`)
      const { touched } = yield* at(base)
      assert.deepStrictEqual(paths(yield* touched([`${base}/link/sub/a.ts`])), [`${base}/repo/sub/CLAUDE.md`])
    }).pipe(Effect.scoped, Effect.provide(TroupeNode.layer)),
  )

  it.live("twenty files cost a few milliseconds", () =>
    Effect.gen(function* () {
      const base = yield* there
      write(`${base}/repo/.git/HEAD`, "")
      for (let n = 0; n < 20; n++) write(`${base}/repo/.claude/rules/${n}.md`, `Rule ${n}. `.repeat(100))
      const once = Effect.gen(function* () {
        const began = performance.now()
        assert.lengthOf((yield* at(base)).start, 20)
        return performance.now() - began
      })
      const took = yield* Effect.forEach([1, 2, 3, 4, 5], () => once)
      assert.isBelow(Math.min(...took), 400)
    }).pipe(Effect.scoped, Effect.provide(TroupeNode.layer)),
  )
})
