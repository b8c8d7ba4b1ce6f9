/**
 * Owns output styles: how the model speaks, chosen by name. The product's own and those people write as Markdown files; a custom one
 * also takes the place of the instructions for programming, unless it says that it keeps them.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { findRoot } from "../platform/Git.ts"
import * as Frontmatter from "../platform/Frontmatter.ts"
import { Host } from "../platform/Host.ts"
import { nearest } from "../platform/Near.ts"
import * as PathGlob from "../platform/PathGlob.ts"
import * as BuiltinStyles from "./BuiltinStyles.ts"
import type { ContextSettings } from "./ContextSettings.ts"
import * as InstructionFile from "./InstructionFile.ts"
import type { Diagnostic } from "./InstructionLoader.ts"

export interface OutputStyle {
  readonly name: string
  readonly description: string
  readonly source: "built-in" | "plugin" | "user" | "project" | "managed"
  readonly path?: string
  /** The instructions for programming stay. */
  readonly keepsCoding: boolean
  /** It applies whenever its plugin is enabled. */
  readonly forced: boolean
  readonly body: string
}

export const defaultStyle: OutputStyle = {
  name: "default",
  description: "Does software engineering, briefly and to the point",
  source: "built-in",
  keepsCoding: true,
  forced: false,
  body: "",
}

const builtin: ReadonlyArray<OutputStyle> = [
  defaultStyle,
  ...BuiltinStyles.styles.map((style) => ({ ...style, source: "built-in", keepsCoding: true, forced: false }) as const),
]

export interface StylesOptions {
  readonly cwd: string
  readonly settings: ContextSettings
  /** `output-styles` directories of enabled plugins, in the order they were loaded. */
  /** A permission rule denies reading it. */
  readonly hides?: ((path: string) => boolean) | undefined
  readonly plugins?: ReadonlyArray<{ readonly plugin: string; readonly directory: string }> | undefined
}

export interface Styles {
  /** By name, the one that counts of each. */
  readonly all: ReadonlyArray<OutputStyle>
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

interface Place {
  readonly directory: string
  readonly source: OutputStyle["source"]
  readonly plugin?: string
}

/** Weakest first. */
const places = Effect.fnUntraced(function* ({ cwd, plugins = [], settings }: StylesOptions) {
  const path = yield* Path.Path
  const { configDir } = yield* Host
  const top = (yield* findRoot(cwd)) ?? cwd
  const project: Array<Place> = []
  for (let at = cwd; ; at = path.dirname(at)) {
    const claude = path.join(at, ".claude")
    if (claude !== configDir) project.unshift({ directory: path.join(claude, "output-styles"), source: "project" })
    if (at === top || path.dirname(at) === at) break
  }
  const { managedDirectory: managed } = settings
  const found: ReadonlyArray<Place> = [
    ...plugins.map(({ directory, plugin }): Place => ({ directory, source: "plugin", plugin })),
    ...(settings.scopes.includes("user")
      ? [{ directory: path.join(configDir, "output-styles"), source: "user" } as const]
      : []),
    ...(settings.scopes.includes("project") ? project : []),
    ...(managed === undefined
      ? []
      : [{ directory: path.join(managed, ".claude", "output-styles"), source: "managed" } as const]),
  ]
  return { top, found }
})

export const list = Effect.fnUntraced(function* (options: StylesOptions) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { found, top } = yield* places(options)
  const root = yield* Effect.orElseSucceed(fs.realPath(top), () => top)
  const open = yield* InstructionFile.make({
    roots: [root],
    excludes: PathGlob.make([]),
    hides: options.hides ?? (() => false),
  })
  const styles = new Map(builtin.map((style) => [style.name, style]))
  const diagnostics: Array<Diagnostic> = []
  for (const { directory, plugin, source } of found) {
    const names = yield* Effect.orElseSucceed(fs.readDirectory(directory), () => [])
    for (const name of names.filter((one) => one.endsWith(".md")).sort()) {
      const file = path.join(directory, name)
      const opened = yield* open(file, source === "project" ? "Project" : "User")
      if (opened._tag !== "Opened") {
        const why = opened._tag === "Refused" ? opened.detail : `it leads out of the project, to ${opened.real}`
        diagnostics.push({ path: file, message: `the output style is not read: ${why}` })
        continue
      }
      const { problems, style } = yield* read(opened.text, file, source, plugin)
      diagnostics.push(...problems)
      if (style !== undefined) styles.set(style.name, style)
    }
  }
  const result: Styles = { all: [...styles.values()], diagnostics }
  return result
})

const read = Effect.fnUntraced(function* (
  raw: string,
  file: string,
  source: OutputStyle["source"],
  plugin: string | undefined,
) {
  const { body, data, lineOf, problems } = yield* Frontmatter.parse(raw)
  const wrong: Array<Diagnostic> = problems.map(({ line, message }) => ({ path: file, line, message }))
  const scalar = (key: string): string | undefined => {
    const value = data[key]
    if (value === undefined || value === null) return undefined
    if (typeof value !== "object") return String(value)
    wrong.push({ path: file, line: lineOf(key) ?? 1, message: `${key} must be a text; it is ignored` })
    return undefined
  }
  const isOn = (key: string): boolean => {
    const value = scalar(key)
    if (value === undefined || value === "true" || value === "false") return value === "true"
    wrong.push({ path: file, line: lineOf(key) ?? 1, message: `${key} must be true or false; false is taken` })
    return false
  }
  if (body.trim() === "") {
    wrong.push({ path: file, message: "the output style says nothing below its front matter; it is ignored" })
    return { style: undefined, problems: wrong }
  }
  const own = scalar("name") ?? file.slice(file.lastIndexOf("/") + 1).replace(/\.md$/, "")
  const style: OutputStyle = {
    name: plugin === undefined ? own : `${plugin}:${own}`,
    description: scalar("description") ?? "",
    source,
    path: file,
    keepsCoding: isOn("keep-coding-instructions"),
    forced: plugin !== undefined && isOn("force-for-plugin"),
    body: body.trim(),
  }
  return { style, problems: wrong }
})

/** The style of a session: a plugin's that applies always, else the one that settings name. Nothing is read where neither may be. */
export const choose = Effect.fnUntraced(function* (options: StylesOptions) {
  const { outputStyle: wanted = defaultStyle.name } = options.settings
  const usual = builtin.find(({ name }) => name === wanted)
  if ((options.plugins ?? []).length === 0 && usual === defaultStyle) return { style: defaultStyle, diagnostics: [] }
  const { all, diagnostics } = yield* list(options)
  const forced = all.find((style) => style.forced)
  const same = (name: string) => name.toLowerCase() === wanted.toLowerCase()
  const style =
    forced ??
    all.find(({ name }) => name === wanted) ??
    all.find(({ name }) => same(name)) ??
    all.find(({ name, source }) => source === "plugin" && same(name.slice(name.indexOf(":") + 1)))
  if (style !== undefined) return { style, diagnostics }
  const near = nearest(
    wanted,
    all.map(({ name }) => name),
  )
  const hint = near === undefined ? `There are: ${all.map(({ name }) => name).join(", ")}.` : `Did you mean ${near}?`
  const missing = {
    path: "outputStyle",
    message: `there is no output style "${wanted}"; the default one is used. ${hint}`,
  }
  return { style: defaultStyle, diagnostics: [...diagnostics, missing] }
})
