/**
 * Owns what each kind of record is to a replay. The switch is exhaustive: a new kind of event is not compiled before somebody has said
 * whether it comes from outside or is decided here.
 */
import type { DurableEvent } from "../protocol/Event.ts"

/**
 * `world`: it was seen or said outside the loop, and is told to it again where it stands. `letter`: it was sent to the agent, which
 * takes it and records it itself. `decision`: it is worked out again, and compared.
 */
export type Role = "world" | "letter" | "decision"

/** By its kind alone. What a prompt is depends on who wrote it: `Tape` knows the letters. */
export const roleOf = (event: DurableEvent): Role => {
  switch (event._tag) {
    // How the session was opened, and what settings and people made of it.
    case "SessionStarted":
    case "SessionTitled":
    case "SessionTagged":
    case "ControlsChanged":
    case "ConfigChanged":
    case "PromptLatched":
    case "MessageImported":
    // What hooks, files and skills said, and what became of a prompt because of them.
    case "ContextAdded":
    case "HookRan":
    case "PromptExpanded":
    case "PromptRefused":
    // A person was asked, granted something, went back, took the session elsewhere.
    case "PermissionAsked":
    case "RulesGranted":
    case "Rewound":
    case "SessionHandedOver":
    // Which files were changed, and what they held before.
    case "Checkpointed":
    // What a model wrote about the conversation, and where it was put.
    case "Compacted":
    // What a prompt was made of, and what the service's cache had of it.
    case "SegmentKept":
    case "CacheMissed":
    // For people.
    case "Diagnosed":
      return "world"
    case "PromptReceived":
      return "letter"
    case "RequestSent":
    case "RetryWaiting":
    case "BlockReceived":
    case "ReplyAbandoned":
    case "ReplyEnded":
    case "PermissionDecided":
    case "ToolStarted":
    case "ToolEnded":
    case "SubagentStarted":
    case "SubagentEnded":
    case "TransitionTaken":
    case "TurnEnded":
      return "decision"
  }
}

/** Whether another value may be put in its place: what the loop was told, also by the model and by tools. */
export const isObservation = (event: DurableEvent): boolean => {
  switch (event._tag) {
    case "BlockReceived":
    case "ReplyEnded":
    case "PermissionDecided":
    case "ToolEnded":
      return true
    default:
      return roleOf(event) !== "decision"
  }
}
