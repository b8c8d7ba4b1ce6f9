import { assert, describe, it } from "@effect/vitest"
import { parse } from "../../src/cli/Argv.ts"
import { noColor } from "../../src/cli/Color.ts"
import { isFilter, parseFilter, wants } from "../../src/cli/DebugFilter.ts"

const facts = { version: "1", stdinIsTerminal: true, stdoutIsTerminal: true }

/** The job, or the complaint. */
const judge = (...argv: ReadonlyArray<string>) => {
  const parsed = parse(argv, facts)
  if (parsed._tag === "Wrong") return parsed.text
  if (parsed._tag !== "Do") throw new Error(JSON.stringify(parsed._tag))
  const { job } = parsed
  const about = job._tag === "Session" ? job.prompt : job._tag === "ConfigExplain" ? job.key : undefined
  return { about, debug: job.debug, file: job.log?.file, filter: job.log?.filter }
}

const all = { only: [], except: [] }

describe("--debug", () => {
  it("takes categories, and leaves a prompt or a key behind it alone", () => {
    assert.deepStrictEqual(judge("x"), { about: "x", debug: false, file: undefined, filter: undefined })
    assert.deepStrictEqual(judge("--debug", "fix it"), { about: "fix it", debug: true, file: undefined, filter: all })
    assert.deepStrictEqual(judge("-d", "hello"), { about: "hello", debug: true, file: undefined, filter: all })
    const some = { only: ["api", "tools"], except: [] }
    assert.deepStrictEqual(judge("--debug", "api,tools", "x"), {
      about: "x",
      debug: true,
      file: undefined,
      filter: some,
    })
    assert.deepStrictEqual(judge("x", "--debug=!api"), {
      about: "x",
      debug: true,
      file: undefined,
      filter: { only: [], except: ["api"] },
    })
    assert.deepStrictEqual(judge("config", "explain", "--debug", "model"), {
      about: "model",
      debug: true,
      file: undefined,
      filter: all,
    })
    assert.deepStrictEqual(judge("--system-prompt", "--debug", "x"), {
      about: "x",
      debug: false,
      file: undefined,
      filter: undefined,
    })
    assert.deepStrictEqual(judge("x", "--debug-file", "a.log"), { about: "x", debug: true, file: "a.log", filter: all })
    assert.deepStrictEqual(judge("--", "--debug"), {
      about: "--debug",
      debug: false,
      file: undefined,
      filter: undefined,
    })
  })

  it("says which categories there are", () => {
    assert.include(judge("--debug=apis", "x"), "Did you mean api?")
    assert.include(judge("--debug", "api,tols", "x"), "Did you mean tools?")
    assert.isFalse(isFilter("explain api,tools"))
  })

  it("keeps what was asked for, and warnings always", () => {
    const filter = (text: string) => {
      const made = parseFilter(text)
      if (typeof made === "string") throw new Error(made)
      return (category: string | undefined) => wants(made, category)
    }
    assert.deepStrictEqual(["api", "tools", undefined].map(filter("api")), [true, false, true])
    assert.deepStrictEqual(["api", "tools", undefined].map(filter("!api")), [false, true, true])
    assert.deepStrictEqual(["api", "tools", undefined].map(filter("")), [true, true, true])
  })
})

describe("colours", () => {
  it("follow NO_COLOR, then FORCE_COLOR, then the terminal", () => {
    assert.isFalse(noColor({}, true))
    assert.isTrue(noColor({}, false))
    assert.isTrue(noColor({ TERM: "dumb" }, true))
    assert.isTrue(noColor({ NO_COLOR: "1", FORCE_COLOR: "1" }, true))
    assert.isFalse(noColor({ NO_COLOR: "" }, true))
    assert.isFalse(noColor({ FORCE_COLOR: "1" }, false))
    assert.isTrue(noColor({ FORCE_COLOR: "0" }, true))
  })
})
