/**
 * Owns the estimate of how many tokens a text is. It errs to the high side, so that decisions based on it (compaction,
 * refusing a file) come early rather than too late; the API's own count corrects it after each reply.
 */
import { estimateTokenCount } from "tokenx"

/** Models of 2026 count more tokens than the estimate's own vocabulary, code and tool output most of all. */
const margin = 1.2

/** Longer texts are judged by samples: an estimate need not read megabytes. */
const sampleAbove = 200_000
const samples = 8
const sampleSize = 10_000

export const estimate = (text: string): number => {
  if (text === "") return 0
  if (text.length <= sampleAbove) return Math.ceil(count(text) * margin)
  const step = Math.floor((text.length - sampleSize) / (samples - 1))
  let counted = 0
  for (let i = 0; i < samples; i++) counted += count(text.slice(i * step, i * step + sampleSize))
  return Math.ceil((counted / (samples * sampleSize)) * text.length * margin)
}

/** A run without spaces (base64, minified code) is cheap in the estimate and dear in truth: three characters a token at best. */
const count = (text: string): number => {
  // From the beginning of a run only: from everywhere in it, the search would be quadratic.
  const longest = /(?<!\S)\S{200}/.test(text) ? text.length / 3 : 0
  return Math.max(estimateTokenCount(text), longest)
}

/** Images are billed by area; without their size the largest usual one is assumed. */
export const imageTokens = (width?: number, height?: number): number =>
  width === undefined || height === undefined ? 1_600 : Math.ceil((width * height) / 750)
