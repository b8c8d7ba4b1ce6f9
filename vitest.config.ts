import { defineConfig } from "vitest/config"

// Vitest's reporter uses three built-ins that Node 20 lacks; without them a failing test hides its own message.
const define = (owner: object, name: string, value: unknown) => {
  if (!(name in owner)) Object.defineProperty(owner, name, { value, configurable: true, writable: true })
}
define(Map, "groupBy", <K, V>(items: Iterable<V>, key: (item: V, index: number) => K) => {
  const groups = new Map<K, Array<V>>()
  let index = 0
  for (const item of items) {
    const k = key(item, index++)
    const group = groups.get(k)
    if (group) group.push(item)
    else groups.set(k, [item])
  }
  return groups
})
define(Object, "groupBy", <V>(items: Iterable<V>, key: (item: V, index: number) => string) => {
  const groups: Record<string, Array<V>> = Object.create(null)
  let index = 0
  for (const item of items) (groups[key(item, index++)] ??= []).push(item)
  return groups
})
define(Promise, "withResolvers", <T>() => {
  let resolve!: (value: T | PromiseLike<T>) => void
  let reject!: (reason?: unknown) => void
  const promise = new Promise<T>((res, rej) => {
    resolve = res
    reject = rej
  })
  return { promise, resolve, reject }
})

const deep = process.env.TROUPE_DEEP === "1"

export default defineConfig({
  test: {
    include: [deep ? "test/**/*.deep.ts" : "test/**/*.test.ts"],
    testTimeout: deep ? 600_000 : 30_000,
    pool: "forks",
    // One less than there are cores is the default, and most of the time is spent waiting for processes.
    maxWorkers: 2,
    reporters: ["default"],
  },
})
