/** Owns the skills that come with the product. Their texts are loaded when one is used. */
import * as Effect from "effect/Effect"
import type { Given } from "./SkillLibrary.ts"

const text = (name: "customize" | "init") =>
  Effect.map(
    Effect.promise(() => import("./BundledTexts.ts")),
    ({ texts }) => texts[name],
  )

export const skills: ReadonlyArray<Given> = [
  {
    origin: "bundled",
    name: "customize",
    data: {
      description:
        "Writes or explains the files that extend this product: hooks, skills, commands, agents, rules, settings.",
      when_to_use:
        'Use when somebody wants to "add a hook", "write a skill", "create a subagent", make a slash command, set permissions, or asks why one of these is not in force.',
      "argument-hint": "[what to add or explain]",
    },
    body: text("customize"),
  },
  {
    origin: "bundled",
    name: "init",
    data: {
      description: "Looks at this repository and writes a CLAUDE.md with what somebody new to it must know.",
      "disable-model-invocation": true,
      "argument-hint": "[what to stress]",
    },
    body: text("init"),
  },
]
