/** Owns how a sandbox is said to bubblewrap. Order matters: a later mount covers an earlier one. Pure. */

/** What the kernel of this machine lets us have. */
export interface Powers {
  readonly userNamespace: boolean
  /** No further user namespaces inside. */
  readonly sealed: boolean
  /** A /proc of its own; without it other processes are seen, but not looked into. */
  readonly proc: boolean
}

export type Mount =
  | { readonly _tag: "Write"; readonly at: string; readonly from?: string }
  | { readonly _tag: "ReadOnly"; readonly at: string }
  | { readonly _tag: "Empty"; readonly at: string }
  | { readonly _tag: "HideDirectory"; readonly at: string }
  | { readonly _tag: "HideFile"; readonly at: string }

const mount = (one: Mount): ReadonlyArray<string> => {
  switch (one._tag) {
    case "Write":
      return ["--bind", one.from ?? one.at, one.at]
    case "ReadOnly":
      return ["--ro-bind", one.at, one.at]
    case "Empty":
      return ["--tmpfs", one.at]
    case "HideDirectory":
      return ["--perms", "0000", "--tmpfs", one.at, "--remount-ro", one.at]
    case "HideFile":
      // Bound without devices, so that opening it says "Permission denied".
      return ["--ro-bind", "/dev/null", one.at]
  }
}

const always = (
  "--unshare-pid --unshare-ipc --unshare-uts --unshare-net --unshare-cgroup-try --die-with-parent --new-session --cap-drop ALL " +
  "--ro-bind / / --dev /dev"
).split(" ")

/** Everything but the mounts; also what the availability check tries. */
export const isolation = (powers: Powers): ReadonlyArray<string> => [
  ...(powers.userNamespace ? ["--unshare-user"] : []),
  ...(powers.userNamespace && powers.sealed ? ["--disable-userns"] : []),
  ...always,
  // To the superuser's own uid the switches in a fresh /proc/sys are writable, capabilities or not.
  ...(powers.proc ? ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"] : []),
]

export const args = (options: {
  readonly powers: Powers
  readonly mounts: ReadonlyArray<Mount>
  readonly cwd: string
  readonly command: ReadonlyArray<string>
}): ReadonlyArray<string> => [
  ...isolation(options.powers),
  ...options.mounts.flatMap(mount),
  "--chdir",
  options.cwd,
  "--",
  ...options.command,
]
