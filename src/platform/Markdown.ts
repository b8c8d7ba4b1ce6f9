/**
 * Owns a page as text: HTML read token by token and written as markdown, in time that grows with its length whatever it contains.
 *
 * No tree is built: pages are written by strangers, and a deep or endless one must not hold anybody up.
 */
import * as Effect from "effect/Effect"

export interface PageText {
  readonly title: string
  readonly markdown: string
}

/** `base` makes relative links whole. The parser is loaded at first use. */
export const fromHtml = Effect.fnUntraced(function* (html: string, base: string) {
  const { Tokenizer } = yield* Effect.promise(() => import("htmlparser2"))
  const writer = new Writer(base)
  let tag = ""
  let attribute = ""
  let attributes: Record<string, string> = {}
  const open = (selfClosing: boolean) => {
    writer.open(tag, attributes, selfClosing)
    attributes = {}
  }
  const name = (from: number, to: number) => html.slice(from, to).toLowerCase()
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname: (from, to) => {
        tag = name(from, to)
      },
      onattribname: (from, to) => {
        attribute = name(from, to)
        attributes[attribute] = ""
      },
      onattribdata: (from, to) => {
        attributes[attribute] += html.slice(from, to)
      },
      onattribentity: (code) => {
        attributes[attribute] += String.fromCodePoint(code)
      },
      onattribend: () => {},
      onopentagend: () => open(false),
      onselfclosingtag: () => open(true),
      onclosetag: (from, to) => writer.close(name(from, to)),
      ontext: (from, to) => writer.text(html.slice(from, to)),
      ontextentity: (code) => writer.text(String.fromCodePoint(code)),
      oncdata: () => {},
      oncomment: () => {},
      ondeclaration: () => {},
      onprocessinginstruction: () => {},
      onend: () => {},
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  const page: PageText = { title: writer.title(), markdown: writer.done() }
  return page
})

const words = (...list: ReadonlyArray<string>): ReadonlySet<string> => new Set(list)
/** What is in there is not for readers. */
const silent = words("script", "style", "noscript", "template", "svg", "head", "iframe", "object", "select", "canvas")
const blocks = words(
  ..."p div section article main header footer nav aside figure figcaption form fieldset table thead tbody tfoot tr".split(
    " ",
  ),
  ..."dl dt dd details summary address hgroup ul ol body".split(" "),
)
const emptyTags = words(..."area base br col embed hr img input link meta param source track wbr".split(" "))

class Writer {
  readonly #base: string
  readonly #out: Array<string> = []
  readonly #title: Array<string> = []
  /** Line breaks that are due before the next word. */
  #breaks = 0
  #space = false
  #started = false
  #silentTag = ""
  #silentDepth = 0
  #inTitle = false
  #pre = 0
  readonly #lists: Array<{ readonly ordered: boolean; count: number }> = []
  readonly #links: Array<{ readonly href: string; readonly at: number }> = []
  #cells = 0

  constructor(base: string) {
    this.#base = base
  }

  open(tag: string, attributes: Readonly<Record<string, string>>, selfClosing: boolean): void {
    if (tag === "title" && this.#silentTag !== "svg") this.#inTitle = true
    if (this.#silentTag !== "") {
      if (tag === this.#silentTag && !selfClosing) this.#silentDepth++
      // A page that never closes its head has a body all the same.
      if (tag === "body" && this.#silentTag === "head") this.#silentTag = ""
      return
    }
    if (silent.has(tag) && !selfClosing) {
      this.#silentTag = tag
      this.#silentDepth = 1
      return
    }
    const heading = /^h([1-6])$/.exec(tag)?.[1]
    if (heading !== undefined) return (this.#block(2), this.#mark(`${"#".repeat(Number(heading))} `))
    if (tag === "td" || tag === "th") return this.#mark(this.#cells++ === 0 ? "| " : " | ")
    if (blocks.has(tag)) {
      if (tag === "tr") this.#cells = 0
      if (tag === "ul" || tag === "ol") {
        this.#block(this.#lists.length === 0 ? 2 : 1)
        this.#lists.push({ ordered: tag === "ol", count: 0 })
        return
      }
      return this.#block(/^(tr|dt|dd|thead|tbody|summary)$/.test(tag) ? 1 : 2)
    }
    switch (tag) {
      case "br":
        return this.#pre > 0 ? this.#raw("\n") : this.#block(1)
      case "hr":
        return (this.#block(2), this.#mark("---"), this.#block(2))
      case "li": {
        const list = this.#lists.at(-1)
        this.#block(1)
        if (list !== undefined) list.count++
        const indent = "  ".repeat(Math.min(8, Math.max(0, this.#lists.length - 1)))
        return this.#mark(`${indent}${list?.ordered === true ? `${list.count}.` : "-"} `)
      }
      case "pre":
        this.#block(2)
        if (this.#pre++ === 0) this.#mark("```\n")
        return
      case "blockquote":
        return (this.#block(2), this.#mark("> "))
      case "code":
        return this.#pre > 0 ? undefined : this.#inline("`")
      case "b":
      case "strong":
        return this.#inline("**")
      case "a":
        if (this.#links.length < 16) this.#links.push({ href: this.#whole(attributes["href"]), at: this.#out.length })
        return
      case "img": {
        const alt = attributes["alt"]?.trim() ?? ""
        if (alt !== "") this.text(`[image: ${alt}]`)
        return
      }
      default:
        return
    }
  }

  close(tag: string): void {
    if (tag === "title") this.#inTitle = false
    if (this.#silentTag !== "") {
      if (tag === this.#silentTag && --this.#silentDepth === 0) this.#silentTag = ""
      return
    }
    if (emptyTags.has(tag)) return
    if (/^h[1-6]$/.test(tag) || tag === "blockquote") return this.#block(2)
    if (blocks.has(tag)) {
      if (tag === "tr" && this.#cells > 0) this.#mark(" |")
      if (tag === "ul" || tag === "ol") this.#lists.pop()
      return this.#block(/^(tr|dt|dd|thead|tbody|summary)$/.test(tag) || this.#lists.length > 0 ? 1 : 2)
    }
    switch (tag) {
      case "li":
        return this.#block(1)
      case "pre":
        if (this.#pre === 0 || --this.#pre > 0) return
        if (this.#out.at(-1)?.endsWith("\n") !== true) this.#raw("\n")
        return (this.#raw("```"), this.#block(2))
      case "code":
        return this.#pre > 0 ? undefined : this.#unmark("`")
      case "b":
      case "strong":
        return this.#unmark("**")
      case "a":
        return this.#endLink()
      default:
        return
    }
  }

  text(text: string): void {
    if (this.#inTitle) {
      this.#title.push(text)
      return
    }
    if (this.#silentTag !== "") return
    if (this.#pre > 0) return (this.#flush(), this.#raw(text))
    if (/^\s/.test(text)) this.#space = true
    const said = text.trim().replaceAll(/\s+/g, " ")
    if (said === "") return
    this.#flush()
    this.#raw(said)
    if (/\s$/.test(text)) this.#space = true
  }

  title(): string {
    return this.#title.join("").trim().replaceAll(/\s+/g, " ").slice(0, 300)
  }

  done(): string {
    return this.#out.join("").trim()
  }

  #raw(text: string): void {
    this.#out.push(text)
    this.#started = true
  }

  #flush(): void {
    if (this.#breaks > 0) {
      if (this.#started) this.#raw("\n".repeat(this.#breaks))
    } else if (this.#space && this.#started) this.#raw(" ")
    this.#breaks = 0
    this.#space = false
  }

  #block(breaks: number): void {
    if (this.#pre > 0) return
    this.#breaks = Math.max(this.#breaks, breaks)
    this.#space = false
  }

  #mark(mark: string): void {
    this.#flush()
    this.#raw(mark)
  }

  #inline(mark: string): void {
    this.#flush()
    this.#raw(mark)
  }

  /** Behind the last word, not behind the space that follows it. */
  #unmark(mark: string): void {
    if (this.#out.at(-1) === mark) this.#out.pop()
    else this.#raw(mark)
  }

  #endLink(): void {
    const link = this.#links.pop()
    if (link === undefined || link.href === "" || this.#out.length === link.at) return
    // Only what stands on one line can be a link; the words of a longer one stay as they are.
    const said = this.#out.slice(link.at)
    if (said.length > 32 || said.some((part) => part.includes("\n\n"))) return
    const before = said[0]?.trim() === "" ? said.shift() : undefined
    this.#out.length = link.at
    if (before !== undefined) this.#out.push(before)
    this.#out.push(`[${said.join("").replaceAll("\n", " ").trim()}](${link.href})`)
  }

  #whole(href: string | undefined): string {
    if (href === undefined || href.startsWith("#") || /^(javascript|data):/i.test(href)) return ""
    return URL.canParse(href, this.#base) ? new URL(href, this.#base).href : ""
  }
}
