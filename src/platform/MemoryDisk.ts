/** Owns an in-memory disk: the tree that the memory FileSystem and the memory Files share. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/** A refusal of the disk, with the same codes a real one gives, so both map to the same typed errors. */
export class DiskFault extends Error {
  readonly code: string
  readonly path: string
  constructor(code: string, path: string) {
    super(`${code}: ${path}`)
    this.code = code
    this.path = path
  }
}

export interface FileNode {
  readonly type: "File"
  readonly ino: number
  /** Capacity; the content is its first `length` bytes. */
  buffer: Uint8Array
  length: number
  mode: number
  mtime: number
  links: number
}
export interface DirectoryNode {
  readonly type: "Directory"
  readonly ino: number
  readonly children: Map<string, Node>
  mode: number
  mtime: number
}
export interface LinkNode {
  readonly type: "SymbolicLink"
  readonly ino: number
  readonly target: string
  readonly mode: number
  mtime: number
}
export type Node = FileNode | DirectoryNode | LinkNode

interface Place {
  readonly parent: DirectoryNode
  readonly name: string
  readonly path: string
  readonly node: Node | undefined
}

const split = (path: string): Array<string> => path.split("/").filter((part) => part !== "" && part !== ".")

/** Paths are absolute and posix; a relative one is taken from the root. Methods throw `DiskFault`, as a disk's driver would. */
export class Disk {
  private inodes = 1
  private temps = 0
  readonly root: DirectoryNode = { type: "Directory", ino: 0, children: new Map(), mode: 0o755, mtime: 0 }
  readonly locks = new Set<string>()

  /** Walks to the place of `path`, through links. The last part may be missing, and is a link only when not followed. */
  private place(path: string, follow: boolean, hops = 0): Place {
    if (hops > 40) throw new DiskFault("ELOOP", path)
    const trail: Array<DirectoryNode> = [this.root]
    const names: Array<string> = []
    const parts = split(path)
    for (const [index, part] of parts.entries()) {
      const last = index === parts.length - 1
      if (part === "..") {
        if (trail.length > 1) {
          trail.pop()
          names.pop()
        }
        continue
      }
      const directory = trail[trail.length - 1] ?? this.root
      const node = directory.children.get(part)
      const here = `/${[...names, part].join("/")}`
      if (node?.type === "SymbolicLink" && (!last || follow)) {
        const base = node.target.startsWith("/") ? "" : `/${names.join("/")}/`
        return this.place([base + node.target, ...parts.slice(index + 1)].join("/"), follow, hops + 1)
      }
      if (last) return { parent: directory, name: part, path: here, node }
      if (node === undefined) throw new DiskFault("ENOENT", path)
      if (node.type !== "Directory") throw new DiskFault("ENOTDIR", path)
      trail.push(node)
      names.push(part)
    }
    const node = trail[trail.length - 1] ?? this.root
    return {
      parent: trail[trail.length - 2] ?? this.root,
      name: names[names.length - 1] ?? "",
      path: `/${names.join("/")}`,
      node,
    }
  }

  lookup(path: string, follow = true): Node {
    const { node } = this.place(path, follow)
    if (node === undefined) throw new DiskFault("ENOENT", path)
    return node
  }

  /** 0 where nothing is. */
  changedAt(path: string): number {
    try {
      return this.lookup(path).mtime
    } catch (cause) {
      if (cause instanceof DiskFault) return 0
      throw cause
    }
  }

  realPath(path: string): string {
    const found = this.place(path, true)
    if (found.node === undefined) throw new DiskFault("ENOENT", path)
    return found.path
  }

  file(path: string): FileNode {
    const node = this.lookup(path)
    if (node.type !== "File") throw new DiskFault("EISDIR", path)
    return node
  }

  directory(path: string): DirectoryNode {
    const node = this.lookup(path)
    if (node.type !== "Directory") throw new DiskFault("ENOTDIR", path)
    return node
  }

  /** Opens for writing: creates when missing, refuses an existing one when `exclusive`. */
  open(path: string, now: number, options: { readonly mode?: number; readonly exclusive?: boolean } = {}): FileNode {
    const found = this.place(path, true)
    if (found.node !== undefined) {
      if (options.exclusive) throw new DiskFault("EEXIST", path)
      if (found.node.type !== "File") throw new DiskFault("EISDIR", path)
      return found.node
    }
    const file: FileNode = {
      type: "File",
      ino: this.inodes++,
      buffer: new Uint8Array(0),
      length: 0,
      mode: options.mode ?? 0o644,
      mtime: now,
      links: 1,
    }
    found.parent.children.set(found.name, file)
    found.parent.mtime = now
    return file
  }

  makeDirectory(
    path: string,
    now: number,
    options: { readonly recursive?: boolean; readonly mode?: number } = {},
  ): void {
    const parts = split(path)
    const from = options.recursive ? 1 : parts.length
    for (let end = from; end <= parts.length; end++) {
      const prefix = `/${parts.slice(0, end).join("/")}`
      const found = this.place(prefix, true)
      if (found.node?.type === "Directory" && options.recursive) continue
      if (found.node !== undefined) throw new DiskFault(options.recursive ? "ENOTDIR" : "EEXIST", path)
      const made: DirectoryNode = {
        type: "Directory",
        ino: this.inodes++,
        children: new Map(),
        mode: options.mode ?? 0o755,
        mtime: now,
      }
      found.parent.children.set(found.name, made)
    }
  }

  symlink(target: string, path: string, now: number): void {
    const found = this.place(path, false)
    if (found.node !== undefined) throw new DiskFault("EEXIST", path)
    found.parent.children.set(found.name, { type: "SymbolicLink", ino: this.inodes++, target, mode: 0o777, mtime: now })
  }

  link(from: string, to: string): void {
    const file = this.file(from)
    const found = this.place(to, false)
    if (found.node !== undefined) throw new DiskFault("EEXIST", to)
    file.links++
    found.parent.children.set(found.name, file)
  }

  rename(from: string, to: string): void {
    const source = this.place(from, false)
    if (source.node === undefined) throw new DiskFault("ENOENT", from)
    const target = this.place(to, false)
    if (target.node === source.node) return
    if (source.node.type === "Directory" && `${target.path}/`.startsWith(`${source.path}/`))
      throw new DiskFault("EINVAL", to)
    if (target.node?.type === "Directory") {
      if (source.node.type !== "Directory") throw new DiskFault("EISDIR", to)
      if (target.node.children.size > 0) throw new DiskFault("ENOTEMPTY", to)
    }
    source.parent.children.delete(source.name)
    target.parent.children.set(target.name, source.node)
  }

  remove(path: string, options: { readonly recursive?: boolean; readonly force?: boolean } = {}): void {
    const found = this.present(path)
    if (found === undefined) {
      if (options.force) return
      throw new DiskFault("ENOENT", path)
    }
    if (found.node.type === "Directory" && !options.recursive) throw new DiskFault("EISDIR", path)
    if (found.node.type === "File") found.node.links--
    found.place.parent.children.delete(found.place.name)
  }

  private present(path: string): { readonly place: Place; readonly node: Node } | undefined {
    try {
      const place = this.place(path, false)
      return place.node === undefined ? undefined : { place, node: place.node }
    } catch (cause) {
      if (cause instanceof DiskFault && cause.code === "ENOENT") return undefined
      throw cause
    }
  }

  temporary(directory: string, prefix: string, suffix: string): string {
    return `${directory.replace(/\/$/, "")}/${prefix}${String(++this.temps).padStart(6, "0")}${suffix}`
  }
}

export const content = (file: FileNode): Uint8Array => file.buffer.subarray(0, file.length)

/** Writes at an offset; a hole before it reads as zeros. */
export const writeAt = (file: FileNode, offset: number, bytes: Uint8Array, now: number): void => {
  const end = offset + bytes.length
  if (end > file.buffer.length) {
    const grown = new Uint8Array(Math.max(end, file.buffer.length * 2, 64))
    grown.set(content(file))
    file.buffer = grown
  }
  file.buffer.set(bytes, offset)
  file.length = Math.max(file.length, end)
  file.mtime = now
}

export const truncate = (file: FileNode, length: number, now: number): void => {
  if (length > file.length) writeAt(file, file.length, new Uint8Array(length - file.length), now)
  file.buffer.fill(0, length, file.length)
  file.length = length
  file.mtime = now
}

export class MemoryDisk extends Context.Service<MemoryDisk, Disk>()("troupe/platform/MemoryDisk") {
  /** A disk with `/tmp` and the given files; parents are made. */
  static readonly layer = (files: Readonly<Record<string, string | Uint8Array>> = {}): Layer.Layer<MemoryDisk> =>
    Layer.sync(MemoryDisk, () => {
      const disk = new Disk()
      disk.makeDirectory("/tmp", 0)
      for (const [path, data] of Object.entries(files)) {
        disk.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0, { recursive: true })
        writeAt(disk.open(path, 0), 0, typeof data === "string" ? new TextEncoder().encode(data) : data, 0)
      }
      return disk
    })
}
