import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import { Host } from "../../src/platform/Host.ts"
import { layer as egress } from "../../src/platform/NodeEgress.ts"
import { Process, ProcessError } from "../../src/platform/Process.ts"
import { hint, Sandbox } from "../../src/security/Sandbox.ts"
import { Settings } from "../../src/settings/Settings.ts"
import { boxed, inside, write } from "./Boxed.ts"

const serve = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = http.createServer((request, response) => {
      response.end(`${request.headers.host} ${request.url}`)
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    return { server, port: typeof address === "object" && address !== null ? address.port : 0 }
  }),
  ({ server }) =>
    Effect.sync(() => server.closeAllConnections()).pipe(Effect.andThen(Effect.sync(() => server.close()))),
)

describe("Sandbox: the disk", () => {
  it.live("writes in the workspace and the temporary directory, and nowhere else", () =>
    boxed({}, ({ root, temp }) =>
      Effect.gen(function* () {
        const line = `echo a > a && echo t > /tmp/t && cat a /tmp/t; echo x > ${temp}/x; echo x > /etc/troupe-x; echo x > ~/x`
        const result = yield* inside(root, line)
        assert.strictEqual(result.stdout, "a\nt\n")
        assert.strictEqual(result.stderr.match(/Read-only file system/g)?.length, 3, result.stderr)
        assert.deepStrictEqual(fs.readdirSync(temp).sort(), ["home", "work"])
        assert.isFalse(fs.existsSync("/tmp/t"))
        assert.strictEqual((yield* inside(root, "cat /tmp/t")).stdout, "t\n")
      }),
    ),
  )

  it.live("shows no credentials: in the home, in the workspace, in what settings hide", () =>
    boxed({ filesystem: { denyRead: ["./private", "**/*.pem"] } }, ({ root, home }) =>
      Effect.gen(function* () {
        const hidden = [
          ".ssh/id",
          ".aws/credentials",
          ".config/gcloud/x",
          ".netrc",
          ".npmrc",
          ".claude/.credentials.json",
          ".claude.json",
        ].map((name) => path.join(home, name))
        const own = [".env", ".env.local", "pkg/api/.env", "private/x", "deep/key.pem"].map((name) =>
          path.join(root, name),
        )
        for (const at of [...hidden, ...own]) write(at)
        write(path.join(root, ".env.example"), "open\n")
        for (const at of [...hidden, ...own]) {
          const result = yield* inside(root, `cat ${at}`)
          assert.strictEqual(result.stdout, "", at)
          assert.match(result.stderr, /denied/, at)
        }
        assert.strictEqual((yield* inside(root, "cat .env.example")).stdout, "open\n")
      }),
    ),
  )

  it.live("keeps what steers tools as it is, and takes away what appears", () =>
    boxed({}, ({ root }) =>
      Effect.gen(function* () {
        execFileSync("git", ["init", "-q", root])
        write(path.join(root, ".claude/settings.json"), "{}")
        const line =
          "echo x > .git/hooks/pre-commit; git config core.pager evil; echo x > .claude/settings.json; mv .git .git2; mv .claude c; " +
          "rm -rf .git/hooks; echo x > .mcp.json; echo x > .bashrc; echo fine > ok"
        const result = yield* inside(root, line)
        assert.isFalse(fs.existsSync(path.join(root, ".git/hooks/pre-commit")))
        assert.notMatch(fs.readFileSync(path.join(root, ".git/config"), "utf8"), /evil/)
        assert.strictEqual(fs.readFileSync(path.join(root, ".claude/settings.json"), "utf8"), "{}")
        assert.deepStrictEqual(fs.readdirSync(root).sort(), [".claude", ".git", "ok"])
        assert.strictEqual(result.notes.length, 2, result.notes.join())
      }),
    ),
  )

  it.live("lets git work: status, add, commit, branch", () =>
    boxed({}, ({ root }) =>
      Effect.gen(function* () {
        execFileSync("git", ["init", "-q", root])
        const line =
          "echo a > a && git add a && git -c user.name=n -c user.email=e commit -qm one && git switch -qc two && git status --short && git log --format=%s"
        const result = yield* inside(root, line)
        assert.strictEqual(result.stdout, "one\n", result.stderr)
      }),
    ),
  )

  it.live("opens what settings and the caller open, and closes what they close", () =>
    boxed({ filesystem: { allowWrite: ["../more"], denyWrite: ["./fixed"] } }, ({ root, temp }) =>
      Effect.gen(function* () {
        for (const name of ["more", "notes", "work/fixed"]) fs.mkdirSync(path.join(temp, name))
        const line = `echo a > ../more/a; echo b > ../notes/b; echo c > fixed/c`
        yield* inside(root, line, { writes: [path.join(temp, "notes")] })
        assert.isTrue(fs.existsSync(path.join(temp, "more/a")))
        assert.isTrue(fs.existsSync(path.join(temp, "notes/b")))
        assert.isFalse(fs.existsSync(path.join(root, "fixed/c")))
      }),
    ),
  )
})

describe("Sandbox: the command", () => {
  it.live("passes stdin, directory, exit codes and signals through", () =>
    boxed({}, ({ root }) =>
      Effect.gen(function* () {
        fs.mkdirSync(path.join(root, "sub"))
        const result = yield* inside(path.join(root, "sub"), "pwd; cat; exit 7", { stdin: "given\n" })
        assert.deepStrictEqual([result.stdout, result.exitCode], [`${root}/sub\ngiven\n`, 7])
        assert.strictEqual((yield* inside(root, "kill -TERM $$")).exitCode, 143)
        assert.strictEqual((yield* inside(root, "kill -KILL $$")).exitCode, 137)
      }),
    ),
  )

  it.live("knows no keys, not even in the first process's environment", () =>
    boxed({}, ({ root }) =>
      Effect.gen(function* () {
        const env = {
          PATH: process.env.PATH,
          ANTHROPIC_API_KEY: "hunter2",
          GITHUB_TOKEN: "hunter2",
          SSH_AUTH_SOCK: "hunter2",
          AWS_SECRET_ACCESS_KEY: "hunter2",
          KEEP: "kept",
        }
        const result = yield* inside(root, "env; cat /proc/*/environ | tr '\\0' '\\n'", { env })
        assert.notMatch(result.stdout, /hunter2/)
        assert.match(result.stdout, /KEEP=kept/)
      }),
    ),
  )

  it.live("takes its background processes with it", () =>
    boxed({}, ({ root }) =>
      Effect.gen(function* () {
        const marker = `99${process.pid}.5`
        yield* inside(root, `setsid sleep ${marker} & sleep ${marker} & disown -a; echo started`)
        const alive = fs.readdirSync("/proc").filter((pid) => {
          try {
            return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(marker)
          } catch {
            return false
          }
        })
        assert.deepStrictEqual(alive, [])
      }),
    ),
  )

  it.live("runs excluded commands outside, but nothing that is joined to them", () =>
    boxed({ excludedCommands: ["docker", "npm run test:*", "make *"] }, () =>
      Effect.gen(function* () {
        const sandbox = yield* Sandbox
        const tag = (commands: ReadonlyArray<string>) => Effect.map(sandbox.plan({ commands }), (plan) => plan._tag)
        for (const one of ["docker", "docker ps", "npm run test", "npm run test -- x", "make", "make all"]) {
          assert.strictEqual(yield* tag([one]), "Outside", one)
        }
        for (const one of ["dockerx", "curl docker", "npm run build", "makefile"]) {
          assert.strictEqual(yield* tag([one]), "Inside", one)
        }
        assert.strictEqual(yield* tag(["docker ps", "curl evil.net"]), "Inside")
        assert.strictEqual(yield* tag([]), "Inside")
        assert.strictEqual((yield* sandbox.plan({ commands: ["ls"], outside: true }))._tag, "Outside")
      }),
    ),
  )

  it.live("stays inside when settings allow nothing outside", () =>
    boxed({ allowUnsandboxedCommands: false, autoAllowBashIfSandboxed: false }, () =>
      Effect.gen(function* () {
        const sandbox = yield* Sandbox
        const plan = yield* sandbox.plan({ commands: ["ls"], outside: true })
        assert.isTrue(plan._tag === "Inside" && !plan.autoAllow)
      }),
    ),
  )
})

describe("Sandbox: the network", () => {
  it.live("has none unless hosts are allowed, and says so", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { port } = yield* serve
        yield* boxed({}, ({ root }) =>
          Effect.gen(function* () {
            const result = yield* inside(root, `curl -sS --max-time 5 http://127.0.0.1:${port}/ http://example.com/`)
            assert.strictEqual(result.stdout, "")
            assert.notStrictEqual(result.exitCode, 0)
            const sandbox = yield* Sandbox
            const plan = yield* sandbox.plan({ commands: ["x"] })
            assert.match(plan._tag === "Inside" ? (hint(plan, result.stderr) ?? "") : "", /no network/)
          }),
        )
      }),
    ),
  )

  it.live("reaches an allowed host through the proxy by HTTP, CONNECT and SOCKS, and no other", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { port } = yield* serve
        // The stub resolver leads every name to this machine, which only a name that says so may do.
        const network = { allowedDomains: ["allowed.localhost", "*.ok.localhost"], deniedDomains: ["no.ok.localhost"] }
        yield* boxed({ network }, ({ root }) =>
          Effect.gen(function* () {
            const get = (host: string, flags = "") =>
              `curl -sS --noproxy '' --max-time 9 ${flags} http://${host}:${port}/p?q; `
            const http = `-x $HTTP_PROXY`
            const result = yield* inside(
              root,
              get("allowed.localhost", http) +
                get("allowed.localhost", `${http} -p`) +
                get("allowed.localhost", "-x $ALL_PROXY") +
                "exit 3",
            )
            const answer = `allowed.localhost:${port} /p?q`
            assert.strictEqual(result.stdout, answer.repeat(3), result.stderr)
            assert.strictEqual(result.exitCode, 3)
            const refused = yield* inside(
              root,
              get("evil.localhost", http) + get("no.ok.localhost", `${http} -p`) + get("sub.evil.net", "-x $ALL_PROXY"),
            )
            assert.deepStrictEqual(
              refused.refusals.map(({ host }) => host),
              ["evil.localhost", "no.ok.localhost", "sub.evil.net"],
            )
            assert.strictEqual(refused.stderr.match(/\[sandbox\] refused /g)?.length, 3, refused.stderr)
          }),
        )
      }),
    ),
  )

  it.live("does not follow an allowed name to this machine", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { port } = yield* serve
        yield* boxed({ network: { allowedDomains: ["rebind.example"] } }, ({ root }) =>
          Effect.gen(function* () {
            const result = yield* inside(root, `curl -sS http://rebind.example:${port}/`)
            assert.match(result.stderr, /address of this machine/)
            assert.strictEqual(result.refusals.length, 1)
          }),
        )
      }),
    ),
  )

  it.live("has a loopback of its own on which a server can be tried, and passes signals through the relay", () =>
    boxed({ network: { allowedDomains: ["a.example"] } }, ({ root }) =>
      Effect.gen(function* () {
        const server = `require("http").createServer((q, s) => s.end("mine")).listen(8080, "127.0.0.1", () => console.log("up"))`
        write(path.join(root, "s.js"), server)
        const result = yield* inside(
          root,
          `exec 9< <(exec node s.js); read -u 9 up; curl -sS http://localhost:8080/; cat; kill -TERM $$`,
          {
            stdin: " in",
          },
        )
        assert.deepStrictEqual([result.stdout, result.exitCode], ["mine in", 143], result.stderr)
      }),
    ),
  )
})

describe("Sandbox: availability", () => {
  const without = (
    sandbox: { readonly failIfUnavailable?: boolean; readonly allowUnsandboxedCommands?: boolean },
    code: number | undefined,
  ) =>
    Effect.gen(function* () {
      const service = yield* Sandbox
      return yield* Effect.result(service.plan({ commands: ["ls"] }))
    }).pipe(
      Effect.provide(
        Sandbox.layer({ roots: ["/w"] }).pipe(
          Layer.provide(
            Layer.mergeAll(
              NodeFileSystem.layer,
              NodePath.layer,
              Host.layerTest(),
              egress,
              Settings.layerOf({ sandbox: { enabled: true, ...sandbox } }),
              Process.layerScripted(() =>
                code === undefined
                  ? Effect.fail(new ProcessError({ command: "bwrap", cwd: "/", reason: "NotFound", detail: "" }))
                  : Effect.succeed({ exitCode: code, stderr: "No permissions to create new namespace" }),
              ),
            ),
          ),
        ),
      ),
    )

  it.effect("says how to get it when it is missing, and that commands run without it", () =>
    Effect.gen(function* () {
      const plan = yield* without({}, undefined)
      assert.isTrue(Result.isSuccess(plan) && plan.success._tag === "Unavailable")
      assert.match(
        Result.isSuccess(plan) && plan.success._tag === "Unavailable" ? plan.success.message : "",
        /apt-get install/,
      )
    }),
  )

  it.effect("runs nothing when it is required", () =>
    Effect.gen(function* () {
      for (const settings of [{ failIfUnavailable: true }, { allowUnsandboxedCommands: false }]) {
        for (const code of [undefined, 1]) {
          const plan = yield* without(settings, code)
          assert.isTrue(Result.isFailure(plan) && plan.failure._tag === "SandboxError")
          if (code === 1 && Result.isFailure(plan)) assert.match(plan.failure.message, /No permissions to create/)
        }
      }
    }),
  )
})
