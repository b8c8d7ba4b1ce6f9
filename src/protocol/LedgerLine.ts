/** Owns how a line of a prompt's ledger is written: a layer with its hash, or up to which message with the hash of all until there. */

/** What comes before the messages, in the order of the service's cache. `controls` are no bytes of the prompt, but part of its key. */
export const layers = ["tools", "mcp tools", "server tools", "static system", "session system", "controls"] as const
export type Layer = (typeof layers)[number]

/** The first so many messages. */
export interface End {
  readonly messages: number
  readonly hash: string
}

export interface Lines {
  readonly layers: ReadonlyMap<Layer, string>
  readonly ends: ReadonlyArray<End>
}

export const ofLayer = (layer: Layer, hash: string): string => `${layer} ${hash}`
export const ofEnd = ({ hash, messages }: End): string => `messages/${messages} ${hash}`

/** `undefined` for a ledger that was written before its lines had names. */
export const read = (lines: ReadonlyArray<string>): Lines | undefined => {
  const found = new Map<Layer, string>()
  const ends: Array<End> = []
  for (const line of lines) {
    const [, name, hash] = /^(.+) (\w+)$/.exec(line) ?? []
    const [, count] = /^messages\/(\d+)$/.exec(name ?? "") ?? []
    const layer = layers.find((one) => one === name)
    if (hash === undefined) return undefined
    if (count !== undefined) ends.push({ messages: Number(count), hash })
    else if (layer !== undefined) found.set(layer, hash)
  }
  return { layers: found, ends }
}
