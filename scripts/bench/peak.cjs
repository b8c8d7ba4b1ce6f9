// Preloaded into a measured process: leaves its peak memory (KiB) in a file. On Linux the usual figure would count the parent's.
"use strict"
const fs = require("node:fs")
process.on("exit", () => {
  let peak = process.resourceUsage().maxRSS
  try {
    peak = Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1])
  } catch {
    // Not Linux.
  }
  fs.writeFileSync(process.env.BENCH_PEAK, String(peak))
})
