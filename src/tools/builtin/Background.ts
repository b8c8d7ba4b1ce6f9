/** Owns the tools for work in the background, beside Bash, which starts it. */
import type { Tool } from "../Tool.ts"
import { Monitor } from "./Monitor.ts"
import type { Services } from "./Source.ts"
import { TaskOutput } from "./TaskOutput.ts"
import { TaskStop } from "./TaskStop.ts"

export const background: ReadonlyArray<Tool<Services>> = [Monitor, TaskOutput, TaskStop]
