/** Owns what the runtime needs of Node: files, processes, the host's facts, the network, ripgrep. */
import * as NodePath from "@effect/platform-node/NodePath"
import * as Layer from "effect/Layer"
import * as NodeDns from "../platform/NodeDns.ts"
import * as NodeEgress from "../platform/NodeEgress.ts"
import * as NodeFiles from "../platform/NodeFiles.ts"
import * as NodeFileSystem from "../platform/NodeFileSystem.ts"
import * as NodeHost from "../platform/NodeHost.ts"
import * as NodeHttpFetch from "../platform/NodeHttpFetch.ts"
import * as NodeProcess from "../platform/NodeProcess.ts"
import * as NodeRipgrep from "../platform/NodeRipgrep.ts"
import * as NodeWatch from "../platform/NodeWatch.ts"
import type { Watch } from "../platform/Watch.ts"
import type { Platform } from "../Runtime.ts"

/** Everything `Runtime.layer` needs or can use, on Node. */
export const layer: Layer.Layer<Platform | Watch> = NodeRipgrep.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      NodeDns.layer,
      NodeEgress.layer,
      NodeHost.layer,
      NodeFiles.layer,
      NodeFileSystem.layer,
      NodePath.layer,
      NodeProcess.layer,
      NodeHttpFetch.layer,
      NodeWatch.layer,
    ),
  ),
)
