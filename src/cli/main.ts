/** Owns the start and the end of the `troupe` process. Help and mistakes are answered before anything large is loaded. */
import type { Command } from "commander"
import process from "node:process"
import { parse, type Job } from "./Argv.ts"
import { version } from "./PackageRoot.ts"
import { noColor } from "./Color.ts"
import { textFor } from "./Plain.ts"
import * as Profile from "./Profile.ts"
import type { Printed } from "./Program.ts"

const main = (): void => {
  Profile.mark("the command is loaded")
  const { stdin, stdout, stderr, env, argv } = process
  const parsed = parse(argv.slice(2), {
    version: version(),
    stdinIsTerminal: stdin.isTTY === true,
    stdoutIsTerminal: stdout.isTTY === true,
    columns: stdout.columns,
    noColor: noColor(env, stdout.isTTY === true),
  })
  Profile.mark("the command line is read")
  switch (parsed._tag) {
    case "Show":
      stdout.on("error", () => {})
      stdout.write(parsed.text)
      return
    case "Print":
      print(parsed.what, parsed.program).catch(unloadable)
      return
    case "Wrong":
      stderr.write(textFor(stderr, parsed.text))
      process.exitCode = 2
      return
    case "Do":
      start(parsed.job).catch(unloadable)
  }
}

const unloadable = (error: unknown): void => {
  const why = error instanceof Error ? error.message : String(error)
  const text = `troupe: a part of the program cannot be loaded: ${why}\nInstall it again.\n`
  process.stderr.write(textFor(process.stderr, text))
  process.exitCode = 1
}

const print = async (what: Printed, program: Command): Promise<void> => {
  const { stdout } = process
  stdout.on("error", () => {})
  switch (what._tag) {
    case "Completion": {
      const { completion } = await import("./Completion.ts")
      stdout.write(completion(what.shell, program))
      return
    }
    case "Words": {
      const { words } = await import("./CompletionWords.ts")
      stdout.write(words(what.what, process))
      return
    }
    case "ManPage": {
      const { manPage } = await import("./ManPage.ts")
      stdout.write(manPage(program, version()))
    }
  }
}

const start = async (job: Job): Promise<void> => {
  const { execute } = await import("./Execute.ts")
  await execute(job)
}

main()
