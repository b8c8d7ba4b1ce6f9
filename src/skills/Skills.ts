/**
 * Owns the skills of one session: what the model is told of them, using one, what a typed `/name` means, and keeping in step with files
 * that change. What using one opens (tools, hooks, a model) is handed to the session, which knows for how long.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Semaphore from "effect/Semaphore"
import { Files } from "../platform/Files.ts"
import type { Watch } from "../platform/Watch.ts"
import type { Review } from "../settings/Trust.ts"
import * as TrustStore from "../settings/TrustStore.ts"
import * as Admission from "./Admission.ts"
import * as Activation from "./Activation.ts"
import type * as InlineShell from "./InlineShell.ts"
import * as Listing from "./Listing.ts"
import { isFolders, type Skill } from "./Skill.ts"
import * as SkillCatalog from "./SkillCatalog.ts"
import { type Loaded, SkillLibrary } from "./SkillLibrary.ts"
import type { Place } from "./SkillPlaces.ts"
import * as SkillSettings from "./SkillSettings.ts"
import * as SkillText from "./SkillText.ts"
import * as SkillTrust from "./SkillTrust.ts"
import * as SkillWatch from "./SkillWatch.ts"
import * as SlashPrompt from "./SlashPrompt.ts"
import * as TaskMatcher from "./TaskMatcher.ts"
import * as UseLog from "./UseLog.ts"

/** A skill that is being used. */
export interface Invocation {
  readonly skill: Skill
  readonly args: string
  readonly by: Admission.User
  /** What the model is told, each as one message of the harness. */
  readonly messages: ReadonlyArray<string>
  /** Permission rules that hold for the rest of the turn. */
  readonly allowedTools: ReadonlyArray<string>
  readonly disallowedTools: ReadonlyArray<string>
  /** For the rest of the turn. */
  readonly model: string | undefined
  readonly effort: Skill["effort"]
  /** For the rest of the session. */
  readonly hooks: Skill["hooks"]
  readonly fork: Skill["fork"]
  readonly tokens: number
  /** The model has this very text before it already. */
  readonly repeated: boolean
  /** What nobody has agreed to, and was left out. */
  readonly withheld: Review | undefined
}

export type Expanded =
  /** Nothing has been rendered, run or opened before it is used. */
  | {
      readonly _tag: "Command"
      readonly skill: Skill
      readonly args: string
      readonly use: Effect.Effect<ReadonlyArray<Invocation>, Admission.SkillRefused>
    }
  /** For the person; the model is told nothing. */
  | { readonly _tag: "Refused"; readonly message: string }

export interface HelpEntry {
  readonly name: string
  readonly hint: string | undefined
  readonly description: string
  readonly origin: Skill["source"]["origin"]
  readonly form: Skill["source"]["form"]
  readonly file: string
}

export interface SkillsOptions extends Pick<Place, "cwd" | "addDirs" | "sources" | "managedDirectory"> {
  readonly sessionId: string
  /** What `${CLAUDE_PROJECT_DIR}` stands for; `cwd` unless told. */
  readonly projectDir?: string
  /** Of the session's model, in tokens. */
  readonly contextWindow: number
  readonly effort?: Effect.Effect<string | undefined>
  readonly mayRun: InlineShell.MayRun
  /** Whether a person agreed; default: as remembered. */
  readonly trusted?: (review: Review) => boolean
  /** Takes what a skill opens: rules, hooks, a model, each for its time. Called before the model is told anything. */
  readonly bring?: (invocation: Invocation) => Effect.Effect<void>
  /** Whether a change of this file stays out of the session; nobody asks unless told. */
  readonly keepsOut?: (file: string) => Effect.Effect<boolean>
  /** A rule forbids it: the model need not be told of it. */
  readonly isDenied?: (name: string) => boolean
  /** Skills this session runs in: a fork must not begin them again. */
  readonly within?: ReadonlyArray<string>
  /** Commands of the front door, for "did you mean". */
  readonly builtins?: ReadonlyArray<string>
  /** What the model of a resumed session was told of skills, the oldest first. */
  readonly told?: ReadonlyArray<string>
}

export interface SkillsShape {
  readonly catalog: Effect.Effect<Loaded>
  readonly find: (name: string) => Effect.Effect<Skill | undefined>
  /** What the model is told at the beginning. From then on it counts as told. */
  readonly listing: Effect.Effect<Listing.Listing>
  /** What has changed since the model was told; it counts as told then. */
  readonly announcement: Effect.Effect<string | undefined>
  readonly invoke: (name: string, args: string, by: Admission.User) => Effect.Effect<Invocation, Admission.SkillRefused>
  /** A prompt that a person typed; `undefined` where it is none of our commands. */
  readonly expandPrompt: (text: string) => Effect.Effect<Expanded | undefined>
  /** How every skill fits a task, the best first, and a line for the model where one fits well. */
  readonly consider: (task: string) => Effect.Effect<{
    readonly considered: ReadonlyArray<TaskMatcher.Considered>
    readonly hint: string | undefined
  }>
  /** Work has come to these files; answers the names of skills that count from now on. */
  readonly touched: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
  /** A new turn: nothing has been used in it yet. */
  readonly turnBegan: Effect.Effect<void>
  readonly usage: Effect.Effect<ReadonlyArray<UseLog.SkillUsage>>
  readonly surviving: Effect.Effect<ReadonlyArray<UseLog.Surviving>>
  /** The conversation was compacted: answers what goes behind the summary. */
  readonly compacted: Effect.Effect<ReadonlyArray<UseLog.Surviving>>
  /** A resumed session has this text of a skill before it. */
  readonly remember: (name: string, content: string) => Effect.Effect<void>
  /** What waits for a person to agree. Reads the folder's skills. */
  readonly reviews: Effect.Effect<ReadonlyArray<Review>>
  readonly help: Effect.Effect<ReadonlyArray<HelpEntry>>
  /** Looks at the disk again; answers the names that came and went. */
  readonly reload: Effect.Effect<{ readonly added: ReadonlyArray<string>; readonly removed: ReadonlyArray<string> }>
  /** Reloads at every change of a skill's directory, until interrupted. */
  readonly follow: Effect.Effect<void, never, Watch>
}

type Needs = SkillLibrary | InlineShell.Services | Files

export class Skills extends Context.Service<Skills, SkillsShape>()("troupe/skills/Skills") {
  static readonly layer = (options: SkillsOptions): Layer.Layer<Skills, never, Needs> =>
    Layer.effect(Skills, make(options))
}

export const make = Effect.fnUntraced(function* (options: SkillsOptions) {
  const services = yield* Effect.context<Needs>()
  const library = yield* SkillLibrary
  const files = yield* Files
  const activation = yield* Activation.make(options.cwd)
  const log = UseLog.make()
  const one = yield* Semaphore.make(1)
  /** Other directories count from now on. */
  const moved = yield* Queue.sliding<void>(1)
  let told = new Map(Listing.told(options.told ?? []))
  /** What the last announcement was made from: asked for after every round, it is seldom another. */
  let compared: ReadonlyArray<unknown> = []
  let inTurn = new Map<string, number>()

  const settings = Effect.provideContext(SkillSettings.current, services)
  const load = Effect.gen(function* () {
    const { bundled, locked } = yield* settings
    const found = yield* library.load({ ...options, bundled, locked, nested: activation.nested() })
    yield* activation.wake(found.active)
    return found
  })
  let current = yield* load

  const reload = one.withPermit(
    Effect.gen(function* () {
      const before = new Set(names())
      current = yield* load
      const after = new Set(names())
      return {
        added: [...after].filter((name) => !before.has(name)),
        removed: [...before].filter((name) => !after.has(name)),
      }
    }),
  )

  const offered = () =>
    current.active.filter(
      (skill) =>
        activation.isActive(skill) &&
        options.within?.includes(skill.name) !== true &&
        options.isDenied?.(skill.name) !== true,
    )
  const find = (name: string) => SkillCatalog.find(current.active, name)
  const names = () => current.active.map(({ name }) => name)

  const listing = Effect.gen(function* () {
    const { listingChars, listingFraction, maxDescriptionChars, overrides } = yield* settings
    const made = Listing.make(offered(), {
      budgetChars: listingChars ?? Listing.budgetOf(options.contextWindow, listingFraction),
      maxDescriptionChars,
      visibility: Listing.visibilityBy(overrides),
      uses: ({ name }) => log.uses(name),
    })
    told = new Map(made.lines)
    compared = []
    if (made.shortened.length > 0) {
      yield* noteDown(`the listing is over its budget; shortened: ${made.shortened.join(", ")}`)
    }
    return made
  })

  const announcement = Effect.gen(function* () {
    const { maxDescriptionChars, overrides } = yield* settings
    const skills = offered()
    const now = [maxDescriptionChars, JSON.stringify(overrides), ...skills]
    if (areSame(compared, now)) return undefined
    compared = now
    const visibility = Listing.visibilityBy(overrides)
    const whole = Listing.make(skills, {
      budgetChars: Number.POSITIVE_INFINITY,
      maxDescriptionChars,
      visibility,
      uses: () => 0,
    })
    const text = Listing.announce(told, whole.lines)
    if (text !== undefined) told = new Map(Listing.told([[...told.values()].join("\n"), text]))
    return text
  })

  const admit = Effect.fnUntraced(function* (name: string, by: Admission.User) {
    const skill = find(name)
    if (skill === undefined) return yield* Admission.unknown(name, names())
    const visibility = Listing.visibilityBy((yield* settings).overrides)(skill)
    const times = inTurn.get(skill.name) ?? 0
    const refused = Admission.refusal(skill, { by, visibility, within: options.within ?? [], times })
    if (refused !== undefined) return yield* refused
    if (by === "model") inTurn.set(skill.name, times + 1)
    return skill
  })

  const trusted = options.trusted === undefined ? TrustStore.approved : Effect.succeed(options.trusted)

  const render = Effect.fnUntraced(function* (skill: Skill, args: string) {
    const { shellDisabled } = yield* settings
    return yield* SkillText.render({
      skill,
      args,
      body: yield* library.body(skill),
      sessionId: options.sessionId,
      projectDir: options.projectDir ?? options.cwd,
      effort: skill.effort ?? (yield* options.effort ?? Effect.undefined),
      shellDisabled,
      trusted: yield* trusted,
      mayRun: options.mayRun,
    })
  }, Effect.provideContext(services))

  const invoke: SkillsShape["invoke"] = Effect.fnUntraced(function* (name, args, by) {
    const skill = yield* admit(name, by)
    const { allowedTools, content, hooks, withheld } = yield* Effect.mapError(
      render(skill, args),
      ({ _tag, message }) => {
        const reason = _tag === "SkillUnreadable" ? "Unreadable" : "Shell"
        return new Admission.SkillRefused({ name: skill.name, reason, message })
      },
    )
    const said = [content, ...variantsOf(skill, current.active)].join("\n\n")
    // A fork's text goes to another conversation.
    const noted = skill.fork === undefined ? log.note(skill.name, said, by) : { repeated: false, tokens: 0 }
    const { repeated, tokens } = noted
    const already = `The skill ${skill.name} is loaded already: its instructions stand unchanged further up. Go on with them.`
    const invocation: Invocation = {
      skill,
      args,
      by,
      messages: [repeated ? already : said],
      allowedTools,
      disallowedTools: skill.disallowedTools,
      model: skill.model,
      effort: skill.effort,
      hooks,
      fork: skill.fork,
      tokens,
      repeated,
      withheld,
    }
    yield* options.bring?.(invocation) ?? Effect.void
    return invocation
  })

  const known = Effect.map(settings, ({ overrides }): SlashPrompt.Known => {
    const visibility = Listing.visibilityBy(overrides)
    const names = current.active.filter((skill) => skill.userInvocable && visibility(skill) !== "off")
    return { find, names: names.map(({ name }) => name), builtins: options.builtins ?? [] }
  })

  const expandPrompt = Effect.fnUntraced(function* (text: string) {
    if (!/^\s*\/\S/.test(text)) return undefined
    const meant = SlashPrompt.read(text, yield* known)
    if (meant._tag === "Prompt") return undefined
    if (meant._tag === "Unknown") return { _tag: "Refused", message: SlashPrompt.unknownCommand(meant) } as const
    const [skill] = meant.skills
    if (skill === undefined) return undefined
    const use = Effect.forEach(meant.skills, ({ name }) => invoke(name, meant.args, "person"))
    return { _tag: "Command", skill, args: meant.args, use } as const
  })

  const consider = Effect.fnUntraced(function* (task: string) {
    const { overrides, threshold } = yield* settings
    const visibility = Listing.visibilityBy(overrides)
    const candidates = offered().filter((skill) => skill.modelInvocable && visibility(skill) === "on")
    const considered = TaskMatcher.consider(task, candidates, threshold)
    const best = considered.filter(({ suggested }) => suggested).slice(0, 2)
    if (considered.length > 0) {
      const each = considered.slice(0, 20).map(({ name, reason, score }) => `${name} ${score} (${reason})`)
      yield* noteDown(`considered, from ${threshold} on: ${each.join("; ")}`)
    }
    return { considered, hint: hintOf(best.map(({ name }) => name)) }
  })

  const touched = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
    const entered = yield* activation.enter(paths)
    if (!entered) return yield* activation.wake(current.active)
    const { added } = yield* reload
    yield* Queue.offer(moved, undefined)
    return added
  })

  const reviews = Effect.gen(function* () {
    const agreed = yield* trusted
    const folders = current.active.filter(({ source }) => isFolders(source))
    const found = yield* Effect.forEach(folders, (skill) =>
      library.body(skill).pipe(
        Effect.map((body) => SkillTrust.review(skill, body, files.hash)),
        Effect.orElseSucceed(() => undefined),
      ),
    )
    return found.filter((review) => review !== undefined).filter((review) => !agreed(review))
  }).pipe(Effect.provideContext(services))

  return Skills.of({
    catalog: Effect.sync(() => current),
    find: (name) => Effect.sync(() => find(name)),
    listing,
    announcement,
    invoke,
    expandPrompt,
    consider,
    touched,
    turnBegan: Effect.sync(() => {
      inTurn = new Map()
    }),
    usage: Effect.sync(log.usage),
    surviving: Effect.sync(log.surviving),
    compacted: Effect.sync(log.compacted),
    remember: (name, content) => Effect.sync(() => void log.note(name, content, "model")),
    reviews,
    help: Effect.map(settings, ({ overrides }) => helpOf(current.active, Listing.visibilityBy(overrides))),
    reload,
    follow: SkillWatch.follow({
      directories: () => current.directories,
      registrations: library.registrations,
      moved,
      reload,
      keepsOut: options.keepsOut,
    }),
  })
})

const areSame = (before: ReadonlyArray<unknown>, now: ReadonlyArray<unknown>): boolean =>
  before.length === now.length && before.every((value, index) => value === now[index])

/** The skill of the root is also for directories that have one of their own. */
const variantsOf = (skill: Skill, active: ReadonlyArray<Skill>): ReadonlyArray<string> => {
  const variants = SkillCatalog.variants(active, skill)
  if (variants.length === 0) return []
  const list = variants.map(({ name, source }) => `- ${name}: for files in ${source.below ?? ""}`)
  return [["Use the skill of the directory too, if your work is in one of these:", ...list].join("\n")]
}

const hintOf = (names: ReadonlyArray<string>): string | undefined =>
  names.length === 0
    ? undefined
    : `By its words this task may be one for the skill${names.length > 1 ? "s" : ""} ${names.join(" or ")}: use the Skill tool if that is so.`

const helpOf = (
  active: ReadonlyArray<Skill>,
  visibility: (skill: Skill) => Listing.Visibility,
): ReadonlyArray<HelpEntry> =>
  active
    .filter((skill) => skill.userInvocable && visibility(skill) !== "off")
    .map(({ argumentHint, description, name, source }) => ({
      name,
      hint: argumentHint,
      description,
      origin: source.origin,
      form: source.form,
      file: source.file,
    }))

/** For whoever watches what a session does. */
const noteDown = (text: string) => Effect.annotateLogs(Effect.logDebug(text), "category", "skills")
