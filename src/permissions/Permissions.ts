/**
 * Owns the decision whether a call may run: what rules and mode say, in `auto` mode a classifier, and a person if there is one.
 *
 * Whatever cannot be decided is denied, with the way to allow it. What a person is asked is recorded first: should the session end
 * before the answer, the question is put again when it is resumed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Call } from "../policy/Call.ts"
import * as Decide from "../policy/Decide.ts"
import * as Generalise from "../policy/Generalise.ts"
import type { Compiled } from "../policy/Rules.ts"
import type { Behavior } from "../policy/Rule.ts"
import { parse as parseMode } from "../protocol/PermissionMode.ts"
import { Controls } from "../session/Controls.ts"
import type { JournalError } from "../session/JournalError.ts"
import { Recorder } from "../session/Recorder.ts"
import { Classifier, type Verdict } from "./Classifier.ts"
import * as PermissionHooks from "./PermissionHooks.ts"
import * as PermissionUpdate from "./PermissionUpdate.ts"
import type { RuleBook } from "./RuleBook.ts"

/** A call that wants to run, and what it would touch. */
export interface Ask {
  readonly toolUseId: string
  readonly tool: string
  readonly input: unknown
  readonly summary: string
  readonly readOnly: boolean
  readonly reads: ReadonlyArray<string>
  readonly writes: ReadonlyArray<string>
  readonly executes: string | undefined
  /** Those of its paths that lie outside the workspace. */
  readonly outside: ReadonlyArray<string>
  /** Those of its writes that could change how tools behave (`.git`, `.claude`, …). */
  readonly sensitive: ReadonlyArray<string>
  /** The same as the policy sees it. */
  readonly call: Call
}

/** An ask that is put to a person: why, and what rule would answer it the next time. */
export interface Question extends Ask {
  readonly why: string
  readonly suggestions: ReadonlyArray<Generalise.Suggestion>
}

export interface Decision {
  readonly behavior: "allow" | "deny"
  readonly reason: string
  readonly by: "mode" | "rule" | "person" | "nobody" | "hook" | "tool" | "sandbox" | "classifier"
  /** The step of the policy that had the answer, or that left it open. */
  readonly step: Decide.Step
  /** The rules that decided, and where they stand. */
  readonly rules?: ReadonlyArray<{ readonly text: string; readonly source: string }>
  /** Whoever allowed it wants these arguments instead. */
  readonly updatedInput?: unknown
}

/** Where a rule is kept that a person agrees to. */
export type Destination = "session" | "local" | "project" | "user"

/** What a person says. */
export interface PersonAnswer {
  readonly allow: boolean
  readonly reason?: string
  /** Replaces the arguments of the call. */
  readonly updatedInput?: unknown
  /** From now on calls like this one need not be asked about. */
  readonly grant?: { readonly rules: ReadonlyArray<string>; readonly destination: Destination }
}

/** Somebody who can be asked. `undefined` where nobody is there: a pipe, a CI job, a test. */
export interface Person {
  readonly ask: (question: Question) => Effect.Effect<PersonAnswer>
}
export const Person = Context.Reference<Person | undefined>("troupe/permissions/Person", {
  defaultValue: () => undefined,
})

/** Keeps rules in a settings file; answers the file, or why it could not. `undefined` where there are no settings files. */
export type SaveRules = (
  rules: ReadonlyArray<string>,
  destination: Exclude<Destination, "session">,
  /** What they do; they allow unless told. */
  behavior?: Behavior,
) => Effect.Effect<{ readonly saved: string } | { readonly failed: string }>
export const SaveRules = Context.Reference<SaveRules | undefined>("troupe/permissions/SaveRules", {
  defaultValue: () => undefined,
})

/** A verdict under way about a call with these arguments. */
export type Foreseen = { readonly input: unknown; readonly verdict: Fiber.Fiber<Verdict> } | undefined

export class Permissions extends Context.Service<
  Permissions,
  {
    /** What rules and mode say without asking anybody. */
    readonly settle: (call: Call) => Effect.Effect<Decide.Settled>
    /** The same, with every rule that was considered. */
    readonly explain: (call: Call) => Effect.Effect<Decide.Verdict>
    /** Starts the classifier, where rules and mode leave a call to it; it ends with whoever asked. */
    readonly foresee: (ask: Ask) => Effect.Effect<Foreseen>
    /** Decides, asking the classifier and the person if rules and mode leave it open. What was foreseen counts for the same arguments. */
    readonly decide: (ask: Ask, foreseen?: Foreseen) => Effect.Effect<Decision, JournalError>
  }
>()("troupe/permissions/Permissions") {}

export interface Grounds {
  readonly home: string
  readonly roots: ReadonlyArray<string>
  /** The shell's directory, where relative paths start. */
  readonly cwd: () => string
  /** What an agent's tools name, where they name more than tools. */
  readonly within?: Compiled | undefined
}

export const make = Effect.fnUntraced(function* (book: RuleBook, grounds: Grounds) {
  const controls = yield* Controls
  const recorder = yield* Recorder

  const context = Effect.map(controls.current, ({ permissionMode }): Decide.DecideContext => {
    const { autoDisabled, bypassDisabled } = book.limits()
    const { home, roots, within } = grounds
    const own = within === undefined ? {} : { within: [within] }
    return { mode: permissionMode, cwd: grounds.cwd(), home, roots, autoDisabled, bypassDisabled, ...own }
  })
  const settle = (call: Call) => Effect.map(context, (now) => Decide.decide(call, book.rules(), now))

  const isForClassifier = ({ decision, step }: Decide.Settled) =>
    Effect.map(
      controls.current,
      ({ permissionMode }) =>
        decision === "ask" && permissionMode === "auto" && !book.limits().autoDisabled && !isForPeople.has(step),
    )

  const judged = Effect.fnUntraced(function* (ask: Ask, why: string) {
    const { judge } = yield* Classifier
    return yield* judge({ ask, why, messages: recorder.history.messages(), notes: yield* PermissionHooks.notes })
  })

  const foresee = Effect.fnUntraced(function* (ask: Ask) {
    const settled = yield* settle(ask.call)
    if (!(yield* isForClassifier(settled))) return undefined
    const verdict = yield* Effect.forkChild(judged(ask, settled.reason), { startImmediately: true })
    return { input: ask.input, verdict }
  })

  const decide = Effect.fnUntraced(function* (ask: Ask, foreseen?: Foreseen): Effect.fn.Return<Decision, JournalError> {
    const settled = yield* settle(ask.call)
    const { decision, reason, step } = settled
    const isClassified = yield* isForClassifier(settled)
    const early = isClassified && foreseen?.input === ask.input ? foreseen?.verdict : undefined
    // Others had the word, or it has become another call.
    if (early === undefined && foreseen !== undefined) yield* Fiber.interrupt(foreseen.verdict)
    if (decision !== "ask") return { behavior: decision, reason, by: speaker[step], step, ...named(settled) }
    if (isClassified) {
      const verdict = yield* early === undefined ? judged(ask, reason) : Fiber.join(early)
      if (verdict.behavior === "deny") {
        return { ...(yield* PermissionHooks.denied(ask, verdict.reason)), by: "classifier", step }
      }
      if (verdict.behavior === "allow") return { behavior: "allow", reason: verdict.reason, by: "classifier", step }
    }
    const suggestions = yield* suggesting(ask)
    const answer = yield* PermissionHooks.requested(ask, suggestions)
    if (answer !== undefined) return yield* answered(answer, step)
    const person = yield* Person
    if (person !== undefined) return yield* asked(person, { ...ask, why: reason, suggestions }, step)
    // In `auto` mode nobody has judged it, so trying again would not help.
    if ((yield* controls.current).permissionMode === "auto") yield* PermissionHooks.unjudged(ask)
    return alone(ask, settled)
  })

  /** What a hook says in the person's place. */
  const answered = Effect.fnUntraced(function* (answer: PermissionHooks.Answer, step: Decide.Step) {
    for (const update of answer.updates) yield* changed(update)
    const { allow, reason, updatedInput } = answer
    return {
      behavior: allow ? "allow" : "deny",
      reason,
      by: "hook",
      step,
      ...(updatedInput !== undefined && { updatedInput }),
    } satisfies Decision
  })

  const changed = Effect.fnUntraced(function* (update: PermissionUpdate.PermissionUpdate) {
    switch (update.type) {
      case "addRules":
      case "replaceRules": {
        if (update.type === "replaceRules") book.revoke(update.behavior)
        const grant = {
          rules: PermissionUpdate.textsOf(update),
          destination: PermissionUpdate.places[update.destination],
        }
        return yield* keep(grant, update.behavior)
      }
      case "removeRules":
        return book.revoke(update.behavior, PermissionUpdate.textsOf(update))
      case "setMode": {
        const mode = parseMode(update.mode)
        // A hook does not open what the session was not opened with.
        if (mode === undefined || mode === "bypassPermissions") return undefined
        yield* controls.change("hook", { permissionMode: mode })
        return undefined
      }
      case "addDirectories":
      case "removeDirectories": {
        const message = `A hook wants ${update.type}, which does not work in an open session: start it with --add-dir.`
        return yield* recorder.emit({ _tag: "Diagnosed", level: "warning", message })
      }
    }
  })

  /** What would answer it the next time. */
  const suggesting = Effect.fnUntraced(function* ({ call }: Ask) {
    const { cwd, home, roots } = yield* context
    // What a person must answer each time no rule can answer.
    if (call.opinion?.always === true) return []
    return Generalise.suggest(call, book.rules(), { cwd, home, ...(roots !== undefined && { roots }) })
  })

  /** The record comes first, so that the question outlives the session. */
  const asked = Effect.fnUntraced(function* (somebody: Person, question: Question, step: Decide.Step) {
    const { input, tool, toolUseId, why } = question
    yield* recorder.emit({ _tag: "PermissionAsked", toolUseId, tool, input, why })
    const answer = yield* PermissionHooks.noticed(tool, somebody.ask(question))
    if (answer.allow && answer.grant !== undefined) yield* keep(answer.grant)
    return {
      behavior: answer.allow ? "allow" : "deny",
      reason: answer.reason ?? (answer.allow ? "approved" : "declined"),
      by: "person",
      step,
      ...(answer.allow && answer.updatedInput !== undefined && { updatedInput: answer.updatedInput }),
    } satisfies Decision
  })

  /** In force at once, wherever it is kept. */
  const keep = Effect.fnUntraced(function* (
    { destination, rules }: NonNullable<PersonAnswer["grant"]>,
    behavior: Behavior = "allow",
  ) {
    book.grant(rules, behavior)
    if (destination === "session") return
    const save = yield* SaveRules
    const kept =
      save === undefined ? { failed: "this session has no settings files" } : yield* save(rules, destination, behavior)
    const what = `${behavior === "allow" ? "" : `${behavior} `}${rules.join(", ")}`
    yield* recorder.emit(
      "saved" in kept
        ? { _tag: "Diagnosed", level: "info", message: `Allowed from now on: ${what} (${kept.saved})` }
        : { _tag: "Diagnosed", level: "warning", message: `${what}: allowed in this session only; ${kept.failed}` },
    )
  })

  return Permissions.of({
    settle,
    foresee,
    explain: (call) => Effect.map(context, (now) => Decide.explain(call, book.rules(), now)),
    decide,
  })
})

/** Questions that no classifier answers for a person: somebody asked for one, or too much is at stake. */
const isForPeople: ReadonlySet<Decide.Step> = new Set([
  "critical-removal",
  "protected-path",
  "ask-rule",
  "hook-ask",
  "hook-defer",
  "tool",
])

const speaker: Readonly<Record<Decide.Step, Decision["by"]>> = {
  "hook-deny": "hook",
  "hook-ask": "hook",
  "hook-defer": "hook",
  "hook-allow": "hook",
  "agent-tools": "rule",
  "deny-rule": "rule",
  "ask-rule": "rule",
  "allow-rule": "rule",
  "protected-path": "mode",
  "critical-removal": "mode",
  tool: "tool",
  sandbox: "sandbox",
  mode: "mode",
  default: "mode",
}

const named = ({ by }: Decide.Settled): Pick<Decision, "rules"> =>
  by.length === 0
    ? {}
    : { rules: by.map(({ rule, source }) => ({ text: rule.text, source: source.file ?? source.kind })) }

const alone = (ask: Ask, { reason, step }: Decide.Settled): Decision => ({
  behavior: "deny",
  reason:
    `${ask.tool} needs approval and nobody is there to give it: ${reason}. ` +
    `Allow it with --allowedTools "${ask.tool}" or another --permission-mode.`,
  by: "nobody",
  step,
})
