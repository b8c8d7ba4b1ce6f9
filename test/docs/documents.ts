/** What tests of the documents share: their text, their code blocks by section, their tables, and the files they name. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../..", import.meta.url))

export const read = (name: string): string => readFileSync(join(root, name), "utf8")

/** The text under a heading, up to the next one. */
export const section = (document: string, heading: string): string => {
  const found = document.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))
  if (found === undefined) throw new Error(`There is no section "${heading}"`)
  return found
}

/** The first code block of a language in some text. */
export const block = (text: string, language: string): string => {
  const code = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(text)?.[1]
  if (code === undefined) throw new Error(`There is no ${language} block`)
  return code
}

/** The rows of the table whose first column has this title, as cells. */
export const table = (text: string, title: string): ReadonlyArray<ReadonlyArray<string>> => {
  const lines = text.split("\n")
  const start = lines.findIndex((line) => line.startsWith(`| ${title} |`))
  if (start === -1) throw new Error(`There is no table of "${title}"`)
  const rest = lines.slice(start + 2)
  const rows = rest.slice(
    0,
    rest.findIndex((line) => !line.startsWith("|")),
  )
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** Every path into the repository that a document names in code style or links to. */
export const paths = (document: string): ReadonlyArray<string> => {
  const prose = document.replace(/^```[\s\S]*?^```$/gm, "")
  const named = [...prose.matchAll(/`((?:src|test|evals|scripts|bin|docs|\.ci)\/[\w./-]*[\w/])`/g)]
  const linked = [...prose.matchAll(/\]\((?!https?:)([^)#]+)\)/g)]
  return [...new Set([...named, ...linked].flatMap((match) => match[1] ?? []))]
}
