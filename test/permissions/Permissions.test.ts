import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
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
  const { decide } = yield* Permissions.make(book, { home: "/h", roots: ["/w"], cwd: () => "/w" }).pipe(
    Effect.provideService(Controls.Controls, controls),
    // Nothing else of a recorder is used here.
    Effect.provideService(Recorder, Recorder.of({ ...unused, ...recorder })),
  )
  return { decide, events, book, tags: () => events.map(({ _tag }) => _tag) }
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
