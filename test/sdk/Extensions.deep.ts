/** Hooks and agents given through the real Claude Agent SDK, and the files it lets count: they do here what they do elsewhere. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { offered, systemOf, toldLast, type World } from "../e2e/world.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { conversation, type Hook, type HookInput, type Message } from "./client.ts"
import { bypass, gather, hello, resultOf, scene, start } from "./scene.ts"

const requestsOf = (made: World) => Effect.runPromise(made.requests)
const bash = (command: string) => ({ tool: "Bash", input: { command } })
const on = (hook: Hook, matcher?: string, more: object = {}) => [
  { ...(matcher !== undefined && { matcher }), hooks: [hook], ...more },
]
const says = (hookEventName: string, fields: object) => ({ hookSpecificOutput: { hookEventName, ...fields } })

/** A hook that keeps what it is told. */
const listener = () => {
  const heard: Array<HookInput> = []
  const hook: Hook = async (input) => {
    heard.push(input)
    return {}
  }
  return { heard, hook }
}

describe.concurrent("a hook of the client", () => {
  scene(
    "denies a call of the tool it is for, and the model hears why",
    { turns: [{ reply: [bash("touch a"), { tool: "Glob", input: { pattern: "*" } }] }, { reply: "I see." }] },
    async (made) => {
      const asked: Array<unknown> = []
      const deny: Hook = async (input, id) => {
        asked.push([input["hook_event_name"], input["tool_name"], input["tool_input"], input["tool_use_id"] === id])
        return says("PreToolUse", { permissionDecision: "deny", permissionDecisionReason: "nothing is made today" })
      }
      const all = await gather(start(made, "go", { ...bypass, hooks: { PreToolUse: on(deny, "Bash") } }))
      assert.deepStrictEqual(asked, [["PreToolUse", "Bash", { command: "touch a" }, true]])
      assert.isFalse(fs.existsSync(path.join(made.work, "a")))
      assert.include(toldLast((await requestsOf(made))[1]), "nothing is made today")
      assert.include(resultOf(all), { subtype: "success", result: "I see." })
    },
  )

  scene(
    "rewrites the arguments of a call, and adds to what the model is told of its result",
    { turns: [{ reply: [bash("echo one")] }, { reply: "I see." }] },
    async (made) => {
      const rewrite: Hook = async () =>
        says("PreToolUse", { permissionDecision: "allow", updatedInput: { command: "echo two" } })
      const add: Hook = async ({ tool_response }) =>
        says("PostToolUse", { additionalContext: `It printed ${JSON.stringify(tool_response)}.` })
      await gather(start(made, "go", { hooks: { PreToolUse: on(rewrite), PostToolUse: on(add, "Bash|Read") } }))
      const told = toldLast((await requestsOf(made))[1])
      assert.match(told, /"content":"two/)
      assert.match(told, /It printed .*two/)
      assert.notInclude(told, "one")
    },
  )

  scene(
    "adds to a prompt, refuses another, and keeps a turn from ending once",
    { rules: [{ when: { prompt: { contains: "count to three" } }, reply: "One, two, three." }, { reply: "One." }] },
    async (made) => {
      const talk = conversation()
      talk.say("begin")
      const submit: Hook = async ({ prompt }) =>
        prompt === "forbidden"
          ? { decision: "block", reason: "not here" }
          : says("UserPromptSubmit", { additionalContext: "It is Tuesday." })
      const stops: Array<unknown> = []
      const stop: Hook = async ({ last_assistant_message, stop_hook_active }) => {
        stops.push([last_assistant_message, stop_hook_active])
        return stop_hook_active === true ? {} : { decision: "block", reason: "count to three" }
      }
      const results: Array<Message> = []
      const hooks = { UserPromptSubmit: on(submit), Stop: on(stop) }
      await gather(start(made, talk.messages, { hooks }), (message) => {
        if (message.type !== "result") return
        results.push(message)
        if (results.length === 1) talk.say("forbidden")
        else talk.end()
      })
      const requests = await requestsOf(made)
      assert.match(toldLast(requests[0]), /begin.*It is Tuesday\./)
      assert.include(toldLast(requests[1]), "count to three")
      assert.deepStrictEqual(stops, [
        ["One.", false],
        ["One, two, three.", true],
      ])
      assert.strictEqual(results[0]?.["result"], "One, two, three.")
      assert.lengthOf(requests, 2)
      assert.lengthOf(results, 2)
    },
  )

  scene(
    "that throws, or takes too long, does not take the session down",
    { turns: [{ reply: [{ tool: "Glob", input: { pattern: "*" } }] }, { reply: "Done." }] },
    async (made) => {
      const throws: Hook = () => Promise.reject(new Error("oops"))
      const aborted: Array<boolean> = []
      const hangs: Hook = (_input, _id, { signal }) =>
        new Promise(() => signal.addEventListener("abort", () => aborted.push(true)))
      let said = ""
      const hooks = { PostToolUse: [...on(throws), ...on(hangs, "Glob", { timeout: 1 })], UserPromptSubmit: on(throws) }
      const all = await gather(start(made, "go", { hooks, stderr: (text: string) => (said += text) }))
      assert.include(resultOf(all), { subtype: "success", result: "Done." })
      assert.include(said, "oops")
      assert.deepStrictEqual(aborted, [true])
    },
  )

  scene(
    "may be asked while the session is being opened, and is left alone when nobody answers any more",
    hello,
    async (made) => {
      const { heard, hook } = listener()
      let said = ""
      const hooks = { SessionStart: on(hook), SessionEnd: on(hook) }
      const talk = conversation()
      talk.say("hi")
      await gather(start(made, talk.messages, { hooks, stderr: (text: string) => (said += text) }), (message) => {
        if (message.type === "result") talk.end()
      })
      assert.include(heard[0], { hook_event_name: "SessionStart", source: "startup", cwd: made.work })
      assert.strictEqual(said, "")
    },
  )
})

describe.concurrent("agents of the client", () => {
  const review: Playbook = {
    rules: [
      { when: { system: { contains: "You review." }, tool: {} }, reply: "Two flaws." },
      { when: { system: { contains: "You review." } }, reply: [{ tool: "Glob", input: { pattern: "*" } }] },
      { when: { tool: {} }, reply: "It has two flaws." },
      {
        reply: [
          {
            tool: "Agent",
            input: { subagent_type: "reviewer", description: "look at it", prompt: "Review the code." },
          },
        ],
      },
    ],
  }
  const agents = { reviewer: { description: "Reviews code.", prompt: "You review.", tools: ["Glob", "Read"] } }

  scene("are offered to the model, and run when it sends them out", review, async (made) => {
    const begun = listener()
    const ended = listener()
    const calls = listener()
    const hooks = {
      SubagentStart: on(begun.hook, "reviewer"),
      SubagentStop: on(ended.hook),
      PreToolUse: on(calls.hook, "Glob"),
    }
    const all = await gather(start(made, "go", { ...bypass, agents, hooks, forwardSubagentText: true }))
    assert.include(resultOf(all), { subtype: "success", result: "It has two flaws." })
    const agentsNamed = all[0]?.["agents"]
    assert(Array.isArray(agentsNamed))
    assert.include(agentsNamed, "reviewer")
    const requests = await requestsOf(made)
    const [first, second] = requests
    assert.include(JSON.stringify(first?.body.tools), "reviewer: Reviews code.")
    assert.include(systemOf(second), "You review.")
    assert.sameMembers([...offered(second)], ["Glob", "Read"])
    assert.include(toldLast(second), "Review the code.")
    assert.include(toldLast(requests.at(-1)), "Two flaws.")

    const call = /"type":"tool_use","id":"([^"]+)","name":"Agent"/.exec(JSON.stringify(all))?.[1]
    assert.isDefined(call)
    const inside = all.filter((message) => message["parent_tool_use_id"] === call)
    assert.match(JSON.stringify(inside), /"name":"Glob"/)
    assert.match(JSON.stringify(inside), /"tool_result"/)

    const id = begun.heard[0]?.["agent_id"]
    assert.isString(id)
    const who = { agent_id: id, agent_type: "reviewer" }
    assert.deepInclude(begun.heard[0], { ...who, hook_event_name: "SubagentStart" })
    assert.deepInclude(ended.heard[0], {
      ...who,
      hook_event_name: "SubagentStop",
      last_assistant_message: "Two flaws.",
    })
    assert.deepInclude(calls.heard[0], who)
    assert.deepStrictEqual([begun.heard.length, ended.heard.length, calls.heard.length], [1, 1, 1])
  })

  scene("are what it is told that there is, with the commands", hello, async (made) => {
    made.write(
      ".claude/commands/ship.md",
      "---\ndescription: Ships it\nargument-hint: <where>\n---\nShip to $ARGUMENTS.\n",
    )
    const talk = conversation()
    const query = start(made, talk.messages, { agents, settingSources: ["project"] })
    const done = gather(query, (message) => {
      if (message.type === "result") talk.end()
    })
    const named = (await query.supportedAgents()).map(({ name }) => name)
    assert.includeMembers([...named], ["reviewer", "Explore", "general-purpose"])
    const commands = await query.supportedCommands()
    assert.deepInclude([...commands], { name: "ship", description: "Ships it", argumentHint: "<where>" })
    talk.say("/ship the moon")
    const all = await done
    assert.include(all[0]?.["slash_commands"], "ship")
    assert.include(toldLast((await requestsOf(made))[0]), "Ship to the moon.")
  })
})

describe.concurrent("the sources of settings", () => {
  const furnish = (made: World) => {
    made.write("CLAUDE.md", "Always say please.")
    made.write(path.join(made.config, "CLAUDE.md"), "Always say thanks.")
    made.write(".claude/agents/local-hero.md", "---\nname: local-hero\ndescription: Saves the day\n---\nSave it.\n")
    made.write(".claude/skills/knitting/SKILL.md", "---\nname: knitting\ndescription: Knits\n---\nKnit.\n")
  }
  const whole = async (made: World) => JSON.stringify((await requestsOf(made))[0]?.body)

  scene("that are none leave out what files say", hello, async (made) => {
    furnish(made)
    await gather(start(made, "hi", { settingSources: [] }))
    assert.notMatch(await whole(made), /say please|say thanks|local-hero|knitting/)
  })

  scene("with the project let its files count, and not the person's", hello, async (made) => {
    furnish(made)
    await gather(start(made, "hi", { settingSources: ["project"] }))
    const body = await whole(made)
    for (const said of ["say please", "local-hero", "knitting"]) assert.include(body, said)
    assert.notInclude(body, "say thanks")
  })

  scene("with the person let theirs count, and not the project's", hello, async (made) => {
    furnish(made)
    await gather(start(made, "hi", { settingSources: ["user"] }))
    const body = await whole(made)
    assert.include(body, "say thanks")
    assert.notMatch(body, /say please|local-hero|knitting/)
  })
})
