/**
 * Owns what programs touch that are not known to be harmless: targets are writes, sources are reads, and every other word they are
 * given is a possible read, so that a rule about a file holds whoever opens it.
 */
import * as Glob from "./Glob.ts"
import type { Link } from "./Links.ts"
import { read, type Parsed, type Spec, spec } from "./Options.ts"
import { type Field, literal } from "./State.ts"

export type How = "create" | "change" | "delete" | "append"

interface Written {
  readonly field: Field
  readonly how: How
  /** The pattern that gives its files their names. */
  readonly names?: string
}

export interface Touching {
  readonly reads: ReadonlyArray<Field>
  readonly possible: ReadonlyArray<Field>
  readonly writes: ReadonlyArray<Written>
  readonly hosts: ReadonlyArray<string>
  /** Everything below what is read, too. */
  readonly deep?: boolean
  readonly links?: ReadonlyArray<Link>
  /** An option that may mean any file. */
  readonly strange?: string | undefined
  /** It names no file, whatever its words look like. */
  readonly why: string
}

const none = spec("")
const copy = spec("-bcCdDpTvZ -t> -S: -g: -o: -m: --target-directory> --mode= --owner= --group= --directory --verbose")
// Not `-l` and `-s`: what is written to a second name of a file is written to the file.
const transfer = spec(
  "-abdfiHLnpPrRTuvxZ -t> -S: --target-directory> --archive --backup=? --dereference --force --interactive=? --no-clobber " +
    "--no-dereference --no-target-directory --one-file-system --preserve=? --recursive --reflink=? --remove-destination --suffix= --update=? --verbose",
)
const link = spec(
  "-bdfFiLnPrsTv -t> -S: --target-directory> --force --no-dereference --no-target-directory --relative --symbolic --verbose",
)
const removal = spec(
  "-fiIrRdv --force --recursive --dir --verbose --interactive=? --one-file-system --preserve-root=? --no-preserve-root",
)

const to = (fields: ReadonlyArray<Field>, how: How) => fields.map((field) => ({ field, how }))
const simple = (writes: Touching["writes"], reads: ReadonlyArray<Field> = []): Touching => ({
  reads,
  possible: [],
  writes,
  hosts: [],
  why: "it writes",
})

const takes = (parsed: Parsed, ...options: ReadonlyArray<string>): boolean =>
  options.some((option) => parsed.options.has(option))

/** The last operand is the target, unless an option named it. */
const moved = (parsed: Parsed, how: "copies" | "moves" | "links"): Touching => {
  const named = parsed.values.filter(({ kind }) => kind === "writes").map(({ field }) => field)
  const sources = named.length > 0 ? parsed.operands : parsed.operands.slice(0, -1)
  const targets = named.length > 0 ? named : parsed.operands.slice(-1)
  const inside = targets.flatMap((target) => sources.flatMap((source) => below(target, source)))
  const deep = how === "copies" && takes(parsed, "-r", "-R", "-a", "--recursive", "--archive")
  const isSame = how !== "copies" || deep || takes(parsed, "-d", "-P", "--no-dereference")
  const beside = how === "links" && takes(parsed, "-s", "--symbolic") && !takes(parsed, "-r", "--relative")
  return {
    ...simple(
      [...to(targets, "create"), ...inside, ...(how === "moves" ? to(sources, "delete") : [])],
      [...sources, ...parsed.strangeValues],
    ),
    deep,
    strange: parsed.strange,
    links: isSame
      ? sources.flatMap((from) =>
          [...targets, ...inside.map(({ field }) => field)].map((name): Link => ({ from, to: name, beside })),
        )
      : [],
  }
}
/** A copy into a directory has the name of its source there. What may be anything is noted where it is read. */
const below = (directory: Field, source: Field): ReadonlyArray<Written> => {
  if (directory.kind === "unknown" || source.kind === "unknown") return []
  const put = (at: string, name: string) =>
    `${at.replace(/\/+$/, "")}/${name.replace(/\/+$/, "").split("/").at(-1) ?? ""}`
  const text = put(directory.text, source.text)
  if (directory.kind === "literal" && source.kind === "literal") return [{ field: literal(text), how: "create" }]
  const pattern = put(Glob.patternOf(directory), Glob.patternOf(source))
  const names = directory.kind === "literal" && source.kind === "pattern" && { names: source.pattern }
  return [{ field: { kind: "pattern", text, pattern }, how: "create", ...names }]
}

const all =
  (how: How, options: Spec = none, skip = 0): Known =>
  (args) => {
    const { operands, strange } = read(args, options)
    return { ...simple(to(operands.slice(skip), how)), strange: options === none ? undefined : strange }
  }

type Known = (args: ReadonlyArray<Field>) => Touching

const known: Readonly<Record<string, Known>> = {
  cp: (args) => moved(read(args, transfer), "copies"),
  install: (args) => moved(read(args, copy), "copies"),
  ln: (args) => moved(read(args, link), "links"),
  mv: (args) => moved(read(args, transfer), "moves"),
  rsync: (args) => ({
    ...moved(read(args, spec("-abcdgloprtuvzhPAXHSWx -e: -f: --exclude= --include=")), "copies"),
    deep: true,
  }),
  rm: all("delete", removal),
  rmdir: all("delete", spec("-pv --parents --verbose --ignore-fail-on-non-empty")),
  unlink: all("delete"),
  shred: all("delete", spec("-fuvxz -n: -s:")),
  mkdir: all("create", spec("-pvZ -m: --parents --mode= --verbose")),
  mkfifo: all("create", spec("-m:")),
  touch: (args) => {
    const parsed = read(args, spec("-acfhm -d: -t: -r< --date= --reference< --time= --no-create"))
    return {
      ...simple(
        to(parsed.operands, "change"),
        parsed.values.filter(({ kind }) => kind === "reads").map(({ field }) => field),
      ),
      strange: parsed.strange,
    }
  },
  truncate: all("change", spec("-co -s: -r: --size= --no-create")),
  chmod: all("change", none, 1),
  chown: all("change", none, 1),
  chgrp: all("change", none, 1),
  tee: (args) => {
    const parsed = read(args, spec("-aip --append --ignore-interrupts"))
    const how = parsed.options.has("-a") || parsed.options.has("--append") ? "append" : "create"
    return simple(to(parsed.operands, how))
  },
  sort: (args) => {
    const parsed = read(
      args,
      spec("-bdfghinMRrVcCmsuz -k: -t: -S: -T> -o> --output> --temporary-directory> --key= --files0-from<"),
    )
    return written(parsed)
  },
  tree: (args) => written(read(args, spec("-adfilxghpusDFqNQrtUvnCAS -L: -P: -I: -o>"))),
  uniq: (args) => {
    const { operands } = read(args, spec("-cdDiuz -f: -s: -w:"))
    return simple(to(operands.slice(1), "create"), operands.slice(0, 1))
  },
  xxd: (args) => {
    const { operands } = read(args, spec("-abeEiuprC -c: -g: -l: -o: -s:"))
    return simple(to(operands.slice(1), "create"), operands.slice(0, 1))
  },
  dd: (args) => simple(to(keyed(args, "of"), "create"), keyed(args, "if")),
  sed: (args) => {
    const parsed = read(
      args,
      spec("-nErsuz -i=? -e: -f< -l: --in-place=? --quiet --expression= --file< --regexp-extended"),
    )
    const given = parsed.values.some(({ option }) => /^(?:-[ef]|--expression|--file)$/.test(option))
    const files = given ? parsed.operands : parsed.operands.slice(1)
    const inPlace = parsed.options.has("-i") || parsed.options.has("--in-place")
    return {
      ...simple(inPlace ? to(files, "change") : [], files),
      // `w` and `r` name files inside of the script.
      possible: [...(given ? [] : parsed.operands.slice(0, 1)), ...parsed.values.map(({ field }) => field)].flatMap(
        (field) => named(field).concat(namedBySed(field)),
      ),
    }
  },
  tar: (args) => {
    const letters = args[0]?.text.replace(/^-+/, "") ?? ""
    const parsed = read(
      args[0]?.text.startsWith("-") === false ? args.slice(1) : args,
      spec("-cxtrujJzavpkOmhZ -f: -C: -T< -X< --exclude= --file= --directory="),
    )
    const archive = [
      ...parsed.values.filter(({ option }) => option === "-f" || option === "--file").map(({ field }) => field),
      ...(/^[a-zA-Z]*f/.test(letters) && args[0]?.text.startsWith("-") === false ? parsed.operands.slice(0, 1) : []),
    ]
    const isWrite = /[cru]/.test(letters) || parsed.options.has("--create")
    const place = parsed.values
      .filter(({ option }) => option === "-C" || option === "--directory")
      .map(({ field }) => field)
    const isExtract = letters.includes("x") || parsed.options.has("--extract")
    return {
      ...simple(
        [
          ...(isWrite ? to(archive, "create") : []),
          ...(isExtract ? to(place.length > 0 ? place : [literal(".")], "create") : []),
        ],
        [
          ...(isWrite ? place : archive),
          ...parsed.operands,
          ...parsed.strangeValues,
          ...parsed.values.filter(({ kind }) => kind === "reads").map(({ field }) => field),
        ],
      ),
      deep: isWrite,
    }
  },
  zip: (args) => {
    const { operands } = read(args, spec("-rqjumFdg0123456789 -x: -i:"))
    return { ...simple(to(operands.slice(0, 1), "create"), operands.slice(1)), deep: true }
  },
  curl: (args) => {
    const parsed = read(
      args,
      spec(
        "-sSLfikvgGIjnNOqRJ46 -o> -d: -H: -X: -A: -b: -c> -e: -F: -K< -T< -u: -w: -x: -m: -D> --output> --data= --data-binary= --data-raw= --data-urlencode= --json= --header= --request= --form= --config< --upload-file< --cookie= --cookie-jar> --user= --url= --max-time= --retry= --silent --location --fail --insecure",
      ),
    )
    const urls = [
      ...parsed.operands,
      ...parsed.values.filter(({ option }) => option === "--url").map(({ field }) => field),
    ]
    return {
      ...written(parsed),
      reads: [
        ...parsed.values.filter(({ kind }) => kind === "reads").map(({ field }) => field),
        ...parsed.values.flatMap(({ field }) => afterAt(field)),
        ...urls.flatMap((field) => (/^file:\/\//i.test(field.text) ? [literal(field.text.slice(7))] : [])),
      ],
      hosts: urls.flatMap((field) => hostOf(field.text)),
      why: "it uses the network",
    }
  },
  wget: (args) => {
    const parsed = read(
      args,
      spec(
        "-qcNrknpHLvS -O> -o> -a> -P> -i< -T: -t: -U: --output-document> --post-file< --body-file< --header= --post-data= --input-file<",
      ),
    )
    return {
      ...written(parsed),
      hosts: parsed.operands.flatMap((field) => hostOf(field.text)),
      why: "it uses the network",
    }
  },
  ssh: (args) =>
    remote(
      args,
      "-46AaCfGgKkMNnqsTtVvXxYy -B: -b: -c: -D: -E> -e: -F< -I: -i< -J: -L: -l: -m: -O: -o: -p: -Q: -R: -S: -W: -w:",
    ),
  nc: (args) => remote(args, "-46dhklnrStUuvz -i: -I: -O: -P: -p: -q: -s: -T: -V: -w: -X: -x: -e:"),
  telnet: (args) => remote(args, "-468E -l: -n: -e:"),
  ping: (args) => remote(args, "-46abdfnqrv -c: -i: -W: -w: -s:"),
}
const words = new Set(
  "echo printf true false : basename dirname seq sleep tr which type kill export cd pwd id whoami uname let exit return break continue shift wait umask ulimit".split(
    " ",
  ),
)

const written = (parsed: Parsed): Touching =>
  simple(
    parsed.values.filter(({ kind }) => kind === "writes").map(({ field }) => ({ field, how: "create" })),
    [
      ...parsed.operands,
      ...parsed.strangeValues,
      ...parsed.values.filter(({ kind }) => kind === "reads").map(({ field }) => field),
    ],
  )

const keyed = (args: ReadonlyArray<Field>, key: string): ReadonlyArray<Field> =>
  args.flatMap((field) =>
    field.text.startsWith(`${key}=`)
      ? [field.kind === "literal" ? literal(field.text.slice(key.length + 1)) : field]
      : [],
  )

/** `@file` and `name=@file` send a file. */
const afterAt = (field: Field): ReadonlyArray<Field> => {
  if (field.kind !== "literal") return [field]
  const at = /^(?:[^=@]*=)?[@<](.+)$/.exec(field.text)?.[1]
  return at === undefined ? [] : [literal(at.split(";", 1)[0] ?? at)]
}

const hostOf = (url: string): ReadonlyArray<string> => {
  const host = /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^/@\s]*@)?(\[[^\]]+\]|[^/:?#\s]+)/i.exec(url)?.[1]
  return host === undefined ? [] : [host.toLowerCase()]
}

const remote = (args: ReadonlyArray<Field>, options: string): Touching => {
  const parsed = read(args, spec(options, true))
  return {
    ...written({ ...parsed, operands: [] }),
    hosts: parsed.operands.slice(0, 1).flatMap((field) => hostOf(field.text)),
    why: "it uses the network",
  }
}

/** Everything in a word that could be the name of a file. */
const named = (field: Field): ReadonlyArray<Field> => {
  if (field.kind !== "literal") return [field]
  const { text } = field
  const out: Array<string> = []
  if (text.startsWith("-")) {
    const equals = text.indexOf("=")
    if (equals !== -1) out.push(text.slice(equals + 1))
    else if (!text.startsWith("--") && text.length > 2) out.push(text.slice(2))
  } else {
    out.push(text)
    const tail = /^[^=/]*=(.+)$/.exec(text)?.[1]
    if (tail !== undefined) out.push(tail)
    const sent = /@(.+)$/.exec(text)?.[1]
    if (sent !== undefined) out.push(sent)
    // Programs and scripts given as text name files inside of it.
    if (/[\s'"(]/.test(text))
      out.push(
        ...text
          .split(/[\s'"(),;|<>=:]+/)
          .filter((piece) => /^[\w~./-]*[./~][\w~./-]*$/.test(piece))
          .slice(0, 32),
      )
  }
  return out.filter((path) => path !== "" && path !== "-").map(literal)
}

/** Whatever stands behind one of its letters up to the end of the command. */
const namedBySed = ({ text }: Field): ReadonlyArray<Field> =>
  Array.from(
    text.matchAll(/[rRwW]/g),
    ({ index }) =>
      text
        .slice(index + 1)
        .split(/[\n;}]/, 1)[0]
        ?.trim() ?? "",
  )
    .filter((path) => path !== "")
    .slice(0, 32)
    .map(literal)

export const touching = (program: string, args: ReadonlyArray<Field>): Touching => {
  if (words.has(program)) return { reads: [], possible: [], writes: [], hosts: [], why: "" }
  const found = Object.hasOwn(known, program) ? known[program] : undefined
  if (found !== undefined) return found(args)
  return {
    reads: [],
    possible: args.flatMap(named),
    writes: [],
    hosts: [],
    why: `${program} is not known to only read`,
  }
}
