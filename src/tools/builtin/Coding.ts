/** Owns the first set of tools: what an agent needs to work on code. */
import type { Tool } from "../Tool.ts"
import { Bash } from "./Bash.ts"
import { Edit } from "./Edit.ts"
import { Glob } from "./Glob.ts"
import { Grep } from "./Grep.ts"
import { Read } from "./Read.ts"
import type { Services } from "./Source.ts"
import { Write } from "./Write.ts"

export const coding: ReadonlyArray<Tool<Services>> = [Read, Write, Edit, Bash, Glob, Grep]
