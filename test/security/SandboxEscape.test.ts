import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { boxed, inside, write } from "./Boxed.ts"

/** Somebody outside who would do as told, as a container daemon does. */
const daemon = (at: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      let calls = 0
      const server = net.createServer((socket) => {
        calls++
        socket.end("at your service")
      })
      server.listen(at)
      await once(server, "listening")
      return { server, calls: () => calls }
    }),
    ({ server }) => Effect.sync(() => server.close()),
  )

const dial = (at: string) =>
  `node -e 'require("net").connect("${at}").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`

describe("what a sandboxed command tries in vain", () => {
  it.live("links: writing through one that leads out, giving a secret a second name, moving it", () =>
    boxed({}, ({ root, home, temp }) =>
      Effect.gen(function* () {
        write(path.join(home, ".ssh/id"))
        write(path.join(home, "plain"), "open\n")
        write(path.join(root, "pkg/.env"))
        fs.symlinkSync(temp, path.join(root, "out"))
        const line =
          "echo x > out/x; ln -s ../home/.ssh s; cat s/id; ln ../home/plain hard && echo x > hard; ln pkg/.env e; cat e; " +
          "mv pkg moved; cat moved/.env; cp moved/.env c; umount moved/.env; rm moved/.env; cat c"
        const result = yield* inside(root, line)
        assert.notMatch(result.stdout, /secret/)
        assert.isFalse(fs.existsSync(path.join(temp, "x")))
        assert.strictEqual(fs.readFileSync(path.join(home, "plain"), "utf8"), "open\n")
      }),
    ),
  )

  // Only opened, never written: where this fails, it must not cost the machine that runs the test.
  it.live("/proc: the outside by way of another process's root, the kernel's switches, memory", () =>
    boxed({}, ({ root, home }) =>
      Effect.gen(function* () {
        write(path.join(home, ".ssh/id"))
        const paths = ["1/root", "self/root", "self/cwd/../home/../../..", "2/root"].map(
          (one) => `/proc/${one}${home}/.ssh/id`,
        )
        const switches = [
          "sys/kernel/core_pattern",
          "sys/vm/overcommit_memory",
          "sys/kernel/hostname",
          "sysrq-trigger",
          "kcore",
        ]
        const line =
          `cat ${paths.join(" ")}; for s in ${switches.join(" ")}; do (: >> /proc/$s) && echo open $s; done; ` +
          `(: >> /sys/kernel/uevent_helper) && echo open uevent; ls /proc | grep -c '^[0-9]'; ls /dev`
        const result = yield* inside(root, line)
        assert.notMatch(result.stdout, /secret|open /)
        assert.isBelow(Number(/^\d+$/m.exec(result.stdout)?.[0]), 10)
        assert.notMatch(result.stdout, /^(?:mem|kmsg|vda|sda|loop0)$/m)
      }),
    ),
  )

  it.live("sockets: daemons in the home, the workspace and the temporary directory do not hear it", () =>
    boxed({}, ({ root, home, temp }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const places = [
            path.join(home, "docker.sock"),
            path.join(root, "db.sock"),
            `/tmp/troupe-${path.basename(temp)}.sock`,
          ]
          const daemons = yield* Effect.forEach(places, daemon)
          const result = yield* inside(root, places.map(dial).join("; "))
          assert.notMatch(result.stdout, /at your service/)
          assert.deepStrictEqual(
            daemons.map((one) => one.calls()),
            [0, 0, 0],
          )
          assert.match((yield* inside(root, "ls -A /run /var/run; echo end")).stdout, /end/)
        }),
      ),
    ),
  )

  it.live("sockets: one that settings allow answers", () =>
    boxed({ network: { allowUnixSockets: ["../home/docker.sock"] } }, ({ root, home }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const at = path.join(home, "docker.sock")
          yield* daemon(at)
          assert.match((yield* inside(root, dial(at))).stdout, /at your service/)
        }),
      ),
    ),
  )

  it.live("processes outside: neither seen, nor signalled, nor traced", () =>
    boxed({}, ({ root }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const victim = yield* Effect.acquireRelease(
            Effect.sync(() => spawn("sleep", ["1000"], { env: { ...process.env, VICTIM: "secret" } })),
            (one) => Effect.sync(() => one.kill("SIGKILL")),
          )
          yield* Effect.promise(() => once(victim, "spawn"))
          const pid = victim.pid ?? 0
          const line =
            `kill -9 ${pid} && echo killed; cat /proc/${pid}/environ; timeout 5 strace -p ${pid} && echo traced; ` +
            `ls -d /proc/${pid} && echo seen; echo end`
          assert.strictEqual((yield* inside(root, line)).stdout, "end\n")
          assert.isNull(victim.signalCode)
        }),
      ),
    ),
  )

  it.live("privileges: no mount, no new namespace, no capability, nothing to gain from set-id programs", () =>
    boxed({}, ({ root, home }) =>
      Effect.gen(function* () {
        write(path.join(home, ".ssh/id"))
        const suid = path.join(root, "suid")
        fs.copyFileSync("/bin/cat", suid)
        fs.chmodSync(suid, 0o4755)
        const line =
          `mount -t tmpfs none /mnt && echo mounted; mount -o remount,rw / && echo remounted; umount ${home}/.ssh && echo bare; ` +
          `unshare -Ur true && echo namespace; unshare -m true && echo namespace; chroot / true && echo chroot; ` +
          `mknod d b 8 0 && echo device; ./suid ${home}/.ssh/id; nsenter -t 1 -m true && echo entered; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status`
        const result = yield* inside(root, line)
        assert.deepStrictEqual(result.stdout.replaceAll("\t", " ").trim().split("\n"), [
          "CapEff: 0000000000000000",
          "CapBnd: 0000000000000000",
          "NoNewPrivs: 1",
        ])
      }),
    ),
  )

  it.live("the people's own repository: a hook made in a repository that has none is not left behind", () =>
    boxed({}, ({ root, home }) =>
      Effect.gen(function* () {
        execFileSync("git", ["init", "-q", root])
        fs.rmSync(path.join(root, ".git/hooks"), { recursive: true })
        write(path.join(home, ".mcp.json"), "theirs")
        const line =
          "mkdir -p .git/hooks; echo x > .git/hooks/post-checkout; echo x > .git/config.worktree; rm -rf .claude; ln -s ../home sub; echo x > .zshrc"
        const result = yield* inside(root, line)
        assert.deepStrictEqual(fs.readdirSync(path.join(root, ".git/hooks")), [])
        assert.isFalse(fs.existsSync(path.join(root, ".git/config.worktree")))
        assert.isFalse(fs.existsSync(path.join(root, ".zshrc")))
        assert.strictEqual(result.notes.length, 2)
        // Moved, not lost.
        for (const note of result.notes)
          assert.strictEqual(fs.readFileSync(note.split(" to ").at(-1) ?? "", "utf8"), "x\n")
        assert.strictEqual(fs.readFileSync(path.join(home, ".mcp.json"), "utf8"), "theirs")
      }),
    ),
  )
})
