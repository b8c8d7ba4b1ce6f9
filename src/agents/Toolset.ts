/** Owns the sets of tools that a session is opened with. */
import { SkillTool } from "../skills/SkillTool.ts"
import * as Coding from "../tools/builtin/Coding.ts"
import type { Tool } from "../tools/Tool.ts"
import { AgentTool } from "./AgentTool.ts"

/** Files, commands, the web, lists and plans. */
export const coding = Coding.coding

const everything = [...Coding.coding, AgentTool, SkillTool]

type NeedsOf<T> = T extends Tool<infer R> ? R : never
/** What they need together; a session has it. */
export type Services = NeedsOf<(typeof everything)[number]>

/** The same, and those that send out agents and use skills: whoever gives them allows that. */
export const all: ReadonlyArray<Tool<Services>> = everything
