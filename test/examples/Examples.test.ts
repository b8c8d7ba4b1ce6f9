/** The example programs are compiled and run as they stand, from the build, with a scripted model behind the base URL. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { compile, node, root, workshop } from "./build.ts"
import { browsing, cases, names, place, play, serve, type Start } from "./cases.ts"

const scope = Scope.makeUnsafe()
let built = ""
beforeAll(async () => {
  const files = names.map((name) => join(root, "examples", `${name}.ts`))
  const compiled = Effect.flatMap(workshop, (directory) =>
    compile(directory, files, { rootDir: join(root, "examples") }),
  )
  built = await Effect.runPromise(Scope.provide(compiled, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const start: Start = (name, args, options) => node([join(built, `${name}.js`), ...args], options)

describe("the examples", () => {
  it("are short, say what they need, and import nothing but the package, effect and Node", () => {
    assert.sameMembers(names, [...cases.map(({ name }) => name), "web-server"])
    for (const name of names) {
      const text = readFileSync(join(root, "examples", `${name}.ts`), "utf8")
      assert.isAtMost(text.trimEnd().split("\n").length, 60, name)
      assert.match(text, /^ \* Needs (ANTHROPIC_API_KEY|no key)/m, name)
      for (const [, from = ""] of text.matchAll(/from "([^"]+)"/g)) {
        assert.match(from, /^(troupe(\/(node|testing|promise))?|effect\/[\w/]+|node:\w+)$/, name)
      }
    }
  })

  for (const one of cases) it.live(`${one.name} ${one.does}`, () => play(start, one))

  it.live("web-server streams to a browser, and ends the turn of one that goes away", () => serve(start))

  for (const name of names.filter((name) => !["testing-with-testclock", "web-server"].includes(name))) {
    it.live(`${name} names the variable to set when there is no key`, () =>
      Effect.gen(function* () {
        const ended = yield* start(name, [], yield* place)
        assert.include(ended.out + ended.err, "ANTHROPIC_API_KEY")
        assert.notMatch(ended.err, /\n\s+at .+[:)]/, "a stack trace is printed")
      }).pipe(Effect.scoped),
    )
  }

  it.live("web-server names the variable to set when there is no key", () =>
    Effect.gen(function* () {
      const get = yield* browsing(start, yield* place)
      assert.include(yield* get("/ask?q=hi"), "ANTHROPIC_API_KEY")
    }).pipe(Effect.scoped),
  )
})
