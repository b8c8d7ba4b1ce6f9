#!/usr/bin/env node
// A plain CommonJS entry: `--version` must not load anything else.
"use strict"
const args = process.argv.slice(2)
if (args.length === 1 && (args[0] === "--version" || args[0] === "-v" || args[0] === "-V")) {
  process.stdout.write(`${require("../package.json").version} (Troupe)\n`)
} else {
  require("./chunks.js").start()
}
