/** A PDF document with these words on its pages, line by line. */
export const pdf = (pages: ReadonlyArray<string>): string => {
  const objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
  const kids = pages.map((words) => {
    const lines = words.split("\n").map((line) => `(${line}) Tj T*`)
    const drawing = `BT /F1 1 Tf 1 TL 72 760 Td ${lines.join(" ")} ET`
    objects.push(`<< /Length ${drawing.length} >>\nstream\n${drawing}\nendstream`)
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
  return `${file}${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`
}
