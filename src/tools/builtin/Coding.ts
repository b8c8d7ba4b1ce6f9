/** Owns the set of tools that an agent needs to work on code. A session has those of them that it can use. */
import type { Tool } from "../Tool.ts"
import { AskUserQuestion } from "./AskUserQuestion.ts"
import { background } from "./Background.ts"
import { Bash, SandboxedBash } from "./Bash.ts"
import { Edit } from "./Edit.ts"
import { Glob } from "./Glob.ts"
import { Grep } from "./Grep.ts"
import { LS } from "./LS.ts"
import { MultiEdit } from "./MultiEdit.ts"
import { NotebookEdit } from "./NotebookEdit.ts"
import { EnterPlanMode, ExitPlanMode } from "./PlanMode.ts"
import { Read } from "./Read.ts"
import type { Services } from "./Source.ts"
import { TaskCreate, TaskGet, TaskList, TaskUpdate } from "./TaskListTools.ts"
import { ToolSearch } from "./ToolSearch.ts"
import { TodoWrite } from "./TodoWrite.ts"
import { WebFetch } from "./WebFetch.ts"
import { WebSearch } from "./WebSearch.ts"
import { Write } from "./Write.ts"

export const coding: ReadonlyArray<Tool<Services>> = [
  ...background,
  AskUserQuestion,
  Bash,
  Edit,
  EnterPlanMode,
  ExitPlanMode,
  Glob,
  Grep,
  LS,
  MultiEdit,
  NotebookEdit,
  Read,
  SandboxedBash,
  TaskCreate,
  TaskGet,
  TaskList,
  TaskUpdate,
  TodoWrite,
  ToolSearch,
  WebFetch,
  WebSearch,
  Write,
]
