/** Owns the start and the end of the `troupe` process. Help and mistakes are answered before anything large is loaded. */
import process from "node:process"
import { parse, type Job } from "./Argv.ts"
import { version } from "./PackageRoot.ts"
import { textFor } from "./Plain.ts"

const main = (): void => {
  const { stdin, stdout, stderr, env, argv } = process
  const parsed = parse(argv.slice(2), {
    version: version(),
    stdinIsTerminal: stdin.isTTY === true,
    stdoutIsTerminal: stdout.isTTY === true,
    columns: stdout.columns,
    noColor: (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb" || !stdout.isTTY,
  })
  switch (parsed._tag) {
    case "Show":
      stdout.on("error", () => {})
      stdout.write(parsed.text)
      return
    case "Wrong":
      stderr.write(textFor(stderr, parsed.text))
      process.exitCode = 2
      return
    case "Do":
      start(parsed.job).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error)
        stderr.write(textFor(stderr, `troupe: a part of the program cannot be loaded: ${why}\nInstall it again.\n`))
        process.exitCode = 1
      })
  }
}

const start = async (job: Job): Promise<void> => {
  const { execute } = await import("./Execute.ts")
  await execute(job)
}

main()
