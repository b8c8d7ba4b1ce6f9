/**
 * Judges the analysis by what bash really does. Every generated line that counts as read-only is run in a scratch directory whose PATH
 * holds the real readers and a logging stub for every other program of this machine; a stub that ran or a file that changed is a failure.
 * So is a secret that was printed although a rule forbids to read it and nothing said that the line would.
 */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { analyse } from "../../src/policy/Bash.ts"
import * as Decide from "../../src/policy/Decide.ts"
import * as Rules from "../../src/policy/Rules.ts"
import { files, generator, secret } from "./shellLines.ts"

/** Written down here once more, on purpose: the oracle must not take the word of the table it judges. */
const readers = new Set(
  (
    "ls cat tac rev head tail wc nl stat du df file sort uniq cut tr fold fmt expand unexpand column paste join comm diff cmp grep egrep fgrep " +
    "rg tree which date uname arch nproc whoami id groups hostname uptime free tty basename dirname realpath readlink seq sleep md5sum sha1sum " +
    "sha224sum sha256sum sha384sum sha512sum b2sum shasum cksum base64 base32 od hexdump hd xxd strings ps sed awk mawk jq find echo printf " +
    "pwd true false test [ node npm python python3 gcc bash timeout nice nohup stdbuf ionice env xargs time"
  ).split(" "),
)

const seeds = { lines: 20_261_118, fuzz: 41 }
const wanted = 20_000
const batchSize = 250

interface Scratch {
  readonly root: string
  readonly cwd: string
  readonly home: string
  readonly log: string
}

/** Puts everything that must not change back to how it was. */
const fill = (scratch: Scratch): string => {
  const { root } = scratch
  for (const folder of ["w", "home", "canary"]) fs.rmSync(path.join(root, folder), { recursive: true, force: true })
  for (const folder of ["w/src", "w/odd", "w/t1", "w/t2", "home", "canary"])
    fs.mkdirSync(path.join(root, folder), { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    const file = name.startsWith("odd/")
      ? path.join(scratch.cwd, "odd", name.slice(4).replaceAll("/", "_"))
      : path.join(scratch.cwd, name)
    fs.writeFileSync(file, text)
  }
  fs.chmodSync(path.join(scratch.cwd, "cmds"), 0o755)
  fs.writeFileSync(path.join(scratch.home, "notes"), "home\n")
  fs.writeFileSync(path.join(root, "canary", "bird"), "alive\n")
  return fingerprint(scratch)
}

const makeScratch = (): Scratch => {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "oracle-")))
  const scratch = { root, cwd: path.join(root, "w"), home: path.join(root, "home"), log: path.join(root, "log") }
  fs.mkdirSync(path.join(root, "bin"))
  fill(scratch)
  const stub = path.join(root, "stub")
  fs.writeFileSync(stub, `#!/bin/bash -p\nbuiltin printf 'STUB %s %s\\n' "$0" "$*" >> '${scratch.log}'\n`)
  fs.chmodSync(stub, 0o755)
  for (const folder of ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]) {
    for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
      const link = path.join(root, "bin", name)
      if (!fs.existsSync(link)) fs.symlinkSync(readers.has(name) ? path.join(folder, name) : stub, link)
    }
  }
  for (const name of [
    "git",
    "curl",
    "wget",
    "ssh",
    "sudo",
    "npx",
    "docker",
    "yarn",
    "pnpm",
    "cargo",
    "go",
    "rustc",
    "nc",
    "vim",
    "make",
  ]) {
    const link = path.join(root, "bin", name)
    if (!fs.existsSync(link)) fs.symlinkSync(stub, link)
  }
  return scratch
}

/** Everything that must stay as it is: names, kinds, modes, sizes, times and contents. */
const fingerprint = ({ root }: Scratch): string => {
  const hash = createHash("sha256")
  const visit = (name: string): void => {
    const full = path.join(root, name)
    const stat = fs.lstatSync(full)
    hash.update(`${name}\0${stat.mode}\0${stat.size}\0${stat.mtimeMs}\0`)
    if (stat.isDirectory()) for (const child of fs.readdirSync(full).sort()) visit(path.join(name, child))
    else if (stat.isFile()) hash.update(fs.readFileSync(full))
  }
  for (const name of ["w", "home", "canary"]) visit(name)
  return hash.digest("hex")
}

/** Each line runs as the Bash tool runs it: by `eval`, with nothing on its input; the log says which line a stub belongs to. */
const driver = `
ulimit -t 5 -f 20000 2>/dev/null
n=0
while IFS= builtin read -r -d '' __line; do
  builtin printf 'LINE %s\\n' "$n" >> "$ORACLE_LOG"
  n=$((n + 1))
  ( unset n IFS; cd "$ORACLE_CWD"; ulimit -t 2; eval "$__line" ) </dev/null >"$ORACLE_OUT.$n" 2>&1
  IFS= builtin read -r -d '' __out < "$ORACLE_OUT.$n"
  [[ $__out == *"$ORACLE_SECRET"* ]] && builtin printf 'LEAK\\n' >> "$ORACLE_LOG"
done < "$ORACLE_LINES"
builtin printf 'LINE done\\n' >> "$ORACLE_LOG"
`

const runBatch = (
  scratch: Scratch,
  lines: ReadonlyArray<string>,
): Promise<{
  readonly stubs: ReadonlyArray<string>
  readonly leaks: ReadonlyArray<string>
  readonly late: boolean
}> => {
  fs.writeFileSync(scratch.log, "")
  const source = path.join(scratch.root, "lines")
  fs.writeFileSync(source, lines.map((line) => `${line}\0`).join(""))
  return new Promise((resolve) => {
    // A batch that never ends is ended with everything it started.
    const child = spawn("timeout", ["-s", "KILL", "60", "/bin/bash", "--norc", "--noprofile", "-c", driver], {
      cwd: scratch.cwd,
      stdio: "ignore",
      env: {
        PATH: path.join(scratch.root, "bin"),
        HOME: scratch.home,
        LANG: "C.UTF-8",
        ORACLE_LOG: scratch.log,
        ORACLE_CWD: scratch.cwd,
        ORACLE_LINES: source,
        ORACLE_OUT: path.join(scratch.root, "out"),
        ORACLE_SECRET: secret,
      },
    })
    child.on("exit", () => {
      let at = -1
      let late = true
      const stubs: Array<string> = []
      const leaks: Array<string> = []
      for (const entry of fs.readFileSync(scratch.log, "utf8").split("\n")) {
        if (entry === "LINE done") late = false
        else if (entry.startsWith("LINE ")) at = Number(entry.slice(5))
        else if (entry === "LEAK") leaks.push(lines[at] ?? "?")
        else if (entry.startsWith("STUB ")) stubs.push(`${lines[at] ?? "?"}\n      started ${entry.slice(5)}`)
      }
      resolve({ stubs, leaks, late })
    })
  })
}

/** Which of these lines changed something is found by running them one by one. */
const culprit = async (scratch: Scratch, batch: ReadonlyArray<string>): Promise<string> => {
  const before = fill(scratch)
  for (const line of batch) {
    await runBatch(scratch, [line])
    if (fingerprint(scratch) !== before) return `${line}\n      changed files`
  }
  return `${batch.join("\n")}\n      changed files together`
}

describe("the oracle", () => {
  it("finds that real bash changes nothing for any line that counts as read-only", async () => {
    const { line } = generator(seeds.lines)
    const place = makeScratch()
    const chosen = new Set<string>()
    /** Those that a rule about the secret would stop. */
    const stopped = new Set<string>()
    const rules = Rules.compile(
      [{ behavior: "deny", text: "Read(.env)", root: place.cwd, source: { kind: "project", file: "rules.json" } }],
      { cwd: place.cwd, home: place.home, managedOnly: false },
    )
    let made = 0
    while (chosen.size < wanted + 2000 && made < 600_000) {
      made++
      const text = line()
      const found = analyse(text, { cwd: place.cwd, home: place.home })
      if (found._tag === "Opaque" || !found.readOnly) continue
      chosen.add(text)
      const call = { tool: "Bash", input: { command: text }, readOnly: true, touches: found.touches, bash: found }
      const { decision } = Decide.decide(call, rules, { cwd: place.cwd, home: place.home, mode: "default" })
      if (decision === "deny") stopped.add(text)
    }
    assert.isAtLeast(chosen.size, wanted)
    const lines = [...chosen]
    const batches = Array.from({ length: Math.ceil(lines.length / batchSize) }, (_, at) =>
      lines.slice(at * batchSize, (at + 1) * batchSize),
    )
    const failures: Array<string> = []
    let hung = 0
    const work = async (): Promise<void> => {
      const scratch = makeScratch()
      let before = fill(scratch)
      for (let batch = batches.shift(); batch !== undefined && failures.length < 40; batch = batches.shift()) {
        const { late, leaks, stubs } = await runBatch(scratch, batch)
        failures.push(...stubs)
        failures.push(...leaks.filter((line) => !stopped.has(line)).map((line) => `${line}\n      showed the secret`))
        if (late) hung++
        if (fingerprint(scratch) === before) continue
        failures.push(await culprit(scratch, batch))
        before = fill(scratch)
      }
      fs.rmSync(scratch.root, { recursive: true, force: true })
    }
    await Promise.all([work(), work()])
    fs.rmSync(place.root, { recursive: true, force: true })
    console.log(
      `oracle: ${lines.length} lines of ${made} were read-only and ran; ${failures.length} failed, ${hung} batches hung`,
    )
    assert.deepEqual(failures.slice(0, 20), [])
    assert.strictEqual(hung, 0)
  })

  it("agrees with bash about what can be parsed, and never calls read-only what bash rejects", () => {
    const { line, mutated } = generator(seeds.fuzz)
    const lines = [...new Set(Array.from({ length: 6000 }, (_, at) => (at % 3 === 0 ? line() : mutated())))].filter(
      (text) => !text.includes("\0"),
    )
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fuzz-"))
    fs.writeFileSync(path.join(folder, "lines"), lines.map((text) => `${text}\0`).join(""))
    const answers = execFileSync(
      "/bin/bash",
      [
        "--norc",
        "-c",
        `while IFS= read -r -d '' l; do /bin/bash -nc -- "$l" </dev/null >/dev/null 2>&1; echo $?; done < lines`,
      ],
      { cwd: folder, encoding: "utf8", maxBuffer: 1e8, env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" } },
    )
      .trim()
      .split("\n")
    fs.rmSync(folder, { recursive: true, force: true })
    const wrong: Array<string> = []
    const differ: Array<string> = []
    lines.forEach((text, at) => {
      const accepts = answers[at] === "0"
      const found = analyse(text, { cwd: "/w", home: "/h" })
      const parses = !(found._tag === "Opaque" && /cannot be parsed|cannot be looked/.test(found.why))
      if (!accepts && found._tag === "Understood" && found.readOnly) wrong.push(text)
      if (accepts !== parses) differ.push(`${accepts ? "bash accepts" : "bash rejects"}: ${JSON.stringify(text)}`)
    })
    const rate = 1 - differ.length / lines.length
    console.log(
      `fuzz: ${lines.length} lines, agreement ${(rate * 100).toFixed(2)} %\n${differ.slice(0, 12).join("\n")}`,
    )
    assert.strictEqual(answers.length, lines.length)
    assert.deepEqual(wrong.slice(0, 20), [])
    assert.isAtLeast(rate, 0.98)
  })
})
