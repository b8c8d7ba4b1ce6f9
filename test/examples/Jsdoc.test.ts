/** Every public name is explained, and every example beside one compiles against the build. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { compile, root, workshop } from "./build.ts"

const read = (file: string) => readFileSync(join(root, "src", file), "utf8")

/** What stands in front of every example of the library, before all of its names. */
const prelude = `
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
`

const libraries = [
  { module: "troupe", file: "index.ts" },
  { module: "troupe/node", file: "node/index.ts" },
  { module: "troupe/testing", file: "testing/index.ts" },
]

interface Doc {
  readonly text: string
  /** The line after the comment. */
  readonly below: string
}

const docs = (source: string): ReadonlyArray<Doc> =>
  [...source.matchAll(/^\/\*\*([\s\S]*?)\*\/\n(.*)$/gm)].map(([, text = "", below = ""]) => ({
    text: text.replace(/^ \* ?/gm, ""),
    below,
  }))

const example = ({ text }: Doc): string | undefined => /@example\n([\s\S]*)$/.exec(text)?.[1]?.trimEnd()

describe("the documentation in the code", () => {
  for (const { module, file } of libraries) {
    it(`explains every export of ${module}, with an example`, () => {
      const source = read(file)
      const exported = source.split("\n").filter((line) => line.startsWith("export"))
      const explained = docs(source).filter((doc) => example(doc) !== undefined)
      assert.deepStrictEqual(
        explained.map(({ below }) => below),
        exported,
      )
    })
  }

  it("explains every export of the promise facade", () => {
    const files = readdirSync(join(root, "src/promise")).filter((file) => file !== "index.ts")
    const index = read("promise/index.ts")
    const named = [...index.matchAll(/^export (?:type )?\{ ([^}]+) \} from "\.\/(\w+\.ts)"/gm)].flatMap(
      ([, names = "", file = ""]) => names.split(", ").map((name) => ({ name: name.replace("type ", ""), file })),
    )
    assert.isNotEmpty(named)
    for (const { name, file } of named) {
      assert.include(files, file)
      const heads = docs(read(join("promise", file))).map(({ below }) => below)
      const declared = new RegExp(`^export (const|function|class|interface|type) ${name}\\b`)
      assert.isTrue(
        heads.some((head) => declared.test(head)),
        `${name} in ${file} has no comment`,
      )
    }
  })

  it.live("has examples that compile", () =>
    Effect.gen(function* () {
      const directory = yield* workshop
      const imports = libraries.map(({ module, file }) => {
        const named = [...read(file).matchAll(/^export (?:type )?\{ ([^}]+) \}/gm)].map(([, names = ""]) => names)
        return `import { ${named.join(", ")} } from "${module}"\n`
      })
      const library = libraries.flatMap(({ file }) => docs(read(file)).flatMap((doc) => example(doc) ?? []))
      const facade = readdirSync(join(root, "src/promise")).flatMap((file) =>
        docs(read(join("promise", file))).flatMap((doc) => example(doc) ?? []),
      )
      const all = [...library.map((code) => [prelude, ...imports, code].join("")), ...facade]
      assert.isAbove(facade.length, 3)
      const files = all.map((code, number) => {
        const file = join(directory, `example${number}.ts`)
        writeFileSync(file, `${code}\nexport {}\n`)
        return file
      })
      // An example names things that it does not use, and the facade's are for a browser's or Node's globals alike.
      yield* compile(directory, files, {
        noUnusedLocals: false,
        noUnusedParameters: false,
        verbatimModuleSyntax: false,
        rootDir: directory,
      })
    }).pipe(Effect.scoped),
  )
})
