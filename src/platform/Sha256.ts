/** Owns SHA-256 in plain JavaScript, for the in-memory platform; the node platform uses the native one. */

const fraction = (x: number) => Math.floor((x - Math.floor(x)) * 0x1_0000_0000)

const primes = (count: number): Array<number> => {
  const found: Array<number> = []
  for (let n = 2; found.length < count; n++) if (found.every((p) => n % p !== 0)) found.push(n)
  return found
}

const rounds = Uint32Array.from(primes(64), (p) => fraction(Math.cbrt(p)))
const initial = Uint32Array.from(primes(8), (p) => fraction(Math.sqrt(p)))

const rotate = (x: number, n: number) => (x >>> n) | (x << (32 - n))

const padded = (bytes: Uint8Array): Uint8Array => {
  const length = Math.ceil((bytes.length + 9) / 64) * 64
  const out = new Uint8Array(length)
  out.set(bytes)
  out[bytes.length] = 0x80
  new DataView(out.buffer).setBigUint64(length - 8, BigInt(bytes.length) * 8n)
  return out
}

const at = (words: Uint32Array, i: number): number => words[i] ?? 0

export const hex = (data: Uint8Array | string): string => {
  const bytes = padded(typeof data === "string" ? new TextEncoder().encode(data) : data)
  const view = new DataView(bytes.buffer)
  const h = Uint32Array.from(initial)
  const w = new Uint32Array(64)
  for (let block = 0; block < bytes.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(block + i * 4)
    for (let i = 16; i < 64; i++) {
      const a = at(w, i - 15)
      const b = at(w, i - 2)
      const s0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3)
      const s1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10)
      w[i] = at(w, i - 16) + s0 + at(w, i - 7) + s1
    }
    const s = Uint32Array.from(h)
    for (let i = 0; i < 64; i++) {
      const [a, b, c, d, e, f, g, last] = [
        at(s, 0),
        at(s, 1),
        at(s, 2),
        at(s, 3),
        at(s, 4),
        at(s, 5),
        at(s, 6),
        at(s, 7),
      ]
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      const t1 = (last + s1 + ((e & f) ^ (~e & g)) + at(rounds, i) + at(w, i)) >>> 0
      const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) >>> 0
      s.set([t1 + t2, a, b, c, d + t1, e, f, g])
    }
    for (let i = 0; i < 8; i++) h[i] = at(h, i) + at(s, i)
  }
  return Array.from(h, (word) => word.toString(16).padStart(8, "0")).join("")
}
