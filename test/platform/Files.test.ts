import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { FileError, fromPlatform } from "../../src/platform/FileError.ts"
import { Files, LockBusy } from "../../src/platform/Files.ts"
import { MemoryDisk } from "../../src/platform/MemoryDisk.ts"
import * as MemoryFileSystem from "../../src/platform/MemoryFileSystem.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"

const temp = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-files-"))
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

const platforms = {
  node: { layer: Layer.mergeAll(NodeFiles.layer, NodeFileSystem.layer), root: temp },
  memory: {
    layer: Layer.mergeAll(Files.layerMemory, MemoryFileSystem.layer).pipe(Layer.provide(MemoryDisk.layer())),
    root: "/tmp",
  },
}

/** The same expectations of the real disk and of the one in memory. */
for (const [name, { layer, root }] of Object.entries(platforms)) {
  const at = (...parts: ReadonlyArray<string>) => [root, ...parts].join("/")
  const test = (title: string, body: () => Effect.Effect<void, unknown, Files | FileSystem.FileSystem | Scope.Scope>) =>
    it.live(title, () => Effect.scoped(body()).pipe(Effect.provide(layer)))

  describe(`Files on the ${name} disk`, () => {
    test("writes and reads text, and keeps encoding, mark and line endings through an edit", () =>
      Effect.gen(function* () {
        const files = yield* Files
        const system = yield* FileSystem.FileSystem
        const file = at("encoded.txt")
        const original = Uint8Array.from([0xff, 0xfe, 0x61, 0, 0x0d, 0, 0x0a, 0])
        yield* files.writeAtomic(file, original)
        const read = yield* files.readText(file)
        assert.deepStrictEqual(read, { text: "a\n", encoding: "utf16le", bom: true, lineEnding: "crlf" })
        yield* files.writeText(file, { ...read, text: "b\n" })
        assert.deepStrictEqual([...(yield* system.readFile(file))], [0xff, 0xfe, 0x62, 0, 0x0d, 0, 0x0a, 0])
      }))

    test("keeps the mode of what it replaces, and gives a new file the one asked for", () =>
      Effect.gen(function* () {
        const files = yield* Files
        const system = yield* FileSystem.FileSystem
        const script = at("run.sh")
        yield* files.writeAtomic(script, "1", { mode: 0o755 })
        yield* files.writeAtomic(script, "2", { mode: 0o600 })
        assert.strictEqual((yield* system.stat(script)).mode & 0o777, 0o755)
        assert.strictEqual(yield* system.readFileString(script), "2")
      }))

    test("says when files were last changed, in the order asked, and nothing of those that are not there", () =>
      Effect.gen(function* () {
        const files = yield* Files
        const system = yield* FileSystem.FileSystem
        const paths = Array.from({ length: 600 }, (_, index) => at(`aged-${index}`))
        for (const [index, file] of paths.entries()) {
          yield* files.writeAtomic(file, "")
          yield* system.utimes(file, 1_700_000_000 - index, 1_700_000_000 - index)
        }
        yield* system.symlink(at("aged-1"), at("aged-link"))
        const times = yield* files.changedAt([at("none"), at("aged-link"), `${paths[0]}/below`, ...paths])
        assert.deepStrictEqual(times.slice(0, 5), [0, 1_699_999_999_000, 0, 1_700_000_000_000, 1_699_999_999_000])
        assert.strictEqual(times.at(-1), 1_699_999_401_000)
        assert.strictEqual(times.length, 603)
        assert.deepStrictEqual(yield* files.changedAt([]), [])
      }))

    test("writes through a link and leaves the link", () =>
      Effect.gen(function* () {
        const files = yield* Files
        const system = yield* FileSystem.FileSystem
        yield* system.makeDirectory(at("real"))
        yield* files.writeAtomic(at("real", "target"), "old")
        yield* system.symlink("real/target", at("link"))
        yield* files.writeAtomic(at("link"), "new")
        assert.strictEqual(yield* system.readFileString(at("real", "target")), "new")
        assert.strictEqual(yield* system.readLink(at("link")), "real/target")
        assert.strictEqual((yield* system.lstat(at("link"))).type, "SymbolicLink")
      }))

    test("makes parents only when asked, and leaves nothing behind when it fails", () =>
      Effect.gen(function* () {
        const files = yield* Files
        const system = yield* FileSystem.FileSystem
        const deep = at("deep", "er", "file")
        const error = yield* Effect.flip(files.writeAtomic(deep, "x"))
        assert.strictEqual(error.reason, "NotFound")
        yield* files.writeAtomic(deep, "x", { makeParents: true })
        assert.deepStrictEqual(yield* system.readDirectory(at("deep", "er")), ["file"])
      }))

    test("tells what went wrong by name", () =>
      Effect.gen(function* () {
        const files = yield* Files
        const system = yield* FileSystem.FileSystem
        yield* system.makeDirectory(at("dir"))
        yield* files.writeAtomic(at("plain"), "12345\0")
        const reasons = [
          yield* Effect.flip(files.readText(at("none"))),
          yield* Effect.flip(files.readText(at("dir"))),
          yield* Effect.flip(files.writeAtomic(at("dir"), "x")),
          yield* Effect.flip(files.readText(at("plain", "below"))),
          yield* Effect.flip(files.readText(at("plain"), { maxBytes: 5 })),
        ].map((error) => (error instanceof FileError ? error.reason : error.why))
        assert.deepStrictEqual(reasons, ["NotFound", "IsDirectory", "IsDirectory", "NotDirectory", "TooLarge"])
        assert.strictEqual((yield* Effect.flip(files.readText(at("plain")))).message.includes("binary"), true)
      }))

    test("appends whole records, creates private files, and knows the size", () =>
      Effect.gen(function* () {
        const files = yield* Files
        const system = yield* FileSystem.FileSystem
        const log = at("logs", "a", "journal")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const handle = yield* files.openAppend(log)
            handle.appendUnsafe("one\n")
            yield* handle.append(new TextEncoder().encode("zwei ä\n"))
            yield* handle.sync
            assert.strictEqual(handle.size(), 12)
          }),
        )
        const again = yield* files.openAppend(log)
        assert.strictEqual(again.size(), 12)
        again.appendUnsafe("three\n")
        assert.strictEqual(yield* system.readFileString(log), "one\nzwei ä\nthree\n")
        assert.strictEqual((yield* system.stat(log)).mode & 0o777, 0o600)
        assert.strictEqual((yield* system.stat(at("logs"))).mode & 0o777, 0o700)
      }))

    test("lets one holder have a lock, until its scope closes", () =>
      Effect.gen(function* () {
        const files = yield* Files
        const scope = yield* Scope.make()
        const lock = `${root}/lock-${name}`
        yield* Scope.provide(files.lock(lock), scope)
        const busy = yield* Effect.flip(Effect.scoped(files.lock(lock)))
        assert.instanceOf(busy, LockBusy)
        yield* Effect.scoped(files.lock(`${lock}-other`))
        yield* Scope.close(scope, Exit.void)
        yield* Effect.scoped(files.lock(lock))
      }))

    test("hashes alike", () =>
      Effect.gen(function* () {
        const { hash } = yield* Files
        assert.strictEqual(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        assert.strictEqual(hash(new Uint8Array(1000).fill(7)), hash(new Uint8Array(1000).fill(7)))
        assert.strictEqual(hash("ä".repeat(100)), hash(new TextEncoder().encode("ä".repeat(100))))
      }))
  })

  describe(`FileSystem on the ${name} disk`, () => {
    test("lists, moves and removes", () =>
      Effect.gen(function* () {
        const system = yield* FileSystem.FileSystem
        yield* system.makeDirectory(at("tree", "sub"), { recursive: true })
        yield* system.makeDirectory(at("tree", "sub"), { recursive: true })
        yield* system.writeFileString(at("tree", "a"), "a")
        yield* system.writeFileString(at("tree", "sub", "b"), "b")
        assert.deepStrictEqual((yield* system.readDirectory(at("tree"))).sort(), ["a", "sub"])
        assert.deepStrictEqual((yield* system.readDirectory(at("tree"), { recursive: true })).sort(), [
          "a",
          "sub",
          "sub/b",
        ])
        yield* system.rename(at("tree", "a"), at("tree", "sub", "b"))
        assert.strictEqual(yield* system.readFileString(at("tree", "sub", "b")), "a")
        assert.isFalse(yield* system.exists(at("tree", "a")))
        yield* system.remove(at("tree"), { recursive: true })
        assert.isFalse(yield* system.exists(at("tree")))
        yield* system.remove(at("tree"), { force: true })
      }))

    test("refuses what a disk refuses", () =>
      Effect.gen(function* () {
        const system = yield* FileSystem.FileSystem
        yield* system.makeDirectory(at("no", "inner"), { recursive: true })
        yield* system.writeFileString(at("no", "file"), "x")
        yield* system.symlink("loop", at("no", "loop"))
        const reason = (effect: Effect.Effect<unknown, Parameters<typeof fromPlatform>[2]>) =>
          Effect.map(Effect.flip(effect), (error) => fromPlatform("use", "/x", error).reason)
        assert.deepStrictEqual(
          [
            yield* reason(system.readFile(at("no", "none"))),
            yield* reason(system.readFile(at("no", "inner"))),
            yield* reason(system.readDirectory(at("no", "file"))),
            yield* reason(system.makeDirectory(at("no", "inner"))),
            yield* reason(system.makeDirectory(at("no", "x", "y"))),
            yield* reason(system.writeFile(at("no", "file"), new Uint8Array(1), { flag: "wx" })),
            yield* reason(system.writeFile(at("no", "file", "below"), new Uint8Array(1))),
            yield* reason(system.rename(at("no", "none"), at("no", "z"))),
            yield* reason(system.realPath(at("no", "none"))),
            yield* reason(system.stat(at("no", "loop"))),
            yield* reason(system.remove(at("no", "none"))),
          ],
          [
            "NotFound",
            "IsDirectory",
            "NotDirectory",
            "AlreadyExists",
            "NotFound",
            "AlreadyExists",
            "NotDirectory",
            "NotFound",
            "NotFound",
            "Unknown",
            "NotFound",
          ],
        )
      }))

    test("follows links to where they lead", () =>
      Effect.gen(function* () {
        const system = yield* FileSystem.FileSystem
        yield* system.makeDirectory(at("links", "real"), { recursive: true })
        yield* system.writeFileString(at("links", "real", "file"), "x")
        yield* system.symlink("real", at("links", "to"))
        const base = yield* system.realPath(at("links"))
        assert.strictEqual(yield* system.realPath(at("links", "to", "file")), `${base}/real/file`)
        assert.strictEqual(yield* system.realPath(at("links", "to", "..", "to")), `${base}/real`)
        const stat = yield* system.stat(at("links", "to", "file"))
        assert.deepStrictEqual([stat.type, stat.size], ["File", 1n])
      }))

    test("opens files by position and by flag", () =>
      Effect.gen(function* () {
        const system = yield* FileSystem.FileSystem
        const encode = (value: string) => new TextEncoder().encode(value)
        const file = at("open")
        const written = yield* system.open(file, { flag: "w+" })
        yield* written.writeAll(encode("hello world"))
        yield* written.seek(6n, "start")
        const rest = new Uint8Array(10)
        assert.strictEqual(yield* written.read(rest), 5)
        assert.strictEqual(text(rest.subarray(0, 5)), "world")
        yield* written.truncate(5)
        const appended = yield* system.open(file, { flag: "a" })
        yield* appended.writeAll(encode("!"))
        assert.strictEqual(yield* system.readFileString(file), "hello!")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.scoped(system.open(file, { flag: "wx" })))))
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.scoped(system.open(at("open-none"), { flag: "r" })))))
      }))

    test("gives temporary places that vanish with their scope", () =>
      Effect.gen(function* () {
        const system = yield* FileSystem.FileSystem
        const made = yield* Effect.scoped(
          Effect.tap(system.makeTempDirectoryScoped({ prefix: "t-" }), (directory) =>
            system.writeFileString(`${directory}/x`, "x"),
          ),
        )
        assert.isFalse(yield* system.exists(made))
      }))
  })
}

describe("writeAtomic on a real disk", () => {
  const layer = NodeFiles.layer

  it.live("shows a reader the old content or the new, never a part", () =>
    Effect.gen(function* () {
      const files = yield* Files
      const file = path.join(temp, "big")
      const of = (letter: string) => letter.repeat(300_000)
      yield* files.writeAtomic(file, of("a"))
      const torn: Array<string> = []
      const writer = Effect.forEach(["b", "c", "d", "e", "f", "g"], (letter) => files.writeAtomic(file, of(letter)))
      const reader = Effect.gen(function* () {
        for (;;) {
          const { text } = yield* files.readText(file)
          if (text.length !== 300_000 || text !== of(text.charAt(0))) torn.push(text.slice(0, 10))
        }
      })
      yield* Effect.raceFirst(writer, reader)
      assert.deepStrictEqual(torn, [])
      assert.strictEqual((yield* files.readText(file)).text, of("g"))
    }).pipe(Effect.provide(layer)),
  )

  it.live("leaves the old content when it cannot finish, and no temporary file", () =>
    Effect.gen(function* () {
      const files = yield* Files
      const directory = path.join(temp, "full")
      fs.mkdirSync(directory)
      const file = path.join(directory, "keep")
      fs.writeFileSync(file, "old")
      // A directory stands where the new content would go: the rename fails at the last moment.
      const blocked = path.join(directory, "blocked")
      fs.mkdirSync(blocked)
      assert.strictEqual((yield* Effect.flip(files.writeAtomic(blocked, "new"))).reason, "IsDirectory")
      assert.deepStrictEqual(fs.readdirSync(directory).sort(), ["blocked", "keep"])
      assert.strictEqual(fs.readFileSync(file, "utf8"), "old")
    }).pipe(Effect.provide(layer)),
  )

  it.live("survives writers that race for the same file", () =>
    Effect.gen(function* () {
      const files = yield* Files
      const file = path.join(temp, "raced")
      const values = Array.from({ length: 20 }, (_, index) => String(index).repeat(1000))
      yield* Effect.forEach(values, (value) => files.writeAtomic(file, value), { concurrency: 8 })
      assert.include(values, fs.readFileSync(file, "utf8"))
      assert.deepStrictEqual(
        fs.readdirSync(temp).filter((name) => name.endsWith(".tmp")),
        [],
      )
    }).pipe(Effect.provide(layer)),
  )
})
