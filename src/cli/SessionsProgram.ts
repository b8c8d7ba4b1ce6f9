/**
 * Owns what may be typed behind `troupe sessions`. A session is named by its id, the beginning of it, or its title.
 *
 * Nothing here loads Effect, as in `Program`.
 */
import { type Command, Option } from "commander"
import { type Add, type CommandFlags, settingsOptions, sharedOptions } from "./Options.ts"
import type { ExportFormat, SessionsAsk } from "./SessionsView.ts"

const formats = ["markdown", "html", "json"] as const satisfies ReadonlyArray<ExportFormat>

/** What is asked for, before it is checked. */
export interface Wanted {
  readonly _tag: "Sessions"
  readonly ask: SessionsAsk
  readonly flags: CommandFlags
}

/** Adds the commands; `want` hears what a well-formed command line asks for. */
export const register = (program: Command, add: Add, want: (wanted: Wanted) => void): void => {
  const sessions = add(program, "sessions", "find, name, tag, export and delete sessions", [])
  const command = (
    usage: string,
    description: string,
    own: ReadonlyArray<Option>,
    ask: (args: ReadonlyArray<string>, opts: Readonly<Record<string, unknown>>) => SessionsAsk,
  ) => {
    const made = add(sessions, usage, description, [...own, ...sharedOptions()])
    made.action(() => {
      const flags = made.opts<CommandFlags & Readonly<Record<string, unknown>>>()
      want({ _tag: "Sessions", ask: ask(made.args, flags), flags })
    })
  }
  const text = (value: unknown) => (typeof value === "string" ? value : undefined)
  const asJson = () => new Option("--json", "as JSON")
  const everywhere = () => new Option("-a, --all", "those of every directory")
  const [which, first] = ["<session>", ([id = ""]: ReadonlyArray<string>) => id]

  const filters = [
    new Option("--search <words>", "with these words in title, tags or id"),
    new Option("--tag <tag>", "with this tag"),
  ]
  command(
    "list",
    "the sessions of this directory, the last used first",
    [everywhere(), ...filters, asJson()],
    (_, { all, search, tag }) => ({
      what: "list",
      all: all === true,
      words: text(search),
      tag: text(tag),
    }),
  )
  command(
    "search <words...>",
    "find words in prompts and replies, with the lines; exit code 1 if there are none",
    [everywhere(), asJson()],
    (words, { all }) => ({
      what: "search",
      all: all === true,
      words,
    }),
  )
  command(`show ${which}`, "one session: what it is about, what it cost, how it ended", [asJson()], (args) => ({
    what: "show",
    which: first(args),
  }))
  command(`rename ${which} <title>`, "give it a title", [], ([id = "", title = ""]) => ({
    what: "rename",
    which: id,
    title,
  }))
  command(`tag ${which} <tags...>`, "add tags to it", [], ([id = "", ...tags]) => ({ what: "tag", which: id, tags }))
  command(`untag ${which} <tags...>`, "take tags from it", [], ([id = "", ...tags]) => ({
    what: "untag",
    which: id,
    tags,
  }))
  const format = new Option(
    "-f, --format <format>",
    "what kind of document (default: as the file is named, else markdown)",
  ).choices(formats)
  command(
    `export ${which}`,
    "print it as a document, or write it to a file",
    [format, new Option("-o, --output <file>", "this file")],
    (args, opts) => ({
      what: "export",
      which: first(args),
      format: formats.find((known) => known === opts["format"]),
      output: text(opts["output"]),
    }),
  )
  command(
    "delete <sessions...>",
    "delete them for good, with all that belongs to them",
    [new Option("-y, --yes", "without asking"), asJson()],
    (ids, { yes }) => ({
      what: "delete",
      which: ids,
      yes: yes === true,
    }),
  )
  const dry = new Option("--dry-run", "only say which")
  command(
    "cleanup",
    "delete those not used for cleanupPeriodDays (30 unless set)",
    [dry, asJson(), ...settingsOptions()],
    (_, { dryRun }) => ({
      what: "cleanup",
      dryRun: dryRun === true,
    }),
  )
}
