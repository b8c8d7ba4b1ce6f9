/** Owns what a call would do, as found from its input alone: nothing here looks at the disk. */

export type Touch =
  /**
   * `path` is absolute, `..` resolved lexically, links not followed. With `pattern` it is a shell pattern (`*`, `?`, `[…]`, `\`
   * before a literal one, `**` for anything below): any file it could match; with `tracked` only those that git tracks. With
   * `possible` the word may be no path at all: it was given to a program that is not known. With `names` the last part of the path
   * stands for the names that this other pattern matches: in `cp x/* d`, those of `x/*`.
   */
  | {
      readonly _tag: "Reads"
      readonly path: string
      readonly pattern?: true
      readonly tracked?: true
      readonly possible?: true
    }
  | {
      readonly _tag: "Writes"
      readonly path: string
      readonly how: "create" | "change" | "delete" | "append"
      readonly pattern?: true
      readonly names?: string
    }
  /** A simple command after unwrapping. */
  | { readonly _tag: "Executes"; readonly program: string; readonly argv: ReadonlyArray<string> }
  /** A domain or an address. */
  | { readonly _tag: "Connects"; readonly host: string }
  /** May touch anything. */
  | { readonly _tag: "Unknown"; readonly why: string }
