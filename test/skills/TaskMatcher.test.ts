import { assert, describe, it } from "@effect/vitest"
import { consider, likeness, stem, stems } from "../../src/skills/TaskMatcher.ts"

const skills = [
  { name: "pdf", description: "Extract text and tables from PDF files, fill in forms, merge documents.", whenToUse: 'When the user says "fill out the form" or mentions a PDF.' },
  { name: "commit", description: "Stage and commit the current changes with a good message." },
  { name: "deploy-staging", description: "Deploys the application to the staging cluster with kubectl." },
  { name: "api-conventions", description: "REST API design patterns for this codebase: naming, errors, validation." },
  { name: "db-migrate", description: "Creates and runs database migrations (schema changes) with knex." },
  { name: "перевод", description: "Переводит документацию проекта на русский язык." },
  { name: "翻訳", description: "ドキュメントを日本語に翻訳する" },
] // prettier-ignore

const best = (task: string) => consider(task, skills)[0]
const suggested = (task: string) => consider(task, skills).flatMap(({ name, suggested: yes }) => (yes ? [name] : []))

describe("TaskMatcher", () => {
  it.each([
    ["merge these two pdf documents", "pdf"],
    ["please fill out the form in contract.pdf", "pdf"],
    ["commit my changes", "commit"],
    ["deploy to staging", "deploy-staging"],
    ["I want the app deployed on the staging cluster", "deploy-staging"],
    ["add a migration for the new database schema", "db-migrate"],
    ["create a databse migraton", "db-migrate"],
    ["follow our api conventions for the naming of errors", "api-conventions"],
    ["переведи документацию на русский", "перевод"],
    ["この文書を日本語に翻訳して", "翻訳"],
  ])("thinks for %j of %s", (task, name) => {
    assert.strictEqual(best(task)?.name, name)
    assert.isTrue(best(task)?.suggested, JSON.stringify(best(task)))
  })

  it.each([
    "fix the login bug",
    "what does this function do?",
    "hello",
    "",
    "write a new file and run the code",
    "refactor the parser",
  ])("suggests nothing for %j", (task) => {
    assert.deepStrictEqual(suggested(task), [])
  })

  it("says of every skill why it was considered, the same way each time", () => {
    const all = consider("deploy to staging", skills)
    assert.lengthOf(all, skills.length)
    assert.match(all[0]?.reason ?? "", /deploy \+/)
    assert.strictEqual(all.at(-1)?.reason, "no word in common")
    assert.deepStrictEqual(consider("deploy to staging", skills.toReversed()), all)
    for (const { score } of all) assert.isTrue(score >= 0 && score < 1)
  })

  it("counts words that all skills share for little", () => {
    const many = Array.from({ length: 40 }, (_, at) => ({
      name: `s${at}`,
      description: "Generates kubernetes manifests",
    }))
    const rare = { name: "terraform", description: "Writes terraform modules for kubernetes" }
    const [first, second] = consider("kubernetes terraform", [...many, rare])
    assert.strictEqual(first?.name, "terraform")
    assert.isBelow(second?.score ?? 1, 0.3)
  })

  it("brings forms of a word together", () => {
    for (const [a, b] of [
      ["deploying", "deploys"],
      ["deployed", "deploy"],
      ["migrations", "migration"],
      ["queries", "query"],
      ["running", "runs"],
      ["making", "make"],
      ["classes", "class"],
      ["validation", "validations"],
    ] as const) {
      // prettier-ignore
      assert.strictEqual(stem(a), stem(b), `${a} ${b}`)
    }
    assert.deepStrictEqual(stems("The API-design_of it"), ["api", "design"])
    assert.isAbove(likeness("database", "databse"), 0.55)
    assert.isBelow(likeness("database", "deployment"), 0.3)
  })

  it("answers at once for many skills", () => {
    const many = Array.from({ length: 300 }, (_, at) => ({
      name: `skill-${at}`,
      description: `Handles topic ${at} with words like alpha${at} beta${at} gamma${at} and explains the process at length`,
    }))
    assert.strictEqual(consider("explain alpha77 and beta77 please", many)[0]?.name, "skill-77")
  })
})
