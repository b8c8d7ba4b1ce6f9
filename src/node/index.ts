/** Owns the `troupe/node` export. */
import * as TroupeNode from "./TroupeNode.ts"

export { TroupeNode }
