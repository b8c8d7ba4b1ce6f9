/**
 * Owns playbooks: what the scripted model says, given what it was told; written in YAML or TypeScript.
 *
 * `turns` are played once each, in order. Where the next turn does not match (or there are none), the first of the
 * `rules` that matches answers. Rules that look at the conversation survive retries and resumes; turns are for short
 * straight scripts.
 */
import { pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { nearest } from "../platform/Near.ts"
import { Fault } from "./Fault.ts"
import { When } from "./Matcher.ts"
import { Ending, Pace, Step } from "./Reply.ts"
import * as Template from "./Template.ts"
import type { Told } from "./Told.ts"
import type { YamlSource } from "./YamlSource.ts"

export type ReplyFunction = (told: Told) => string | ReadonlyArray<Step>
const ReplyFunction = Schema.declare((value): value is ReplyFunction => typeof value === "function", {
  expected: "text or a list of steps",
})

const RuleShape = Schema.Struct({
  name: Schema.optionalKey(Schema.String),
  when: Schema.optionalKey(When),
  /** Answers one request, then never again. Requests that ended in a fault do not count. */
  once: Schema.optionalKey(Schema.Boolean),
  /** Text, or steps. Without it the rule exists for its faults only. In TypeScript a function may decide. */
  reply: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Step), ReplyFunction])),
  /** The first that still applies happens instead of, or to, the reply. */
  faults: Schema.optionalKey(Schema.Array(Fault)),
  pace: Schema.optionalKey(Pace),
  ...Ending,
})

export const Rule = RuleShape.check(
  Schema.makeFilter((rule: typeof RuleShape.Type) => {
    if (rule.reply === undefined && rule.faults === undefined) return "a rule needs a reply or faults"
    const groups = new Set(regexesOf(rule.when).flatMap(Template.groupNames))
    return templatesOf(rule.reply, ["reply"]).flatMap(({ path, text }) => {
      const name = Template.unknownName(text, groups)
      if (name === undefined) return []
      const known = [...Template.names, ...groups, "1, 2, … for groups"].join(", ")
      return [{ path, issue: `nothing defines \${${name}}; known are ${known}. For a literal, write $\${${name}}` }]
    })
  }),
)
export type Rule = typeof Rule.Type

const Shape = Schema.Struct({
  name: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  /** The files the play is about, by path from the working directory: for whoever sets the stage. */
  workspace: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** The models that exist; any other is answered with 404. Without it every name is fine. */
  models: Schema.optionalKey(Schema.Array(Schema.String)),
  pace: Schema.optionalKey(Pace),
  /** Happen to any request, before rules are looked at. */
  faults: Schema.optionalKey(Schema.Array(Fault)),
  turns: Schema.optionalKey(Schema.Array(Rule)),
  rules: Schema.optionalKey(Schema.Array(Rule)),
})

export const Playbook = Shape.check(
  Schema.makeFilter(
    (book: typeof Shape.Type) =>
      (book.turns ?? []).length + (book.rules ?? []).length > 0 || "a playbook needs turns or rules",
  ),
)
export type Playbook = typeof Playbook.Type

const Problem = Schema.Struct({
  reason: Schema.String,
  /** `rules[2].when.tool` */
  path: Schema.String,
  line: Schema.optionalKey(Schema.Finite),
  column: Schema.optionalKey(Schema.Finite),
})

export class PlaybookError extends Schema.TaggedError<PlaybookError>()("PlaybookError", {
  file: Schema.String,
  problems: Schema.Array(Problem),
}) {
  override get message(): string {
    const lines = this.problems.map(({ reason, path, line, column }) => {
      const where = line === undefined ? this.file : `${this.file}:${line}:${column ?? 1}`
      return `${where}: ${reason}${path === "" ? "" : ` (at ${path})`}`
    })
    return lines.join("\n")
  }
}

/** A playbook from TypeScript, checked like one from a file. */
export const make = (book: Playbook, file = "playbook"): Effect.Effect<Playbook, PlaybookError> =>
  decode(book, file, () => undefined)

/** A playbook from YAML (or JSON) text; `file` is for error messages. */
export const parse = Effect.fnUntraced(function* (text: string, file: string) {
  // Playbooks in TypeScript need no YAML, and it is slow to load.
  const yaml = yield* Effect.promise(() => import("./YamlSource.ts"))
  const source = yaml.parse(text)
  if ("place" in source) return yield* decode(source.value, file, source.place)
  return yield* new PlaybookError({ file, problems: source.map((problem) => Object.assign({ path: "" }, problem)) })
})

/** Reads `.yaml`, `.yml` and `.json`; a `.js`, `.mjs` or `.ts` module must export the playbook as its default. */
export const load = Effect.fn("Playbook.load")(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const failed = (reason: string) => new PlaybookError({ file, problems: [{ reason, path: "" }] })
  if (!/\.[cm]?[jt]s$/.test(file)) {
    const text = yield* Effect.mapError(fs.readFileString(file), (error) =>
      failed(`the playbook cannot be read: ${error.message}`),
    )
    return yield* parse(text, file)
  }
  const path = yield* Effect.mapError(fs.realPath(file), (error) =>
    failed(`the playbook cannot be read: ${error.message}`),
  )
  const module = yield* Effect.tryPromise({
    try: (): Promise<unknown> => import(pathToFileURL(path).href),
    catch: (cause) =>
      failed(
        `the module does not load: ${String(cause)}${path.endsWith("ts") ? "; TypeScript needs Node 22.18 or later" : ""}`,
      ),
  })
  const book =
    typeof module === "object" && module !== null && "default" in module
      ? module.default
      : yield* failed("the module has no default export; write `export default { rules: [ … ] }`")
  return yield* decode(book, file, () => undefined)
})

const unknownKey = "unknown key; known are "

const flat = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag !== "UnexpectedKey") return SchemaIssue.defaultLeafHook(issue)
    const { ast } = issue
    return (
      unknownKey +
      ("propertySignatures" in ast ? ast.propertySignatures.map(({ name }) => String(name)) : []).join(", ")
    )
  },
})

const decode = (value: unknown, file: string, place: YamlSource["place"]): Effect.Effect<Playbook, PlaybookError> =>
  Schema.decodeUnknownEffect(Playbook, { errors: "all", onExcessProperty: "error" })(value).pipe(
    Effect.mapError((error) => {
      const found = flat(error.issue).issues.map(({ message, path }) => ({
        message,
        path: (path ?? []).map((key) => (typeof key === "object" ? key.key : key)),
      }))
      // A choice that fails complains about itself and about what is wrong inside it: the inside is what helps.
      const deepest = found.filter(({ path }) => !found.some((other) => isInside(other.path, path)))
      const problems = deepest.map(({ message, path }) => ({
        reason: reasonOf(message, path),
        path: printPath(path),
        ...place(path, message.startsWith(unknownKey)),
      }))
      return new PlaybookError({ file, problems })
    }),
  )

const isInside = (path: ReadonlyArray<PropertyKey>, outer: ReadonlyArray<PropertyKey>): boolean =>
  path.length > outer.length && outer.every((key, index) => path[index] === key)

const reasonOf = (message: string, path: ReadonlyArray<PropertyKey>): string => {
  if (!message.startsWith(unknownKey)) return message.charAt(0).toLowerCase() + message.slice(1)
  const key = String(path.at(-1))
  const known = message.slice(unknownKey.length)
  const near = nearest(key, known.split(", "))
  return `unknown key ${key}; ${near === undefined ? `known are ${known}` : `did you mean ${near}?`}`
}

const printPath = (path: ReadonlyArray<PropertyKey>): string =>
  path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "")

const regexesOf = (when: Rule["when"]): ReadonlyArray<string> => {
  if (when === undefined || typeof when === "function") return []
  return [when.user, when.prompt, when.tool, when.system, when.history, when.model].flatMap((condition) =>
    typeof condition === "object" && condition.matches !== undefined ? [condition.matches] : [],
  )
}

interface TemplateText {
  readonly path: ReadonlyArray<PropertyKey>
  readonly text: string
}

const templatesOf = (value: unknown, path: ReadonlyArray<PropertyKey>): ReadonlyArray<TemplateText> => {
  if (typeof value === "string") return [{ path, text: value }]
  if (typeof value !== "object" || value === null) return []
  return Array.isArray(value)
    ? value.flatMap((item, index) => templatesOf(item, [...path, index]))
    : Object.entries(value).flatMap(([key, item]) => templatesOf(item, [...path, key]))
}
