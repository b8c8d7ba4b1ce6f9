import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Permissions from "../../src/permissions/Permissions.ts"
import * as Rule from "../../src/permissions/Rule.ts"
import type { PermissionMode } from "../../src/protocol/PermissionMode.ts"

const ask = (given: Partial<Permissions.Ask> = {}): Permissions.Ask => ({
  toolUseId: "toolu_1",
  tool: "Read",
  input: {},
  summary: "Read it",
  readOnly: true,
  reads: ["/work/a"],
  writes: [],
  executes: undefined,
  outside: [],
  sensitive: [],
  ...given,
})
const read = ask()
const readOutside = ask({ outside: ["/etc/passwd"] })
const edit = ask({ tool: "Edit", readOnly: false, writes: ["/work/a"] })
const editOutside = ask({ tool: "Edit", readOnly: false, writes: ["/etc/a"], outside: ["/etc/a"] })
const editGuarded = ask({
  tool: "Edit",
  readOnly: false,
  writes: ["/work/.git/config"],
  sensitive: ["/work/.git/config"],
})
const bash = (command: string) => ask({ tool: "Bash", readOnly: false, reads: [], executes: command })

const rules = (allow: ReadonlyArray<string> = [], deny: ReadonlyArray<string> = []): Permissions.Rules => ({
  allow: Rule.parseAll(allow),
  deny: Rule.parseAll(deny),
})
const verdict = (asked: Permissions.Ask, mode: PermissionMode, given = rules()) => {
  const settled = Permissions.settle(asked, mode, given)
  return settled === "ask" ? "ask" : settled.behavior
}

describe("Permissions.settle", () => {
  it.each<[string, Permissions.Ask, Record<string, string>]>([
    ["a read inside", read, { default: "allow", acceptEdits: "allow", plan: "allow", dontAsk: "allow" }],
    ["a read outside", readOutside, { default: "ask", acceptEdits: "ask", plan: "ask", dontAsk: "deny" }],
    ["an edit inside", edit, { default: "ask", acceptEdits: "allow", plan: "deny", dontAsk: "deny" }],
    ["an edit outside", editOutside, { default: "ask", acceptEdits: "ask", plan: "deny", dontAsk: "deny" }],
    ["an edit of what guards us", editGuarded, { default: "ask", acceptEdits: "ask", plan: "deny", dontAsk: "deny" }],
    ["a command", bash("npm test"), { default: "ask", acceptEdits: "ask", plan: "deny", dontAsk: "deny" }],
  ])("decides %s by the mode", (_, asked, expected) => {
    assert.deepStrictEqual(
      {
        default: verdict(asked, "default"),
        acceptEdits: verdict(asked, "acceptEdits"),
        plan: verdict(asked, "plan"),
        dontAsk: verdict(asked, "dontAsk"),
      },
      expected,
    )
    assert.strictEqual(verdict(asked, "bypassPermissions"), "allow")
  })

  it("lets a deny rule win over everything", () => {
    assert.strictEqual(verdict(read, "bypassPermissions", rules(["Read"], ["Read"])), "deny")
  })

  it("lets an allow rule pass what would be asked, but not what guards us", () => {
    assert.strictEqual(verdict(edit, "default", rules(["Edit"])), "allow")
    assert.strictEqual(verdict(editGuarded, "default", rules(["Edit"])), "ask")
    assert.strictEqual(verdict(edit, "plan", rules(["Edit"])), "deny")
  })
})

describe("Rule", () => {
  it("reads lists as flags give them", () => {
    assert.deepStrictEqual(
      Rule.parseAll(["Read,Edit Bash(npm run test *)", "Write"]).map(({ source }) => source),
      ["Read", "Edit", "Bash(npm run test *)", "Write"],
    )
  })

  it.each([
    ["Bash(npm test)", "npm test", "allow"],
    ["Bash(npm test)", "npm test --watch", "ask"],
    ["Bash(npm run *)", "npm run build", "allow"],
    ["Bash(npm run:*)", "npm run build", "allow"],
    ["Bash(npm run *)", "npm runaway", "ask"],
    ["Bash(npm run *)", "npm run build && rm -rf /", "ask"],
    ["Bash(npm run *)", "npm run $(curl evil)", "ask"],
    ["Bash(npm run *)", "npm run build > /etc/passwd", "ask"],
    ["Bash(*)", "anything; at all", "allow"],
  ])("%s on `%s`: %s", (rule, command, expected) => {
    assert.strictEqual(verdict(bash(command), "default", rules([rule])), expected)
  })

  it("denies a command however it is spelled", () => {
    const spellings = [
      "rm -f a",
      "rm\t-f a",
      "'rm' -f a",
      'r""m -f a',
      "X=1 rm -f a",
      "command rm a",
      "env -i rm a",
      "/bin/rm a",
    ]
    for (const command of [
      ...spellings,
      "sudo -n rm a",
      "ls; rm a",
      "(rm a)",
      "echo $(rm a)",
      "timeout 5 rm a",
      "$X rm a",
    ]) {
      assert.strictEqual(verdict(bash(command), "bypassPermissions", rules([], ["Bash(rm *)"])), "deny", command)
    }
    for (const command of ["rmdir a", "npm run rm", "ls firm"]) {
      assert.strictEqual(verdict(bash(command), "bypassPermissions", rules([], ["Bash(rm *)"])), "allow", command)
    }
  })

  it("denies a command that hides what is forbidden behind another", () => {
    for (const command of ["git push", "git push --force", "ls && git push", "$(git push)"]) {
      assert.strictEqual(verdict(bash(command), "bypassPermissions", rules([], ["Bash(git push *)"])), "deny")
    }
    assert.strictEqual(verdict(bash("git pull"), "bypassPermissions", rules([], ["Bash(git push *)"])), "allow")
  })
})

describe("Permissions.decide", () => {
  it.effect("denies when nobody is there, and says how to allow", () =>
    Effect.gen(function* () {
      const decision = yield* Permissions.decide(readOutside, "default", rules())
      assert.strictEqual(decision.behavior, "deny")
      assert.match(decision.reason, /\/etc\/passwd.*--allowedTools "Read"/)
    }),
  )

  it.effect("asks the person where there is one, and only what is open", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const person: Permissions.Person = {
        ask: ({ tool }) => Effect.sync(() => ({ allow: asked.push(tool) === 1 })),
      }
      const decide = (given: Permissions.Ask) =>
        Effect.provideService(Permissions.decide(given, "default", rules()), Permissions.Person, person)
      assert.strictEqual((yield* decide(read)).by, "mode")
      assert.strictEqual((yield* decide(edit)).behavior, "allow")
      const declined = yield* decide(bash("rm -rf /"))
      assert.deepStrictEqual([declined.behavior, declined.by], ["deny", "person"])
      assert.deepStrictEqual(asked, ["Edit", "Bash"])
    }),
  )
})
