/** Owns taking a call apart into what rules are compared with, once per decision. */
import { isProtected } from "../security/Sensitive.ts"
import type { Call, CommandFacts, Facts, PathTouch, Roots } from "./Call.ts"
import { foldProgram, normal } from "./CommandPattern.ts"
import * as Protected from "./Protected.ts"
import * as Rule from "./Rule.ts"

export const of = (call: Call, roots: Roots): Facts => {
  const names = [...new Set([call.tool, ...(call.aliases ?? [])].map(Rule.canonical))]
  const raw = textOf(call.input)
  const commands = call.bash?.commands.map(commandOf) ?? []
  return {
    call,
    names,
    folded: names.map((name) => name.toLowerCase()),
    raw,
    commands,
    // A command that nobody has looked at is one that nobody understands.
    opaque: call.bash === undefined ? raw !== "" && names.includes("Bash") : call.bash._tag === "Opaque",
    paths: (call.paths ?? pathsOf(call, roots))
      .map(guarded)
      .filter((touch) => touch.possible !== true || isLikely(touch.path, roots.cwd)),
    hosts: hostsOf(call),
    hidden: [raw, ...commands.flatMap(({ tight }) => tight)].some((text) => /dotglob|GLOBIGNORE|BASHOPTS/i.test(text)),
  }
}

const distinct = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.length === 2 && texts[0] === texts[1] ? texts.slice(1) : [...new Set(texts)]

type SimpleCommand = NonNullable<Call["bash"]>["commands"][number]

const commandOf = (command: SimpleCommand): CommandFacts => {
  const loose = distinct([command.text, ...command.allowText].map(normal))
  const tight = distinct([...loose, ...command.variants.map(normal)].map(foldProgram))
  const words = normal(command.argv.join(" "))
  const spaced = firstSpaced(command.argv)
  return {
    tight,
    loose: loose.map((text) => ({
      text,
      plain: spaced === undefined ? text.length : Math.max(0, text.length - words.length + spaced),
    })),
    readOnly: command.readOnly,
    prefixAllowable: command.prefixAllowable,
    literal: command.literal,
    redirects: command.redirects.some(
      (touch) => touch._tag === "Connects" || (touch._tag === "Writes" && !isStream(touch.path)),
    ),
  }
}

/** Where in the joined words the first of them begins that has a space of its own. `bash -c "rm x"` is not `bash -c rm x`. */
const firstSpaced = (argv: ReadonlyArray<string>): number | undefined => {
  let at = 0
  for (const word of argv) {
    if (/\s/.test(word) || word === "") return at
    at += normal(word).length + 1
  }
  return undefined
}

const textOf = (input: unknown): string =>
  typeof input === "object" && input !== null && "command" in input && typeof input.command === "string"
    ? input.command.trim().normalize("NFC")
    : ""

/** Only ways to the command's own input and output, or to nowhere. */
export const isStream = (path: string): boolean => /^\/dev\/(?:null|stdin|stdout|stderr|tty|fd\/\d+)$/.test(path)

/** By their text alone. */
export const pathsOf = (call: Call, { cwd, roots }: Roots): ReadonlyArray<PathTouch> =>
  call.touches.flatMap((touch): ReadonlyArray<PathTouch> => {
    if (touch._tag !== "Reads" && touch._tag !== "Writes") return []
    // What is tracked only the disk knows.
    if (touch._tag === "Reads" && touch.tracked === true) return []
    const { path } = touch
    const kind = touch._tag === "Reads" ? "read" : "write"
    const bases = roots ?? [cwd]
    return [
      {
        path,
        real: path,
        kind,
        outside: !bases.some((base) => isUnder(base, path)),
        protected: kind === "write" && isProtected(path, bases),
        ...(touch.pattern === true && { pattern: true }),
        ...(touch._tag === "Reads" && touch.possible === true && { possible: true }),
      },
    ]
  })

/** A pattern that could match a protected name is treated as if it did. */
const guarded = (touch: PathTouch): PathTouch =>
  touch.kind === "write" && touch.pattern === true && !touch.protected && Protected.mayBeProtected(touch.path)
    ? { ...touch, protected: true }
    : touch

/** Whether a word that may be anything looks like a file: `npm run build` is not about the directory build. */
const isLikely = (path: string, cwd: string): boolean => !isUnder(cwd, path) || /[./]/.test(path.slice(cwd.length + 1))

export const isUnder = (directory: string, path: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)

const hostsOf = (call: Call): ReadonlyArray<string> => {
  const hosts = call.touches.flatMap((touch) => (touch._tag === "Connects" ? [touch.host] : []))
  const all = call.domain === undefined ? hosts : [call.domain, ...hosts]
  return [...new Set(all.map((host) => host.toLowerCase().replace(/\.$/, "").normalize("NFC")))]
}
