/** A sandboxed command may write a repository of its own into the workspace. Nothing it configures there may run outside later. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Git } from "../../src/platform/Git.ts"
import { analyse } from "../../src/policy/Bash.ts"
import * as GitConfig from "../../src/policy/bash/GitConfig.ts"
import { boxed, inside } from "./Boxed.ts"

/** Everything that can make git run a program, in one repository whose work tree looks changed and whose objects are missing. */
const hostile = (marker: string) => `
set -e
run='touch ${marker}; true'
mkdir -p evil && cd evil && git init -q
git config user.name e && git config user.email e@example.com
echo a > f && echo 'f filter=x diff=x merge=x' > .gitattributes && git add . && git commit -qm one
echo b > f
printf '#!/bin/sh\\n%s\\n' "$run" > run.sh && chmod +x run.sh && run=$PWD/run.sh
for hook in post-index-change pre-commit post-checkout fsmonitor-watchman reference-transaction; do cp run.sh .git/hooks/$hook; done
for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy diff.external diff.x.command diff.x.textconv \\
  filter.x.clean filter.x.smudge filter.x.process merge.x.driver gpg.program credential.helper sequence.editor pager.status pager.log \\
  uploadpack.packObjectsHook core.alternateRefsCommand interactive.diffFilter; do git config $key "$run"; done
for alias in status log diff show; do git config alias.$alias "!$run"; done
git config log.showSignature true
git config core.hooksPath .git/hooks
printf '[diff]\\n\\texternal = %s\\n[filter "y"]\\n\\tclean = %s\\n' "$run" "$run" > more && git config include.path ../more
git config extensions.partialClone origin
git config remote.origin.promisor true
git config remote.origin.url "ext::sh -c $run"
git config protocol.ext.allow always
git config core.repositoryformatversion 1
blob=$(git rev-parse HEAD:f) && rm -f .git/objects/\${blob:0:2}/\${blob:2}
`

const looking = [
  "git status",
  "git status -v --untracked-files=all",
  "git diff",
  "git diff HEAD",
  "git log -p",
  "git show",
  "git ls-files -o -m",
  "git grep --untracked a",
  "git blame a.txt",
  "git branch -v",
  "git describe --all",
  "git stash list",
]

describe("a repository that was made in the sandbox", () => {
  it.live("makes neither our own git calls nor commands that nobody is asked about run anything", () =>
    boxed({}, ({ root, temp }) =>
      Effect.gen(function* () {
        const env = { ...process.env, HOME: path.join(temp, "home"), GIT_CONFIG_NOSYSTEM: "1" }
        const git = (...args: ReadonlyArray<string>) =>
          execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { cwd: root, env })
        git("init", "-q")
        fs.writeFileSync(path.join(root, "a.txt"), "a\n")
        git("add", ".")
        git("commit", "-q", "-m", "one")
        const marker = path.join(temp, "ran")
        const ran = () => fs.existsSync(marker)

        const service = yield* Git
        const isUnprompted = Effect.fnUntraced(function* (cwd: string, line: string) {
          const own = yield* service.own(cwd)
          const cleanGit = own !== undefined && !own.more && own.texts.every(GitConfig.isClean)
          const found = analyse(line, { cwd, home: "/nowhere", cleanGit })
          return found._tag === "Understood" && found.readOnly
        })
        /** Runs outside whatever would run there without a question. */
        const outside = Effect.fnUntraced(function* (cwd: string, line: string) {
          const free = yield* isUnprompted(cwd, line)
          // What it says does not matter, only what it starts.
          if (free) execFileSync("bash", ["-c", `${line}; true`], { cwd, env, stdio: "ignore" })
          assert.isFalse(ran(), `${line} in ${cwd}`)
          return free
        })

        const made = yield* inside(root, hostile(marker))
        assert.strictEqual(made.exitCode, 0, made.stderr)
        fs.rmSync(marker, { force: true })
        const evil = path.join(root, "evil")

        for (const line of looking) {
          assert.isTrue(yield* outside(root, line), line)
          assert.isFalse(yield* outside(evil, line), line)
          assert.isFalse(yield* outside(root, `cd evil && ${line}`), line)
          assert.isFalse(yield* outside(root, line.replace("git", "git -C evil")), line)
        }
        for (const args of [["status"], ["diff", "HEAD"], ["log", "-1", "-p"], ["show", "HEAD"], ["ls-files", "-m"]]) {
          yield* Effect.ignore(service.run(evil, args))
          assert.isFalse(ran(), `our own git ${args.join(" ")}`)
        }
        yield* Effect.ignore(service.status(evil))
        yield* Effect.ignore(service.status(root))
        assert.isFalse(ran())

        // An entry of the index makes it a submodule, which git enters; in a split index it stands in another file.
        const id = "1".repeat(40)
        for (const line of [
          `git update-index --add --cacheinfo 160000,${id},evil`,
          "git update-index --split-index",
          "git config core.x y; git rm -q --cached evil; ln -sfn evil/.git .git/modules",
        ]) {
          yield* inside(root, line)
          assert.isFalse(yield* outside(root, "git status"), line)
          yield* Effect.ignore(service.status(root))
          assert.isFalse(ran(), line)
        }

        // The trap is one: anybody else walks into it.
        execFileSync("bash", ["-c", "git status || true"], { cwd: evil, env, stdio: "ignore" })
        assert.isTrue(ran())
      }).pipe(Effect.provide(Git.layer)),
    ),
  )
})
