/** Owns what may be typed behind `troupe teleport`: its commands, their flags, and what they ask for. Without Effect. */
import { type Command, Option } from "commander"
import { type Add, type CommandFlags, commonOptions } from "./Options.ts"

export const conflicts = ["latest", "here", "there", "refuse"] as const

/** What is to be done with a session that travels. */
export type TeleportJob = { readonly json: boolean } & (
  | {
      readonly what: "export"
      /** The latest of this directory where absent. */
      readonly session: string | undefined
      readonly output: string | undefined
      readonly workTree: boolean
    }
  | {
      readonly what: "import"
      readonly file: string
      readonly cwd: string | undefined
      readonly sessionId: "keep" | "new"
      readonly onConflict: (typeof conflicts)[number]
      readonly workTree: boolean
    }
  | { readonly what: "send"; readonly session: string; readonly to: string }
  | { readonly what: "receive"; readonly socket: string | undefined; readonly cwd: string | undefined }
)

interface TeleportFlags {
  readonly json?: boolean
  readonly latest?: boolean
  readonly output?: string
  readonly withWorkTree?: boolean
  readonly cwd?: string
  readonly sessionId?: "keep" | "new"
  readonly onConflict?: (typeof conflicts)[number]
  readonly to?: string
  readonly socket?: string
}

/** What is asked for, or what is wrong with it. */
export interface Wanted {
  readonly _tag: "Teleport"
  readonly job: TeleportJob | string
  readonly flags: CommandFlags
}

/** Adds the commands; `want` hears what a well-formed command line asks for. */
export const register = (program: Command, add: Add, want: (wanted: Wanted) => void): void => {
  const teleport = add(program, "teleport", "take a session to another directory, machine or process", [])
  const json = () => new Option("--json", "what was done, as JSON")
  const cwd = () => new Option("--cwd <dir>", "where it goes on (default: this directory)")
  const command = (
    usage: string,
    description: string,
    options: ReadonlyArray<Option>,
    job: (argument: string | undefined, flags: TeleportFlags) => TeleportJob | string,
  ) => {
    const made = add(teleport, usage, description, [...options, json(), ...commonOptions()])
    made.action((argument: unknown) => {
      const flags = made.opts<CommandFlags & TeleportFlags>()
      want({ _tag: "Teleport", job: job(typeof argument === "string" ? argument : undefined, flags), flags })
    })
  }
  command(
    "export [session]",
    "write a session into one file, without secrets",
    [
      new Option("--latest", "the latest session of this directory"),
      new Option("--output <file>", "the file (default: <id>.teleport here)"),
      new Option("--with-work-tree", "with what is committed and what is not, as a git bundle"),
    ],
    (session, { json, latest, output, withWorkTree }) => {
      if (session === undefined && latest !== true) return "name the session, or take the latest one: --latest"
      if (session !== undefined && latest === true) return "--latest and a session exclude each other."
      return { what: "export", session, output, workTree: withWorkTree === true, json: json === true }
    },
  )
  command(
    "import <file>",
    "take a session out of such a file",
    [
      cwd(),
      new Option("--session-id <which>", "keep its id, or give it a new one").choices(["keep", "new"]).default("keep"),
      new Option(
        "--on-conflict <which>",
        "if it went on in both places: which one keeps the id (the other is kept as a copy)",
      )
        .choices(conflicts)
        .default("latest"),
      new Option("--with-work-tree", "unpack the work tree it brings into --cwd, which must be empty or new"),
    ],
    (file = "", { cwd, json, onConflict = "latest", sessionId = "keep", withWorkTree }) => {
      if (withWorkTree === true && cwd === undefined) return "--with-work-tree needs --cwd: an empty or new directory."
      return { what: "import", file, cwd, sessionId, onConflict, workTree: withWorkTree === true, json: json === true }
    },
  )
  command(
    "send <session>",
    "hand a session over to a process that waits with receive",
    [new Option("--to <address>", "what the receiver printed").makeOptionMandatory()],
    (session = "", { json, to = "" }) => ({ what: "send", session, to, json: json === true }),
  )
  command(
    "receive",
    "wait for one session to be handed over",
    [new Option("--socket <path>", "the socket (default: one in a private directory)"), cwd()],
    (_, { cwd, json, socket }) => ({ what: "receive", socket, cwd, json: json === true }),
  )
}
