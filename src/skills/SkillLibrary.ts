/**
 * Owns the skills of a runtime: finds them, reads what their front matter says, decides which of several with one name counts, and
 * takes in those that plugins, servers and the product itself bring. Bodies are read when a skill is used.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { Files } from "../platform/Files.ts"
import * as Frontmatter from "../platform/Frontmatter.ts"
import type { Host } from "../platform/Host.ts"
import { type Entry, MarkdownIndex, maxBytes } from "../platform/MarkdownIndex.ts"
import * as Bundled from "./Bundled.ts"
import { maxDescriptionChars } from "./Listing.ts"
import { type Catalog, type Failed, resolve } from "./SkillCatalog.ts"
import * as Skill from "./Skill.ts"
import * as SkillPlaces from "./SkillPlaces.ts"

/** A skill whose text could not be had. */
export class SkillUnreadable extends Schema.TaggedError<SkillUnreadable>()("SkillUnreadable", {
  name: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `The skill ${this.name} cannot be read: ${this.detail}`
  }
}

/** A skill that is no file: a server's, or the product's own. */
export interface Given {
  readonly origin: "bundled" | "mcp" | "plugin"
  /** As it is typed, prefix included. */
  readonly name: string
  /** The fields of a front matter. */
  readonly data: Readonly<Record<string, unknown>>
  readonly body: Effect.Effect<string, SkillUnreadable>
  readonly plugin?: Skill.Plugin
}

/** A directory of a plugin's. */
export interface PluginDirectory {
  readonly plugin: Skill.Plugin
  readonly form: Skill.Source["form"]
  readonly directory: string
}

export interface LoadOptions extends SkillPlaces.Place {
  /** The product's own skills too; default yes. */
  readonly bundled?: boolean
}

export interface Loaded extends Catalog {
  /** Where a change would change this; existing or not. */
  readonly directories: ReadonlyArray<string>
}

export class SkillLibrary extends Context.Service<
  SkillLibrary,
  {
    /** Everything there is for a session at this place. Never fails: what is wrong stands in it. */
    readonly load: (options: LoadOptions) => Effect.Effect<Loaded>
    /** What a path holds: a skill, a command, or a directory of them. */
    readonly inspect: (path: string) => Effect.Effect<Loaded>
    /** The instructions of a skill, as they are now. */
    readonly body: (skill: Skill.Skill) => Effect.Effect<string, SkillUnreadable>
    /** In force until the scope closes. */
    readonly register: (more: ReadonlyArray<Given | PluginDirectory>) => Effect.Effect<void, never, Scope.Scope>
    /** Once for each registration that came or went. */
    readonly registrations: Stream.Stream<number>
  }
>()("troupe/skills/SkillLibrary") {
  static readonly layer: Layer.Layer<
    SkillLibrary,
    never,
    MarkdownIndex | Files | FileSystem.FileSystem | Path.Path | Host
  > = Layer.effect(
    SkillLibrary,
    Effect.suspend(() => make),
  )
}

type Item = { readonly candidate: SkillPlaces.Candidate; readonly head: Skill.Head }

const make = Effect.gen(function* () {
  const services = yield* Effect.context<Files | FileSystem.FileSystem | Path.Path | Host>()
  const files = yield* Files
  const fs = yield* FileSystem.FileSystem
  const index = yield* MarkdownIndex
  const version = yield* SubscriptionRef.make(0)
  const registered = new Set<Given | PluginDirectory>()
  const given = () => [...registered].filter((one): one is Given => "body" in one)

  /** A file of the folder may be a link to anywhere; only what is Markdown there too is read out. */
  const strays = Effect.fnUntraced(function* (source: Skill.Source) {
    if (!Skill.isFolders(source)) return undefined
    const real = yield* Effect.orElseSucceed(fs.realPath(source.file), () => source.file)
    return /\.md$/i.test(real)
      ? undefined
      : `${source.file} leads to ${real}, which is no Markdown file; it is not read`
  })

  /** The first paragraphs of those that have no description: the only bodies that are looked at before they are used. */
  const leads = Effect.fnUntraced(function* (candidates: ReadonlyArray<SkillPlaces.Candidate>) {
    const sources = candidates.map(({ source }) => source)
    const stray = yield* Effect.forEach(sources, strays, { concurrency: "unbounded" })
    const wanted = sources.flatMap(({ file }, at) => (stray[at] === undefined ? [file] : []))
    const texts = yield* files.readTexts(wanted, { maxBytes })
    return new Map(
      texts.flatMap((read, at) =>
        Result.isSuccess(read) ? [[wanted[at] ?? "", leadOf(Frontmatter.split(read.success.text).body)]] : [],
      ),
    )
  })

  const read = Effect.fnUntraced(function* (found: ReadonlyArray<SkillPlaces.Found>) {
    const candidates = found.flatMap((one) => one.candidates)
    const entries = new Map(
      (yield* index.entries(candidates.map(({ source }) => source.file))).map((entry) => [entry.path, entry]),
    )
    const failed: Array<Failed> = found
      .flatMap((one) => one.problems)
      .map((problem) => ({ file: problem.file, problems: [problem] }))
    const items: Array<Item> = []
    for (const candidate of candidates) {
      const entry = entries.get(candidate.source.file)
      if (entry === undefined) continue
      const broken = brokenBy(entry)
      if (broken === undefined) items.push({ candidate: renamed(candidate, entry), head: entry })
      else failed.push({ file: entry.path, source: candidate.source, problems: broken })
    }
    const silent = items.filter(({ head }) => !hasDescription(head.data) && head.bodyChars > 0)
    const first = yield* leads(silent.map(({ candidate }) => candidate))
    const skills = items.map(({ candidate, head }) =>
      Skill.make(candidate, candidate.source, head, first.get(candidate.source.file)),
    )
    return { skills, failed }
  })

  /** Tells files apart, whatever way they were reached. */
  const identities = Effect.fnUntraced(function* (skills: ReadonlyArray<Skill.Skill>) {
    const stamps = yield* files.stamps(skills.map(({ source }) => source.file))
    const ids = new Map(
      skills.map(({ source }, at) => {
        const stamp = stamps[at]
        return [source.file, stamp && `${stamp.ino}:${stamp.ctime}:${stamp.size}`] as const
      }),
    )
    return (source: Skill.Source) => ids.get(source.file)
  })

  const load = Effect.fnUntraced(function* (options: LoadOptions) {
    const roots = [...(yield* SkillPlaces.roots(options)), ...[...registered].flatMap(pluginRoot)]
    const { failed, skills } = yield* read(yield* Effect.forEach(roots, SkillPlaces.look))
    const product = options.bundled === false ? [] : Bundled.skills
    const all = [...skills, ...[...product, ...given()].map(fromGiven)]
    const directories = roots.map(({ directory }) => directory)
    return { ...resolve(all, failed, yield* identities(skills)), directories } satisfies Loaded
  }, Effect.provideContext(services))

  const inspect = Effect.fnUntraced(function* (path: string) {
    const { failed, skills } = yield* read([yield* SkillPlaces.at(path)])
    return { ...resolve(skills, failed, () => undefined), directories: [path] } satisfies Loaded
  }, Effect.provideContext(services))

  const body = Effect.fnUntraced(function* ({ name, source }: Skill.Skill) {
    const own = [...Bundled.skills, ...given()].find((one) => fileOf(one) === source.file)
    if (own !== undefined) return yield* own.body
    const stray = yield* strays(source)
    if (stray !== undefined) return yield* new SkillUnreadable({ name, detail: stray })
    const { text } = yield* index
      .body(source.file)
      .pipe(Effect.mapError((error) => new SkillUnreadable({ name, detail: error.message })))
    return text
  })

  return SkillLibrary.of({
    load,
    inspect,
    body,
    register: (more) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          for (const one of more) registered.add(one)
          return SubscriptionRef.update(version, (n) => n + 1)
        }),
        () =>
          Effect.suspend(() => {
            for (const one of more) registered.delete(one)
            return SubscriptionRef.update(version, (n) => n + 1)
          }),
      ),
    registrations: SubscriptionRef.changes(version),
  })
})

const pluginRoot = (one: Given | PluginDirectory): ReadonlyArray<SkillPlaces.Root> =>
  "body" in one ? [] : [{ origin: "plugin", ...one }]

/** A plugin's skill is called by its front matter, behind the plugin's name. */
const renamed = (candidate: SkillPlaces.Candidate, { data }: Entry): SkillPlaces.Candidate => {
  const { plugin } = candidate.source
  const name = data["name"]
  if (plugin === undefined || typeof name !== "string" || !/^[^\s:/]+$/.test(name)) return candidate
  return { ...candidate, name: `${plugin.name}:${name}`, alias: name }
}

const brokenBy = ({ bodyChars, data, hash, path, problems }: Entry): ReadonlyArray<Skill.Problem> | undefined => {
  if (hash === undefined) return problems.map((problem) => ({ severity: "error", file: path, ...problem }))
  if (Object.keys(data).length > 0 || bodyChars > 1 || problems.length > 0) return undefined
  return [{ severity: "error", file: path, message: "the file is empty; write a description and instructions into it" }]
}

const hasDescription = (data: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(data).some((key) => key.toLowerCase() === "description" && data[key] !== null && data[key] !== "")

/** The first paragraph that is no heading; a heading where there is nothing else. Read from the beginning only. */
export const leadOf = (body: string): string | undefined => {
  const paragraphs = body
    .slice(0, 20_000)
    .replaceAll(/<!--[\s\S]*?-->/g, "")
    .split(/\n[ \t]*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== "" && !/^(?:```|[-*_]{3,}$)/.test(paragraph))
  const text = paragraphs.map((one) => one.replace(/^(?:#{1,6}[^\n]*(?:\n|$))+/, "").trim()).find((one) => one !== "")
  return (text ?? paragraphs[0]?.replace(/^#+\s*/, ""))?.slice(0, maxDescriptionChars)
}

const fileOf = ({ name, origin }: Pick<Given, "name" | "origin">): string => `${origin}:${name}`

const fromGiven = (one: Given): Skill.Skill => {
  const { data, name, origin, plugin } = one
  const file = fileOf(one)
  const source: Skill.Source = { origin, form: "skill", file, directory: plugin?.root ?? "", ...(plugin && { plugin }) }
  const head: Skill.Head = { data, problems: [], lineOf: () => undefined, bodyLine: 1, bodyChars: 1 }
  return Skill.make({ name }, source, head, undefined)
}
