/**
 * Owns what the clouds call Anthropic's models. Everywhere else a model has the name that Anthropic gave it; only a request to a
 * cloud is spelled the cloud's way. A name that is not Anthropic's own is sent as it was asked for.
 */

/** Models from before ids were snapshots of their own: clouds know them by date. */
const dates: Readonly<Record<string, string>> = {
  "claude-opus-4-5": "20251101",
  "claude-sonnet-4-5": "20250929",
  "claude-haiku-4-5": "20251001",
}

/** What Bedrock puts behind a name that has no date. */
const versions: Readonly<Record<string, string>> = { "claude-opus-4-6": "-v1" }

const split = (id: string): { readonly name: string; readonly date: string | undefined } => {
  const [, name = id, date] = /^(.*?)(?:[-@](\d{8}))?$/.exec(id) ?? []
  return { name, date: date ?? dates[name] }
}

/** `claude-sonnet-5-5` in `us-east-1` → `us.anthropic.claude-sonnet-5-5`: an inference profile, as on-demand use needs one. */
export const bedrock = (id: string, region: string, prefix: string | undefined): string => {
  if (!id.startsWith("claude-")) return id
  const { name, date } = split(id)
  const version = date === undefined ? (versions[name] ?? "") : `-${date}-v1:0`
  return `${prefix ?? bedrockPrefix(region)}.anthropic.${name}${version}`
}

/** Every model has profiles for the US, for Europe and for the world; the others come and go. */
const bedrockPrefix = (region: string): string =>
  region.startsWith("us-gov-") ? "us-gov" : (/^(us|eu)-/.exec(region)?.[1] ?? "global")

/** Models with a dated name do not know the version of the API that the SDK states: they keep the cloud's first one. */
export const isFirstVersion = (bedrockId: string): boolean => /-v\d+(:\d+)?$/.test(bedrockId)

/** `claude-haiku-4-5-20251001` → `claude-haiku-4-5@20251001`. */
export const vertex = (id: string): string => {
  if (!id.startsWith("claude-")) return id
  const { name, date } = split(id)
  return date === undefined ? name : `${name}@${date}`
}

/** The variables that may state another region for a model, in both spellings that are in use. */
export const vertexRegionSettings = (id: string): ReadonlyArray<string> => {
  const [, family, version] = /claude-([a-z]+)-([0-9-]+?)(?:[-@]\d{8})?$/.exec(id) ?? []
  if (family === undefined || version === undefined) return []
  const [name, number] = [family.toUpperCase(), version.replaceAll("-", "_")]
  return [`VERTEX_REGION_CLAUDE_${number}_${name}`, `VERTEX_REGION_CLAUDE_${name}_${number}`]
}
