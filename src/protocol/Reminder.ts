/** Owns how the harness speaks to the model beside what people say: in a mark of its own, which the system prompt explains. */

export const reminder = (content: string): string => `<system-reminder>\n${content}\n</system-reminder>`

export const isReminder = (content: string): boolean => /^\s*<system-reminder>[^]*<\/system-reminder>\s*$/.test(content)

/** What was said, without the mark around it. */
export const unwrapped = (content: string): string =>
  content.replace(/^<system-reminder>\n([^]*)\n<\/system-reminder>$/, "$1")
