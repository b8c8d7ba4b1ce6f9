/** Owns the arguments of find: which of them only look, and the commands it would run. */
import type { Reading } from "./Readers.ts"
import type { Field } from "./State.ts"

const alone = new Set(
  (
    "-print -print0 -ls -prune -quit -depth -d -xdev -mount -noleaf -daystart -empty -true -false -not -a -o -and -or ! ( ) , " +
    "-readable -writable -executable -nouser -nogroup -ignore_readdir_race -noignore_readdir_race -warn -nowarn -P -E -X -x -s"
  ).split(" "),
)
const withValue = new Set(
  (
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname -type -xtype -size -mtime -mmin -atime -amin " +
    "-ctime -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -maxdepth -mindepth -links -inum -samefile -used -fstype -printf " +
    "-newermt -newerct -newerat -newermm -newerma -newermc"
  ).split(" "),
)

export interface FindCall extends Reading {
  readonly commands: ReadonlyArray<ReadonlyArray<Field>>
  readonly writes: ReadonlyArray<Field>
  readonly deletes: boolean
}

export const readFind = (args: ReadonlyArray<Field>): FindCall => {
  const reads: Array<Field> = []
  const writes: Array<Field> = []
  const commands: Array<ReadonlyArray<Field>> = []
  let why: string | undefined
  let deletes = false
  let started = false
  for (let at = 0; at < args.length; at++) {
    const field = args[at]
    if (field === undefined) break
    const { text } = field
    if (field.kind !== "literal" && (field.kind === "unknown" || /^[*?[-]/.test(field.pattern))) {
      why ??= `${text} may become an action of find`
    }
    if (field.kind !== "literal" || (!text.startsWith("-") && !/^[!(),]$/.test(text))) {
      if (!started) reads.push(field)
      else why ??= `${text} is not understood`
      continue
    }
    started ||= !/^-[LPH]$/.test(text)
    if (/^-(?:exec|execdir|ok|okdir)$/.test(text)) {
      why ??= `find ${text} runs a command`
      const from = at + 1
      while (at + 1 < args.length && !/^[;+]$/.test(args[at + 1]?.text ?? "")) at++
      at++
      commands.push(args.slice(from, at))
    } else if (text === "-delete") {
      why ??= "find -delete deletes"
      deletes = true
    } else if (/^-(?:fprint|fprint0|fls|fprintf)$/.test(text)) {
      why ??= `find ${text} writes a file`
      const target = args[++at]
      if (target !== undefined) writes.push(target)
      if (text === "-fprintf") at++
    } else if (withValue.has(text)) {
      const value = args[++at]
      if (value === undefined || value.kind !== "literal") why ??= `the value of ${text} is not known`
      else if (/^-(?:[ac]?newer|samefile)$/.test(text)) reads.push(value)
    } else if (!alone.has(text)) why ??= `${text} of find is not known to be harmless`
  }
  if (reads.length === 0) reads.push({ kind: "literal", text: "." })
  return { why, reads, deep: false, commands, writes, deletes }
}
