/** PDF documents made by hand. */
import { createHash } from "node:crypto"

interface Options {
  /** What each page carries besides its words, and nobody sees. */
  readonly ballast?: string
  /** How the content of an object is written. */
  readonly written?: (content: string, object: number) => string
  /** What else the end of the document says. */
  readonly trailer?: string
}

/** With these words on its pages, line by line. */
export const pdf = (pages: ReadonlyArray<string>, options: Options = {}): string => {
  const { ballast = "", trailer = "", written = (content) => content } = options
  const objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
  const kids = pages.map((words) => {
    const lines = words.split("\n").map((line) => `(${line}) Tj T*`)
    const drawing = `BT /F1 1 Tf 1 TL 72 760 Td ${lines.join(" ")} ET${ballast === "" ? "" : `\n%${ballast}\n`}`
    objects.push(`<< /Length ${drawing.length} >>\nstream\n${written(drawing, objects.length + 1)}\nendstream`)
    const resources = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
    objects.push(`<< /Type /Page /Parent 2 0 R /Contents ${objects.length} 0 R ${resources} >>`)
    return `${objects.length} 0 R`
  })
  objects[1] = `<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${kids.length} >>`
  let file = "%PDF-1.4\n"
  const offsets = objects.map((object, index) => {
    const at = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return `${String(at).padStart(10, "0")} 00000 n \n`
  })
  const start = file.length
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join("")}`
  return `${file}${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer}>>\nstartxref\n${start}\n%%EOF\n`
}

const md5 = (...parts: ReadonlyArray<Buffer>): Buffer => createHash("md5").update(Buffer.concat(parts)).digest()

const rc4 = (key: Buffer, data: Buffer): Buffer => {
  const box = Uint8Array.from({ length: 256 }, (_, index) => index)
  const at = (index: number) => box[index & 255] ?? 0
  const swap = (a: number, b: number) => ([box[a & 255], box[b & 255]] = [at(b), at(a)])
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + at(i) + (key[i % key.length] ?? 0)) & 255
    swap(i, j)
  }
  let j = 0
  return Buffer.from(
    data.map((byte, index) => {
      const i = index + 1
      j = (j + at(i)) & 255
      swap(i, j)
      return byte ^ at(at(i) + at(j))
    }),
  )
}

/** Encrypted with 40 bits, for everybody: the password is empty. */
export const encryptedPdf = (pages: ReadonlyArray<string>): Buffer => {
  const padding = Buffer.from("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a", "hex")
  const owner = Buffer.alloc(32, 7)
  const id = Buffer.alloc(16, 9)
  const permissions = Buffer.from([0xfc, 0xff, 0xff, 0xff])
  const key = md5(padding, owner, permissions, id).subarray(0, 5)
  const user = rc4(key, padding)
  const written = (content: string, object: number) => {
    const number = Buffer.from([object & 255, object >> 8, 0, 0, 0])
    return rc4(md5(key, number).subarray(0, 10), Buffer.from(content, "latin1")).toString("latin1")
  }
  const hex = (bytes: Buffer) => `<${bytes.toString("hex")}>`
  const encrypt = `/Filter /Standard /V 1 /R 2 /O ${hex(owner)} /U ${hex(user)} /P -4`
  const trailer = `/Encrypt << ${encrypt} >> /ID [${hex(id)} ${hex(id)}] `
  return Buffer.from(pdf(pages, { written, trailer }), "latin1")
}
