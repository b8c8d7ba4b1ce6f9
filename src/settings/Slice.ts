/** Owns the typed view of one part of the settings: what does not fit is left out and named, the rest stays. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { get, isObject, type Json, type JsonObject, mergeAll, only, without } from "./Merge.ts"
import { type Diagnostic, diagnose, type SettingsLayer, type Source } from "./SettingsLayer.ts"

export interface Part<A> {
  readonly source: Source
  readonly value: A
}

export interface Slice<A> {
  /** The merged value; `undefined` when no source sets it, or nothing of it is usable. */
  readonly value: A | undefined
  /** What each source says by itself, lowest first; for owners to whom the source matters. */
  readonly parts: ReadonlyArray<Part<A>>
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

type Fault = { readonly path: ReadonlyArray<string>; readonly message: string }

const formatter = SchemaIssue.makeFormatterStandardSchemaV1()

const startsWith = (path: ReadonlyArray<string>, prefix: ReadonlyArray<string>): boolean =>
  prefix.every((key, index) => path[index] === key)

/** One fault per place: a fault of a container covers those inside it. Elements last to first, so that indexes hold. */
const faultsOf = (error: Schema.SchemaError): ReadonlyArray<Fault> => {
  const all = formatter(error.issue).issues.map((issue): Fault => ({
    path: (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)),
    message: issue.message,
  }))
  const outer = all.filter(
    (fault, index) =>
      !all.some(
        (other, at) =>
          startsWith(fault.path, other.path) &&
          (other.path.length < fault.path.length || (other.path.length === fault.path.length && at < index)),
      ),
  )
  return outer.toReversed()
}

const clean = (
  layer: SettingsLayer,
  at: ReadonlyArray<string>,
  decode: (value: unknown) => Result.Result<unknown, Schema.SchemaError>,
): { readonly value: JsonObject; readonly diagnostics: ReadonlyArray<Diagnostic> } => {
  const diagnostics: Array<Diagnostic> = []
  let value: Json = only(layer.value, at)
  // Each round removes something, and what is missing is not held against one source: the rounds end.
  for (;;) {
    const here = get(value, at)
    if (here === undefined) break
    const decoded = decode(here)
    if (Result.isSuccess(decoded)) break
    const faults = faultsOf(decoded.failure).filter((fault) => get(here, fault.path) !== undefined)
    if (faults.length === 0) break
    for (const fault of faults) {
      const path = [...at, ...fault.path]
      diagnostics.push(diagnose(layer, "error", path, `${fault.message}; this value is ignored`))
      value = without(value, path)
    }
  }
  return { value: isObject(value) ? value : {}, diagnostics }
}

/** `key` is dotted. Every source is checked by itself, so that a bad value never hides a good one of a lower source. */
export const slice = <S extends Schema.ConstraintDecoder<unknown>>(
  layers: ReadonlyArray<SettingsLayer>,
  key: string,
  schema: S,
): Slice<S["Type"]> => {
  const at = key.split(".")
  const decode = Schema.decodeUnknownResult(schema, { errors: "all" })
  const cleaned = layers.map((layer) => ({ layer, ...clean(layer, at, decode) }))
  const merged = get(mergeAll(cleaned.map(({ value }) => value)), at)
  const diagnostics = cleaned.flatMap((one) => one.diagnostics)
  const parts = cleaned.flatMap(({ layer, value }) => {
    const decoded = Result.map(decode(get(value, at)), (value) => ({ source: layer.source, value }))
    return get(value, at) !== undefined && Result.isSuccess(decoded) ? [decoded.success] : []
  })
  if (merged === undefined) return { value: undefined, parts, diagnostics }
  const decoded = decode(merged)
  if (Result.isSuccess(decoded)) return { value: decoded.success, parts, diagnostics }
  const last = cleaned.findLast(({ value }) => get(value, at) !== undefined)?.layer
  if (last !== undefined) {
    diagnostics.push(diagnose(last, "error", at, `${decoded.failure.message}; "${key}" is ignored`))
  }
  return { value: undefined, parts, diagnostics }
}
