/**
 * Owns pasted text that has several lines: in the line that is edited it stands as one word, `[Pasted text #1 +3 lines]`, and
 * becomes itself again when the line is sent.
 */

export interface Pastes {
  /** Keeps it, and answers the word that stands for it. */
  readonly hold: (text: string) => string
  /** The line with everything that words in it stand for. */
  readonly expand: (line: string) => string
  /** What the words in it stand for, by number. */
  readonly within: (line: string) => ReadonlyMap<number, string>
}

const word = /\[Pasted text #(\d+)(?: \+\d+ lines?)?\]/g

export const make = (): Pastes => {
  const kept: Array<string> = []
  const at = (number: string): string | undefined => kept[Number(number) - 1]
  return {
    hold: (text) => {
      const lines = text.split("\n").length - 1
      return `[Pasted text #${kept.push(text)} +${lines} line${lines === 1 ? "" : "s"}]`
    },
    expand: (line) => line.replace(word, (whole: string, number: string) => at(number) ?? whole),
    within: (line) =>
      new Map(
        [...line.matchAll(word)].flatMap(([, number = ""]): Array<[number, string]> => {
          const text = at(number)
          return text === undefined ? [] : [[Number(number), text]]
        }),
      ),
  }
}

/** The words of a line that another process wrote, which has numbers of its own, in ours. What it did not keep is not mixed up with ours. */
export const adopt = (pastes: Pastes, line: string, textOf: (number: string) => string | undefined): string =>
  line.replace(word, (_whole: string, number: string) => {
    const text = textOf(number)
    return text === undefined ? "[Pasted text, not kept]" : pastes.hold(text)
  })
