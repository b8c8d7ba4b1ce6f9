/** Owns what the rules ask about a piece of the conversation: its lines, its sentences, and the shape that most of them have. */
import { lineNumber, type LineReason, reasonOf } from "./LineRules.ts"
import type { Said } from "./Triage.ts"
import * as Wording from "./Wording.ts"

/** Of more, the beginning and the end tell what it is. */
const longestRead = 60_000

const readable = (content: string): string =>
  content.length <= 2 * longestRead ? content : `${content.slice(0, longestRead)}\n${content.slice(-longestRead)}`

/** Shapes of lines. */
const shapes = {
  /** A path or a name, perhaps with its size, its kind or how it stands with git. */
  entry:
    /^(?:\s*[-*•] |[│├└─| `+-]+ ?|\s*\d+(?:\.\d+)?[KMGT]?i?B?\s+|[-dlcbps][rwxsStT-]{9}[@+.]?\s.{10,80}\s|\s*(?:[MADRCTU?!]{1,2}|inflating:|extracting:|creating:|adding:|a|x|skipping:)\s+|\s+)?(?:"[^"]+"|'[^']+'|[^\s:;,(){}=<>"']+)(?: -> \S+| => \S+|:\d+|:|\/)?(?: \[\w+\]| \(\w+ \d+%\))?\s*$/,
  total:
    /^(?:total \d+|\s*\d+ total|\d+ (?:files?|directories|dirs?|matches|results|entries)\b.*|Archive: .*|[.*]{1,2}|## \S+.*)$/,
  search: /^(?:[A-Za-z]:\\)?[^\s:]+[:-]\d+[:-]|^\d+[:-]/,
  progress:
    /(?:\b\d{1,3}(?:\.\d+)?\s?%|\bdone\.?$|\.{3}$|…|[=#>█░▓-]{5,}|\b(?:Downloading|Pulling|Waiting|Extracting|Unpacking|Verifying|Resolving|Fetching|Receiving|Compiling|Installing|Preparing|Building|Enumerating|Counting|Reading|Selecting|Setting up|Get:\d+|Hit:\d+)\b|\b\d+(?:\.\d+)?\s?(?:[kMG]i?B|bytes)(?:\/s)?\b)/i,
  bullet: /^\s*(?:[-*•+]|\d{1,2}[.)]|#\d+\.?|\(\d{1,2}\)|[a-z]\))\s+\S/,
  box: /^\s*(?:[-*]\s+)?(?:\[[ xX~-]\]|[☐☑☒✅⬜])\s+\S/,
  row: /^\s*(?:\|.*\||[\w ]+\|[\w ]+\|.*|[-+|]{5,})\s*$/,
  setting: /^\s*(?:- )?[\w.'"-]{1,40}\s*[:=](?:\s|$)/,
  code: /[;{}]\s*$|^\s*(?:import|from|use|using|package|require|include|#include|const|let|var|return|if|for|while|@\w+|<\/?\w+)\b.{0,120}(?:[;:)({"'>]|\w)$|^\s*[\w.]+\s*[-+]?=\s*\S|^\s*[\w.]+\([^)]*\)\s*$/,
  result: /^\s*(?:\d+[.)]|[-*•])\s.{1,160}(?:[–—|-]\s?\S+\.\S+|https?:\/\/)|^\s*https?:\/\/\S+\s*$|^Links: \[/,
} as const
export type Shape = keyof typeof shapes | "prose"

/** Several words that are written as people write. */
const isProse = (line: string): boolean => {
  const words = line.trim().split(/\s+/, 40)
  return (
    words.length >= 5 &&
    /\p{L}/u.test(words[0] ?? "") &&
    words.filter((word) => isWord.test(word)).length >= 0.75 * words.length
  )
}
const isWord = /^["'“„(*_`]*\p{L}[\p{L}\p{M}'’-]*[\p{P}*_`]*$/u
/** Where nothing stands between words. */
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]{8}/u

const fits = (line: string, shape: Shape): boolean =>
  shape === "prose" ? isProse(line) || unspaced.test(line) : shapes[shape].test(line)

/** A table, a type or a format that others must keep to. */
/** A word that JSON Schema has for what a value may be. */
const jsonSchema =
  /^\s*"(?:type|enum|format|minimum|maximum|minLength|maxLength|required|\$ref|properties|items|pattern|oneOf)"\s*:/
const schema =
  /^\s*(?:CREATE (?:TEMP(?:ORARY)? )?(?:TABLE|VIEW|TYPE|(?:UNIQUE )?INDEX)\b|ALTER TABLE\b|\s*Table "|\s*Column\s+\||\|?\s*(?:Field|Column|Name|Parameter|Property|Attribut\w*|Feld|Spalte|Champ|Campo|Key|Argument|Option|Header)\s*\|\s*(?:Type|Required|Typ|Tipo|Nullable|Null|Default|Description|Meaning)|syntax = "proto|message \w+ \{|create_table |model \w+ \{|openapi:|swagger:|schema \{|type (?:Query|Mutation) \{|input \w+ \{|"\$schema"|<xs:|\(?\d* ?,?\s*create table)|"\$schema"\s*:|"properties"\s*:\s*\{/i

const heading =
  /^\W*(?:(?:my |our |the |current |updated |implementation )?(?:plan|to-?do(?: list)?|task list|tasks|next steps?|steps|decisions?|requirements?|constraints?|acceptance criteria|criteria|scope|summary of what|what (?:we|was) (?:agreed|decided)|agreed|open (?:questions|items|points)|done(?: so far)?|still to do|remaining|left to do|findings|recommendations?|rules?|conventions|guidelines|roadmap|milestones|assumptions|goals?|approach|vorgaben|anforderungen|nächste schritte|aufgaben|offen|erledigt|regeln|entschieden|plan d'action|étapes|prochaines étapes|règles|décision|pasos|próxim\p{L}+ p\p{L}+s|tareas|requisitos|decisión|decisão|passos|regras|passi|piano|requisiti|decisione|stappen|vereisten|beslissing|steg|krav|план|шаги|задачи|решение|требования|計画|手順|方針|決定|要件|计划|步骤|任务|要求|决定|계획|단계|결정)(?:\P{L}|$))/iu

export class Reading {
  readonly said: Said
  readonly text: string
  /** Without empty ones. */
  readonly lines: ReadonlyArray<string>
  /** The same without the numbers that a file reader puts before them. */
  readonly plain: ReadonlyArray<string>
  private found: ReadonlyArray<LineReason | undefined> | undefined
  private parts: ReadonlyArray<string> | undefined

  constructor(said: Said) {
    this.said = said
    this.text = readable(said.content)
    this.lines = this.text.split("\n").filter((line) => line.trim() !== "")
    const isNumbered = this.lines.length > 0 && this.lines.every((line) => lineNumber.test(line))
    this.plain = isNumbered
      ? this.lines.map((line) => line.replace(lineNumber, "")).filter((line) => line.trim() !== "")
      : this.lines
  }

  get reasons(): ReadonlyArray<LineReason | undefined> {
    return (this.found ??= this.lines.map((line) => reasonOf(line)))
  }

  has(...reasons: ReadonlyArray<LineReason>): boolean {
    return this.reasons.some((reason) => reason !== undefined && reasons.includes(reason))
  }

  count(...reasons: ReadonlyArray<LineReason>): number {
    return this.reasons.filter((reason) => reason !== undefined && reasons.includes(reason)).length
  }

  /** How many lines have one of these shapes. */
  shaped(...names: ReadonlyArray<Shape>): number {
    return this.plain.filter((line) => line.length <= 2_000 && names.some((name) => fits(line, name))).length
  }

  mostly(...names: ReadonlyArray<Shape>): boolean {
    return this.plain.length > 0 && this.shaped(...names) >= 0.8 * this.plain.length
  }

  get isSchema(): boolean {
    const lines = this.plain.filter((line) => line.length <= 4_000)
    return lines.some((line) => schema.test(line)) || lines.filter((line) => jsonSchema.test(line)).length >= 3
  }

  get hasHeading(): boolean {
    return this.plain.some((line) => line.length <= 400 && heading.test(line))
  }

  get sentences(): ReadonlyArray<string> {
    return (this.parts ??= Wording.sentencesOf(this.plain.join("\n")))
  }

  /** How many sentences lay something down. */
  obligations(): number {
    return this.sentences.filter((one) => Wording.obliges(one) && !Wording.isQuestion(one)).length
  }

  says(wording: (sentence: string) => boolean): boolean {
    return this.sentences.some((one) => wording(one) && !Wording.isQuestion(one))
  }
}
