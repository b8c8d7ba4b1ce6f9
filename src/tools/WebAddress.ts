/**
 * Owns which addresses of the network are public. Everything that is not certainly public is private: this machine, its
 * networks, the metadata services of clouds, and whatever way IPv6 has to wrap one of these.
 */

/** The first bytes of a range, and how many bits of them count. */
type Range = readonly [first: ReadonlyArray<number>, bits: number]

const v4 = (text: string): Range => {
  const [address = "", bits = "32"] = text.split("/")
  return [address.split(".").map(Number), Number(bits)]
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry */
const privateV4: ReadonlyArray<Range> = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
].map(v4)

const within = (bytes: ReadonlyArray<number>, [first, bits]: Range): boolean => {
  for (let bit = 0; bit < bits; bit++) {
    const mask = 0x80 >> (bit & 7)
    if (((bytes[bit >> 3] ?? 0) & mask) !== ((first[bit >> 3] ?? 0) & mask)) return false
  }
  return true
}

const bytesOfV4 = (text: string): ReadonlyArray<number> | undefined => {
  const parts = text.split(".")
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined
  return parts.map(Number)
}

const bytesOfV6 = (text: string): ReadonlyArray<number> | undefined => {
  const [plain = "", ...zone] = text.split("%")
  if (zone.length > 0 || !plain.includes(":")) return undefined
  // A dotted tail is two groups.
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(plain)
  const tail = dotted === null ? undefined : bytesOfV4(dotted[2] ?? "")
  if (dotted !== null && tail === undefined) return undefined
  const group = (at: number) => (((tail?.[at] ?? 0) << 8) | (tail?.[at + 1] ?? 0)).toString(16)
  const whole = tail === undefined ? plain : `${dotted?.[1]}${group(0)}:${group(2)}`
  const halves = whole.split("::")
  if (halves.length > 2) return undefined
  const [head = [], end = []] = halves.map((half) => (half === "" ? [] : half.split(":")))
  const missing = 8 - head.length - end.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...end]
  if (!groups.every((part) => /^[0-9a-f]{1,4}$/i.test(part))) return undefined
  return groups.flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 0xff])
}

const isPublicV4 = (bytes: ReadonlyArray<number>): boolean => !privateV4.some((range) => within(bytes, range))

const isPublicV6 = (bytes: ReadonlyArray<number>): boolean => {
  // Only 2000::/3 is given out at all. The rest is local, or a wrapping of IPv4 (::ffff:, 64:ff9b::, ::).
  if (!within(bytes, [[0x20], 3])) return false
  // Teredo, benchmarks, ORCHID, documentation.
  if (within(bytes, [[0x20, 0x01, 0x00], 23]) || within(bytes, [[0x20, 0x01, 0x0d, 0xb8], 32])) return false
  if (within(bytes, [[0x3f, 0xff], 20])) return false
  // 6to4 carries the address it leads to.
  return within(bytes, [[0x20, 0x02], 16]) ? isPublicV4(bytes.slice(2, 6)) : true
}

const bare = (host: string): string =>
  host
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.+$/, "")
    .toLowerCase()

/** A host as a URL spells it is an address rather than a name. */
export const isAddress = (host: string): boolean => {
  const plain = bare(host)
  return bytesOfV4(plain) !== undefined || plain.includes(":")
}

/** Without brackets, as a socket takes it. */
export const addressOf = (host: string): string => bare(host)

/** Anybody on the internet may talk to it. Anything that is no address is not public. */
export const isPublic = (address: string): boolean => {
  const plain = bare(address)
  const four = bytesOfV4(plain)
  if (four !== undefined) return isPublicV4(four)
  const six = bytesOfV6(plain)
  return six !== undefined && isPublicV6(six)
}

const localSuffixes = [
  ".localhost",
  ".local",
  ".internal",
  ".intranet",
  ".lan",
  ".home",
  ".home.arpa",
  ".corp",
  ".private",
]

/** A name that only means something here, whatever it resolves to. */
export const isLocalName = (host: string): boolean => {
  const plain = bare(host)
  return !plain.includes(".") || localSuffixes.some((suffix) => plain.endsWith(suffix))
}
