import { assert, describe, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type { HookJson } from "../../src/hooks/HookOutput.ts"
import { Classifier } from "../../src/permissions/Classifier.ts"
import * as Permissions from "../../src/permissions/Permissions.ts"
import * as RuleBook from "../../src/permissions/RuleBook.ts"
import * as Bash from "../../src/policy/Bash.ts"
import type { RuleText } from "../../src/policy/Rules.ts"
import type { Event } from "../../src/protocol/Event.ts"
import type { PermissionMode } from "../../src/protocol/PermissionMode.ts"
import * as Controls from "../../src/session/Controls.ts"
import * as History from "../../src/session/History.ts"
import { Recorder } from "../../src/session/Recorder.ts"
import { functions } from "../hooks/engine.ts"

const place = { cwd: "/w", home: "/h" }

const ask = (tool: string, call: Partial<Permissions.Ask["call"]>, input: unknown = {}): Permissions.Ask => ({
  toolUseId: "t1",
  tool,
  input,
  summary: tool,
  readOnly: false,
  reads: [],
  writes: [],
  executes: undefined,
  outside: [],
  sensitive: [],
  call: { tool, input, readOnly: false, touches: [], ...call },
})
const run = (command: string) => {
  const bash = Bash.analyse(command, place)
  return ask("Bash", { bash, touches: bash.touches }, { command })
}
const read = (path: string) => ask("Read", { readOnly: true, touches: [{ _tag: "Reads", path }] })
const write = (path: string) => ask("Write", { touches: [{ _tag: "Writes", path, how: "change" }] })

const rule = (behavior: RuleText["behavior"], text: string): RuleText => ({ behavior, text, source: { kind: "user" } })

/** A gate with these rules, and everything it records. */
const gate = Effect.fnUntraced(function* (rules: ReadonlyArray<RuleText>, mode: PermissionMode = "default") {
  const events: Array<Event> = []
  const book = RuleBook.make({ ...place, settings: { ...RuleBook.noSettings, rules }, own: [] })
  const controls = yield* Controls.make({ model: "sonnet", permissionMode: mode })
  const recorder = {
    emit: (event: Event) => Effect.sync(() => void events.push(event)),
    history: History.from([]),
  }
  const permissions = yield* Permissions.make(book, { home: "/h", roots: ["/w"], cwd: () => "/w" }).pipe(
    Effect.provideService(Controls.Controls, controls),
    // Nothing else of a recorder is used here.
    Effect.provideService(Recorder, Recorder.of({ ...unused, ...recorder })),
  )
  const decide = (ask: Permissions.Ask) => permissions.decide(ask)
  return { decide, events, book, controls, tags: () => events.map(({ _tag }) => _tag) }
})

const unused = new Proxy(Object.create(null), {
  get: (_, name) => assert.fail(`${String(name)} was not expected to be used`),
})

describe("Permissions", () => {
  it.effect("denies what nobody is there to approve, and says why and how to allow it", () =>
    Effect.gen(function* () {
      const { decide, tags } = yield* gate([])
      const decision = yield* decide(write("/etc/hosts"))
      assert.deepInclude(decision, { behavior: "deny", by: "nobody" })
      assert.match(decision.reason, /\/etc\/hosts.*--allowedTools "Write"/)
      assert.deepStrictEqual(tags(), [])
    }),
  )

  it.effect("asks the person only what rules and mode leave open, and records the question first", () =>
    Effect.gen(function* () {
      const { decide, events, tags } = yield* gate([rule("allow", "Bash(npm test *)"), rule("deny", "Read(//w/.env)")])
      const seen: Array<string> = []
      const person: Permissions.Person = {
        ask: (question) =>
          Effect.sync(() => {
            assert.strictEqual(events.at(-1)?._tag, "PermissionAsked")
            seen.push(question.why)
            return { allow: false, reason: "not now" }
          }),
      }
      const verdicts = yield* Effect.forEach(
        [read("/w/a"), run("npm test -- x"), run("cat .env"), run("npm publish")],
        decide,
      ).pipe(Effect.provideService(Permissions.Person, person))
      assert.deepStrictEqual(
        verdicts.map(({ behavior, by }) => `${behavior} by ${by}`),
        ["allow by mode", "allow by rule", "deny by rule", "deny by person"],
      )
      assert.deepStrictEqual(verdicts[1]?.rules, [{ text: "Bash(npm test *)", source: "user" }])
      assert.lengthOf(seen, 1)
      assert.deepStrictEqual(tags(), ["PermissionAsked"])
    }),
  )

  it.effect("asks no second time for what a person granted, and says where it is kept", () =>
    Effect.gen(function* () {
      const { decide, events } = yield* gate([])
      let asked = 0
      const person: Permissions.Person = {
        ask: ({ suggestions }) =>
          Effect.sync(() => {
            asked++
            return { allow: true, grant: { rules: suggestions.map((one) => one.rule), destination: "local" } }
          }),
      }
      const saved: Array<string> = []
      const save: Permissions.SaveRules = (rules, destination) =>
        Effect.sync(() => ({ saved: `${destination} ${saved.push(...rules)}` }))
      const decided = Effect.forEach([run("npm run lint"), run("npm run lint -- --fix"), run("npm run build")], decide)
      const verdicts = yield* decided.pipe(
        Effect.provideService(Permissions.Person, person),
        Effect.provideService(Permissions.SaveRules, save),
      )
      assert.deepStrictEqual(
        verdicts.map(({ by }) => by),
        ["person", "rule", "person"],
      )
      assert.strictEqual(asked, 2)
      assert.deepStrictEqual(saved, ["Bash(npm run lint *)", "Bash(npm run build *)"])
      assert.isTrue(events.some((event) => event._tag === "Diagnosed" && event.message.includes("local 1")))
    }),
  )

  it.effect("lets the classifier answer in auto mode, but not what is for people", () =>
    Effect.gen(function* () {
      const { decide } = yield* gate([rule("ask", "Bash(git push *)")], "auto")
      const judged: Array<unknown> = []
      const classifier = {
        judge: (matter: { readonly ask: Permissions.Ask }) =>
          Effect.sync(() => {
            judged.push(matter.ask.input)
            return { behavior: "allow", reason: "harmless" } as const
          }),
      }
      const verdicts = yield* Effect.forEach(
        [run("npm install"), run("git push"), run("rm -rf /"), write("/w/.git/config")],
        decide,
      ).pipe(Effect.provideService(Classifier, classifier))
      assert.deepStrictEqual(
        verdicts.map(({ behavior, by }) => `${behavior} by ${by}`),
        ["allow by classifier", "deny by nobody", "deny by nobody", "deny by nobody"],
      )
      assert.deepStrictEqual(judged, [{ command: "npm install" }])
    }),
  )
})

const request = (decision: object) => ({
  hookSpecificOutput: { hookEventName: "PermissionRequest" as const, decision },
})

describe("hooks and permissions", () => {
  /** A hook's answer to PermissionRequest, as it would print it. */
  const answering = (decision: object, heard: Array<unknown> = []) =>
    functions((engine) =>
      engine.on("PermissionRequest", (input) =>
        Effect.sync(() => {
          heard.push(input.permission_suggestions)
          const said: unknown = request(decision)
          return isJson(said) ? said : undefined
        }),
      ),
    )

  it.effect("a hook answers for the person, and where there is none", () =>
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const { decide, tags } = yield* gate([])
      const allowed = yield* decide(run("npm publish")).pipe(
        Effect.provide(answering({ behavior: "allow", updatedInput: { command: "npm pack" } }, heard)),
        Effect.provideService(Permissions.Person, { ask: () => Effect.die("nobody is to be asked") }),
      )
      assert.deepInclude(allowed, { behavior: "allow", by: "hook", updatedInput: { command: "npm pack" } })
      assert.deepStrictEqual(heard, [
        [
          {
            type: "addRules",
            behavior: "allow",
            rules: [{ toolName: "Bash", ruleContent: "npm publish *" }],
            destination: "localSettings",
          },
        ],
      ])
      const denied = yield* decide(run("npm publish")).pipe(
        Effect.provide(answering({ behavior: "deny", message: "not on Fridays" })),
      )
      assert.deepInclude(denied, { behavior: "deny", by: "hook", reason: "not on Fridays" })
      assert.deepStrictEqual(tags(), [])
    }),
  )

  it.effect("a hook cannot allow what a rule forbids, and is not asked about what is allowed", () =>
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const { decide } = yield* gate([rule("deny", "Bash(npm publish *)"), rule("allow", "Bash(npm test *)")])
      const verdicts = yield* Effect.forEach([run("npm publish now"), run("npm test x")], decide).pipe(
        Effect.provide(answering({ behavior: "allow" }, heard)),
      )
      assert.deepStrictEqual(
        verdicts.map(({ behavior, by }) => `${behavior} by ${by}`),
        ["deny by rule", "allow by rule"],
      )
      assert.deepStrictEqual(heard, [])
    }),
  )

  it.effect("what a hook changes about permissions is in force at once, and opens nothing wide", () =>
    Effect.gen(function* () {
      const saved: Array<unknown> = []
      const save: Permissions.SaveRules = (rules, destination, behavior) =>
        Effect.sync(() => (saved.push([rules, destination, behavior]), { saved: "file" }))
      const { book, controls, decide } = yield* gate([])
      const rules = (behavior: string, ruleContent: string, destination = "session") => ({
        type: "addRules",
        behavior,
        rules: [{ toolName: "Bash", ruleContent }],
        destination,
      })
      const updatedPermissions = [
        rules("allow", "npm run *"),
        rules("deny", "rm *", "userSettings"),
        { type: "setMode", mode: "bypassPermissions", destination: "session" },
        { type: "setMode", mode: "acceptEdits", destination: "session" },
        { type: "nonsense" },
      ]
      yield* decide(run("npm run x")).pipe(
        Effect.provide(answering({ behavior: "allow", updatedPermissions })),
        Effect.provideService(Permissions.SaveRules, save),
      )
      assert.deepStrictEqual(
        book.rules().entries.map(({ behavior, rule: { text } }) => `${behavior} ${text}`),
        ["allow Bash(npm run *)", "deny Bash(rm *)"],
      )
      assert.deepStrictEqual(saved, [[["Bash(rm *)"], "user", "deny"]])
      assert.strictEqual((yield* controls.current).permissionMode, "acceptEdits")
    }),
  )

  it.effect("a denial of auto mode is told to hooks, which may invite another try", () =>
    Effect.gen(function* () {
      const reasons: Array<string> = []
      const { decide } = yield* gate([], "auto")
      const hooks = functions((engine) =>
        engine.on("PermissionDenied", ({ reason }) =>
          Effect.sync(() => {
            reasons.push(reason)
            return { hookSpecificOutput: { hookEventName: "PermissionDenied" as const, retry: true } }
          }),
        ),
      )
      const judging = (behavior: "deny" | "ask") => ({ judge: () => Effect.succeed({ behavior, reason: "harmful." }) })
      const denied = yield* decide(run("npm publish")).pipe(
        Effect.provide(hooks),
        Effect.provideService(Classifier, judging("deny")),
      )
      assert.strictEqual(denied.reason, "harmful. A hook says that you may try this call again.")
      const alone = yield* decide(run("npm publish")).pipe(
        Effect.provide(hooks),
        Effect.provideService(Classifier, judging("ask")),
      )
      assert.notInclude(alone.reason, "try this call again")
      assert.deepStrictEqual(reasons, [
        "harmful.",
        "Auto mode could not evaluate this action and is blocking it for safety",
      ])
    }),
  )

  it.effect("a question that waits is told to whoever listens, and one that is answered soon is not", () =>
    Effect.gen(function* () {
      const { decide } = yield* gate([])
      const notified: Array<string> = []
      const hooks = functions((engine) =>
        engine.on("Notification", ({ notification_type }) => Effect.sync(() => void notified.push(notification_type)), {
          matcher: "permission_prompt",
        }),
      )
      const after = (wait: Duration.Input) =>
        Effect.gen(function* () {
          const person = { ask: () => Effect.delay(Effect.succeed({ allow: true }), wait) }
          const fiber = yield* Effect.forkChild(
            decide(run("npm publish")).pipe(Effect.provideService(Permissions.Person, person)),
          )
          yield* TestClock.adjust("1 minute")
          yield* Fiber.join(fiber)
        })
      yield* after("5 seconds").pipe(Effect.provide(hooks))
      assert.deepStrictEqual(notified, [])
      yield* after("7 seconds").pipe(Effect.provide(hooks))
      assert.deepStrictEqual(notified, ["permission_prompt"])
    }),
  )
})

const isJson = (value: unknown): value is HookJson => typeof value === "object" && value !== null

describe("RuleBook", () => {
  it("keeps what tightens for as long as it lasts, and takes allowances back", () => {
    const settings = (...rules: ReadonlyArray<RuleText>) => ({ ...RuleBook.noSettings, rules })
    const book = RuleBook.make({
      ...place,
      settings: settings(rule("deny", "WebFetch"), rule("allow", "Bash(ls *)")),
      own: [],
    })
    book.grant(["Bash(make *)"])
    assert.lengthOf(book.renew(settings(rule("ask", "Bash(rm *)"))), 0)
    const texts = book.rules().entries.map(({ rule: { text } }) => text)
    assert.deepStrictEqual(texts.toSorted(), ["Bash(make *)", "Bash(rm *)", "WebFetch"])
    const problems = book.renew(settings(rule("deny", "Bash(rm")))
    assert.lengthOf(problems, 1)
    assert.match(
      problems.map(RuleBook.describe).join(),
      /user: permissions\.deny: .*Bash\(rm.*every call of Bash is denied/,
    )
    assert.lengthOf(book.renew(settings(rule("deny", "Bash(rm"))), 0)
  })
})
