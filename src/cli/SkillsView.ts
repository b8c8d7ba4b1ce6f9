/** Owns what `troupe skills` shows: which skills and commands there are and from where, one of them, what is wrong with them, and which fit a task. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import { nearest } from "../platform/Near.ts"
import { Host } from "../platform/Host.ts"
import * as Tokens from "../platform/Tokens.ts"
import * as Listing from "../skills/Listing.ts"
import { describe, type Problem, type Skill } from "../skills/Skill.ts"
import { find } from "../skills/SkillCatalog.ts"
import { type Loaded, SkillLibrary } from "../skills/SkillLibrary.ts"
import * as SkillSettings from "../skills/SkillSettings.ts"
import * as TaskMatcher from "../skills/TaskMatcher.ts"
import { wrap } from "./Manual.ts"
import { visible, visibleJson } from "./Reveal.ts"

export interface SkillsJob {
  readonly what: "list" | "show" | "validate" | "explain"
  /** A name, a path or a task. */
  readonly about: string | undefined
  readonly json: boolean
  readonly addDirs: ReadonlyArray<string>
  readonly settingSources: ReadonlyArray<"user" | "project" | "local"> | undefined
}

export interface Answer {
  readonly text: string
  readonly code: number
}

export const answer = Effect.fnUntraced(function* (job: SkillsJob, columns: number) {
  const library = yield* SkillLibrary
  const { cwd } = yield* Host
  const path = yield* Path.Path
  const settings = yield* SkillSettings.current
  const { bundled, locked } = settings
  const sources = job.settingSources
  const place = { cwd, addDirs: job.addDirs, bundled, locked, ...(sources !== undefined && { sources }) }
  if (job.what === "validate") {
    const at = job.about === undefined ? undefined : path.resolve(cwd, job.about)
    const loaded = yield* at === undefined ? library.load(place) : library.inspect(at)
    return validated(loaded, at, job.json)
  }
  const loaded = yield* library.load(place)
  const visibility = Listing.visibilityBy(settings.overrides)
  if (job.what === "list") return { text: listed(loaded, visibility, job.json, columns), code: 0 }
  if (job.what === "explain") {
    const candidates = loaded.active.filter((skill) => skill.modelInvocable && visibility(skill) === "on")
    const considered = TaskMatcher.consider(job.about ?? "", candidates, settings.threshold)
    return { text: explained(considered, settings.threshold, job.json), code: 0 }
  }
  const skill = find(loaded.active, job.about ?? "")
  if (skill === undefined) return missing(job.about ?? "", loaded)
  const body = yield* Effect.catch(library.body(skill), ({ message }) => Effect.succeed(message))
  return { text: shown(skill, body, job.json, columns), code: 0 }
})

const lines = (parts: ReadonlyArray<string>): string => `${visible(parts.join("\n"))}\n`
const json = (value: unknown): string => `${visibleJson(JSON.stringify(value, undefined, 2))}\n`

const rowOf = (skill: Skill) => {
  const { bodyChars: _, bodyLine: __, problems, source, ...rest } = skill
  return { ...rest, source: source.origin, form: source.form, file: source.file, problems }
}

const kind = ({ source }: Skill): string => `${source.origin} ${source.form}`

const typed = ({ argumentHint, name }: Skill): string =>
  `/${name}${argumentHint === undefined ? "" : ` ${argumentHint}`}`

const indented = (text: string, columns: number): ReadonlyArray<string> =>
  wrap(text, Math.max(40, Math.min(columns, 110)) - 6).map((line) => `      ${line}`)

/** What about a skill its description does not tell. */
const remarks = (skill: Skill, visibility: Listing.Visibility): string => {
  const said = [
    ...(skill.modelInvocable && visibility !== "user-invocable-only" ? [] : ["only typed"]),
    ...(skill.userInvocable ? [] : ["only for the model"]),
    ...(skill.paths.length > 0 ? [`for ${skill.paths.join(", ")}`] : []),
    ...(skill.fork === undefined ? [] : [`in an agent of its own (${skill.fork.agent})`]),
    ...(visibility === "off" ? ["switched off"] : []),
  ]
  return said.length === 0 ? "" : `, ${said.join(", ")}`
}

const listed = (
  { active, all, failed }: Loaded,
  visibility: (skill: Skill) => Listing.Visibility,
  asJson: boolean,
  columns: number,
): string => {
  const hidden = all.flatMap(({ shadowedBy, skill }) => (shadowedBy === undefined ? [] : [{ shadowedBy, skill }]))
  if (asJson) {
    return json({
      active: active.map(rowOf),
      all: all.map(({ shadowedBy, skill }) => ({ ...rowOf(skill), ...(shadowedBy !== undefined && { shadowedBy }) })),
      failed,
    })
  }
  const problems = active.reduce((sum, skill) => sum + skill.problems.length, failed.length)
  const cost = Tokens.estimate(active.map((skill) => Listing.fullLine(skill)).join("\n"))
  return lines([
    active.length === 0
      ? "There are no skills or commands here. A skill is a file .claude/skills/<name>/SKILL.md."
      : `${active.length} skills and commands; listing them all takes the model about ${cost} tokens:`,
    ...active.flatMap((skill) => [
      `  ${typed(skill)}  (${kind(skill)}${remarks(skill, visibility(skill))})`,
      ...(skill.description === "" ? [] : indented(short(skill.description), columns)),
    ]),
    ...(hidden.length === 0 ? [] : ["Hidden by another one of the same name:"]),
    ...hidden.map(({ shadowedBy, skill }) => `  /${skill.name}  ${skill.source.file} (${shadowedBy} counts)`),
    ...(problems === 0 ? [] : [`${problems} problem${problems === 1 ? "" : "s"}: see troupe skills validate`]),
  ])
}

const short = (text: string): string => (text.length > 220 ? `${text.slice(0, 219)}…` : text)

const shown = (skill: Skill, body: string, asJson: boolean, columns: number): string => {
  if (asJson) return json({ ...rowOf(skill), tokens: Tokens.estimate(body), body })
  const field = (name: string, value: string | undefined) =>
    value === undefined || value === "" ? [] : [`  ${`${name}:`.padEnd(15)} ${value}`]
  return lines([
    `${typed(skill)}  (${kind(skill)}${remarks(skill, "on")})`,
    ...indented(Listing.aboutOf(skill, Listing.maxDescriptionChars), columns),
    ...field("file", skill.source.file),
    ...field("allows", skill.allowedTools.join(", ")),
    ...field("forbids", skill.disallowedTools.join(", ")),
    ...field("model", skill.model),
    ...field("effort", skill.effort),
    ...field("hooks", skill.hooks === undefined ? undefined : Object.keys(skill.hooks).join(", ")),
    ...field("tokens", `about ${Tokens.estimate(body)} when it is used`),
    ...skill.problems.map((problem) => `  ${problem.severity}  ${describe(problem)}`),
    "",
    body.trim(),
  ])
}

const missing = (name: string, { active }: Loaded): Answer => {
  const near = nearest(name, active.map((skill) => skill.name)) // prettier-ignore
  const hint = near === undefined ? "" : ` Did you mean ${near}?`
  return { text: lines([`There is no skill ${name}.${hint} See troupe skills list.`]), code: 1 }
}

const validated = ({ active, all, failed }: Loaded, at: string | undefined, asJson: boolean): Answer => {
  const problems: ReadonlyArray<Problem> = [
    ...failed.flatMap((one) => one.problems),
    ...all.flatMap(({ skill }) => skill.problems),
  ]
  const nothing = at !== undefined && all.length + failed.length === 0
  const code = nothing || problems.some(({ severity }) => severity === "error") ? 1 : 0
  if (asJson) return { text: json({ valid: code === 0, skills: all.length, failed, problems }), code }
  if (nothing) return { text: lines([`${at} holds no skill: none has a SKILL.md, and no command ends in .md.`]), code }
  return {
    text: lines([
      ...problems.map((problem) => `${problem.severity}  ${describe(problem)}`),
      `${active.length} good, ${failed.length} that cannot be used, ${problems.length} problem${problems.length === 1 ? "" : "s"}.`,
    ]),
    code,
  }
}

/** How many that do not fit are worth a line. */
const mostShown = 15

const explained = (considered: ReadonlyArray<TaskMatcher.Considered>, threshold: number, asJson: boolean): string => {
  if (asJson) return json({ threshold, considered })
  const told = considered.filter(({ score, suggested }, at) => suggested || (score > 0 && at < mostShown))
  const width = Math.max(0, ...told.map(({ name }) => name.length))
  const none = considered.length - told.length
  return lines([
    considered.some(({ suggested }) => suggested)
      ? `The model would be told of what is marked (score ${threshold} and more):`
      : `No skill scores ${threshold} or more, so the model would be told of none:`,
    ...told.map(
      ({ name, reason, score, suggested }) =>
        `  ${suggested ? "✓" : "·"} ${score.toFixed(2)}  ${name.padEnd(width)}  ${reason}`,
    ),
    ...(none === 0 ? [] : [`  ${none} more with little or nothing in common`]),
  ])
}
