/**
 * Judges the parser by what bash really does with lines that are put together from pieces of its grammar, most of them nonsense: no
 * command may run that was not seen, and no word may come out that was not noted.
 */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { analyse } from "../../src/policy/Bash.ts"
import { randomOf } from "./shellLines.ts"

const picker = (seed: number) => {
  const random = randomOf(seed)
  const below = (n: number): number => Math.floor(random() * n)
  const join = (pieces: ReadonlyArray<string>, least: number, more: number): string =>
    Array.from({ length: least + below(more) }, () => pieces[below(pieces.length)] ?? "").join("")
  return { below, join, chance: (p: number) => random() < p }
}

/** Runs each line in a shell of its own and returns what each has written to descriptor 9. */
const played = (lines: ReadonlyArray<string>, before: string, cwd: string): ReadonlyArray<string> => {
  const file = path.join(path.dirname(cwd), "lines")
  fs.writeFileSync(file, lines.map((line) => `${line}\0`).join(""))
  const driver = `while IFS= read -r -d '' __line; do
    ( cd '${cwd}'; ${before}; ulimit -t 1; eval "$__line"; wait ) </dev/null >/dev/null 2>&1; printf '\\1' >&9
  done 9>&1 < '${file}'`
  return execFileSync("timeout", ["-s", "KILL", "400", "bash", "--norc", "-c", driver], {
    cwd,
    encoding: "utf8",
    maxBuffer: 1e9,
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: "/usr/bin:/bin", HOME: path.join(path.dirname(cwd), "home"), LANG: "C.UTF-8" },
  }).split("\u0001")
}

const scratch = () => {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "parser-")))
  const cwd = path.join(root, "w")
  fs.mkdirSync(cwd)
  return { root, cwd, home: path.join(root, "home") }
}

const starts = ["echo ", "ls ", "cat ", "", 'echo "', "x=", "cat <<E\n", "[[ x =~ ", "echo ${x:-"]
const pieces = [
  ..."a b x E EOF f evil evil $(evil) $(evil) `evil` \\`evil\\` \" \" ' ' \\ \\\\ $ $' $' \\' \\\" ` ` ; && | |& ( ) $( ) { } }".split(
    " ",
  ),
  ..."${x:- ${x# ${x/ ${x^ ${x: ${!x ${#x @P} $(( )) (( )) [[ ]] -eq =~ <( 2>( {x}<( >>( &>( <<<( >&( <>( 1<( $[ ] a[ [0]=".split(
    " ",
  ),
  ...'x= a=( a+=( ;; ;& ;;& esac a) if then fi do done eval @( * ? ~ % 1 0 2> & >/dev/null < ! = # $"'.split(" "),
  "<<E\n",
  "\nE\n",
  "<<'E'\n",
  '<<"E"\n',
  "<<-E\n",
  "\n\tE\n",
  "<<\\E\n",
  "<<EOF\n",
  "\nEOF\n",
  "\n",
  "\n",
  "\\\n",
  "\t",
  " ",
  " ",
  " ",
  " #",
  " in ",
  "case x in x)",
  "for x in ",
  "while ",
  "function f",
  "f()",
  "coproc ",
  "time ",
  "! ",
  "select x in ",
  "until ",
  "echo ",
  "cat ",
  "\nevil\n",
  "; evil;",
  "$\\\n",
  "<\\\n",
  "declare -a a=(",
]

describe("the parser", () => {
  it("sees every command that bash runs, or says that it cannot", () => {
    const { below, chance, join } = picker(20_261_119)
    const place = scratch()
    const lines = new Set<string>()
    while (lines.size < 25_000) {
      const line = (starts[below(starts.length)] ?? "") + join(pieces, 2, 12)
      if (line.includes("evil") && (!line.includes("&") || chance(0.3))) lines.add(line)
    }
    const all = [...lines]
    const stubs = "evil() { printf E >&9; }; cat() { :; }; ls() { :; }; PATH=/nowhere"
    const ran = played(all, stubs, place.cwd)
    const hidden = all.filter((line, at) => {
      if (ran[at]?.includes("E") !== true) return false
      const found = analyse(line, place)
      if (found._tag === "Opaque") return false
      const isSeen = found.touches.some(
        (touch) =>
          (touch._tag === "Executes" && touch.program === "evil") ||
          (touch._tag === "Unknown" && touch.why.includes("may be any program")),
      )
      // A command that no rule can allow stands for what is not known.
      return !isSeen && !found.commands.some(({ allowText, readOnly }) => !readOnly && allowText.length === 0)
    })
    fs.rmSync(place.root, { recursive: true, force: true })
    console.log(`parser: ${ran.filter((one) => one.includes("E")).length} of ${all.length} lines ran it`)
    assert.strictEqual(ran.length, all.length + 1)
    assert.deepEqual(hidden.slice(0, 20), [])
  })

  it("knows the words that bash makes of what it calls read-only", () => {
    const { below, chance, join } = picker(42)
    const place = scratch()
    for (const name of [".env", "a", "b", "ab", "a b", "{a,b}", "-n", "$x", "~", "a\\b", "*", "é"])
      fs.writeFileSync(path.join(place.cwd, name), "")
    const parts = [
      ..."a b .env .e nv { } , .. 1 3 $x $y ${x} ${x:-a} ${x#a} ${#x} \" ' \\ $' \\x61 \\' \\\" * ? ! ^ - ~ ~/ / $HOME".split(
        " ",
      ),
      ...'"$x" \'$x\' $" = a= # % @ + $((1+1)) $(echo a) `echo b` {a,b} {1..3} {a..c} [a-c] [!a] [ ] \\101 é \\u00e9'.split(
        " ",
      ),
      ..."x=~ :~ ${x/a/b} ${x^^} $1 $@ $* $? $ \\$ \\* \\{ \\~ $HOME".split(" "),
      "\\\n",
      "\t",
      " ",
      "\\ ",
      ";",
    ]
    const values =
      "a|'a b'|'.e*'|'.en\\v'|'\\*'|~|'~'|{a,b}|'{a,b}'|\"*\"|a\\ b|$'a\\tb'|'$y'|\\~|b:~|''|' a'|'a '|*|a=~|\"\":~".split(
        "|",
      )
    const value = () => values[below(values.length)] ?? ""
    const lines = new Set<string>()
    while (lines.size < 60_000) {
      const before = chance(0.5) ? `x=${value()}; ` : chance(0.3) ? `x=${value()}; y=${join(parts, 1, 4)}; ` : ""
      lines.add(`${before}cat -- ${join(parts, 1, 5)}${chance(0.4) ? ` ${join(parts, 1, 4)}` : ""}`)
    }
    const judged = [...lines].flatMap((line) => {
      const found = analyse(line, place)
      return found._tag === "Understood" && found.readOnly ? [{ line, found }] : []
    })
    const made = played(
      judged.map(({ line }) => line),
      `cat() { shift; printf '%s\\0' "$@" >&9; }`,
      place.cwd,
    )
    const wrong = judged.flatMap(({ found, line }, at) => {
      const reads = found.touches.flatMap((touch) => (touch._tag === "Reads" ? [touch] : []))
      const isNoted = (word: string) => {
        const file = path.resolve(place.cwd, word)
        // A pattern is compared by the disk later, and one with a class is always asked about.
        return reads.some(({ path: at, pattern }) =>
          pattern === true ? at.includes("[") || fits(at, file) : at === file,
        )
      }
      const other = made[at]
        ?.split("\0")
        .slice(0, -1)
        .find((word) => word !== "" && word !== "-" && !isNoted(word))
      return other === undefined ? [] : [`${line} => ${other}`]
    })
    fs.rmSync(place.root, { recursive: true, force: true })
    console.log(`words: ${judged.length} of ${lines.size} lines were read-only`)
    assert.strictEqual(made.length, judged.length + 1)
    assert.isAtLeast(judged.length, 8_000)
    assert.deepEqual(wrong.slice(0, 20), [])
  })
})

const fits = (pattern: string, file: string): boolean => {
  const source = pattern.replaceAll(/\\(.)|(\*+)|(\?)|([.+^${}()|[\]\\])/gs, (_all, escaped, star, any, special) =>
    escaped !== undefined ? `\\x${escaped.charCodeAt(0).toString(16)}` : star ? "[^]*" : any ? "[^]" : `\\${special}`,
  )
  return new RegExp(`^${source}$`, "u").test(file)
}
