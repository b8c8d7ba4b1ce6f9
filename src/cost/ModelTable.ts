/**
 * Owns which model a name means: ids, aliases, the environment's and the settings' say, and the nearest name for a typo.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Host } from "../platform/Host.ts"
import { nearest } from "../platform/Near.ts"
import { families, knownModels } from "./KnownModels.ts"
import { merge, type ModelSpec, type Overrides, unknown } from "./ModelSpec.ts"

/** A name, looked up. */
export interface Resolved {
  /** What is sent to the service. */
  readonly id: string
  readonly spec: ModelSpec
  /** False: nobody described this model, so it has no price and only careful assumptions. */
  readonly known: boolean
  /** A known name that looks like it, for an unknown one. */
  readonly suggestion?: string
}

export interface Table {
  readonly models: ReadonlyArray<ModelSpec>
  /** What is used when nobody says: `ANTHROPIC_MODEL`, else `sonnet`. */
  readonly defaultModel: string
  readonly resolve: (name: string) => Resolved
}

type Env = (name: string) => string | undefined

/** Builds a table from the facts, what settings say about them, and the environment. */
export const make = (overrides: Overrides = {}, env: Env = () => undefined): Table => {
  const specs = new Map(knownModels.map((spec) => [spec.id, spec]))
  const names = new Map<string, ModelSpec>()
  const enter = (spec: ModelSpec) => {
    specs.set(spec.id, spec)
    for (const name of [spec.id, ...spec.aliases]) names.set(name.toLowerCase(), spec)
  }
  for (const spec of knownModels) enter(spec)
  for (const [id, said] of Object.entries(overrides)) {
    const like = names.get((said.basedOn ?? id).toLowerCase())
    // A known model keeps its own id and aliases; a new one that resembles it must not take them over.
    const base = like?.id === id ? like : { ...(like ?? unknown(id)), id, aliases: [] }
    enter(merge(base, said))
  }

  const lookUp = (name: string): Omit<Resolved, "suggestion" | "known"> | undefined => {
    const plain = name.toLowerCase()
    const exact = names.get(plain)
    if (exact) return { id: exact.id, spec: exact }
    // A dated snapshot, or a cloud's name for a model, is priced like it, and sent as it was asked for.
    const bare = uncloud(plain)
    const found = names.get(bare) ?? names.get(bare.replace(/[-@]\d{8}$/, ""))
    if (found) return { id: name, spec: found }
    const short = names.get(`claude-${plain.replaceAll(".", "-")}`)
    return short && { id: short.id, spec: short }
  }

  const familyMember = (family: string): string =>
    env(`ANTHROPIC_DEFAULT_${family.toUpperCase()}_MODEL`) ??
    knownModels.find((spec) => spec.id.startsWith(`claude-${family}-`))?.id ??
    family

  const resolve = (asked: string): Resolved => {
    const plain = stripped(asked)
    const family = families.find((name) => name === plain.toLowerCase())
    const name = family === undefined ? plain : stripped(familyMember(family))
    const found = lookUp(name)
    if (found) return { ...found, known: true }
    const suggestion = nearest(name.toLowerCase(), [...families, ...names.keys()])
    return { id: name, spec: unknown(name), known: false, ...(suggestion !== undefined && { suggestion }) }
  }

  return { models: Array.from(specs.values()), defaultModel: env("ANTHROPIC_MODEL") ?? "sonnet", resolve }
}

/** `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, or its ARN → `claude-sonnet-4-5-20250929`. */
const uncloud = (name: string): string => {
  const [, bare] = /^(?:arn:.*\/)?(?:[a-z-]+\.)?anthropic\.(claude-.+?)(?:-v\d+(?::\d+)?)?$/.exec(name) ?? []
  return bare ?? name
}

/** `[1m]` once asked for the long window; today's models have it without asking. */
const stripped = (name: string): string => name.trim().replace(/\[1m\]$/i, "")

/** The table in use. */
export class ModelTable extends Context.Service<ModelTable, Table>()("troupe/cost/ModelTable") {
  /** `overrides` is the settings slice `troupe.models`, decoded with `ModelSpec.Overrides`. */
  static readonly layer = (overrides: Overrides = {}): Layer.Layer<ModelTable, never, Host> =>
    Layer.effect(
      ModelTable,
      Effect.gen(function* () {
        const host = yield* Host
        return make(overrides, host.env)
      }),
    )
}
