/** Owns the `troupe/node` export. */
import * as TroupeNode from "./TroupeNode.ts"

/**
 * Files, processes, network, ripgrep and the facts of the machine on Node: everything `Runtime.layer` leaves open.
 *
 * @example
 * const runtime = Runtime.layer({ settings: "project" }).pipe(Layer.provide(TroupeNode.layer))
 */
export { TroupeNode }
