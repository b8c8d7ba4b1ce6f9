/** Owns how a model is called in front of people: `claude-opus-4-8` is Opus 4.8. */

const known = /^(?:.*[./])?claude-(?<words>[a-z0-9-]+?)(?:-\d{8})?(?:-v\d+.*|@.*|\[.*)?$/i

/** `Opus 4.8`; `undefined` for a name that is no public one. */
export const shortName = (model: string): string | undefined => {
  const words = known.exec(model)?.groups?.["words"]?.split("-") ?? []
  const family = words.find((word) => /^[a-z]+$/i.test(word))
  if (family === undefined) return undefined
  const version = words.filter((word) => /^\d+$/.test(word)).join(".")
  return `${family.charAt(0).toUpperCase()}${family.slice(1)}${version === "" ? "" : ` ${version}`}`
}

/** `Claude Opus 4.8`, or `Claude` alone. */
export const fullName = (model: string): string =>
  ["Claude", shortName(model)].filter((part) => part !== undefined).join(" ")
