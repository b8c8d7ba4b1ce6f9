import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { judge } from "../../../src/tools/builtin/Change.ts"
import { NotebookEdit } from "../../../src/tools/builtin/NotebookEdit.ts"
import { Read } from "../../../src/tools/builtin/Read.ts"
import { call, inWorkspace, refusal } from "./kit.ts"

/** With spellings that a parse and a rewrite would lose. */
const notebook = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {"weight": 1.0, "big": 1e3},
   "source": ["# Title"]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {},
   "outputs": [{"output_type": "stream", "name": "stdout", "text": ["2\\n"]}],
   "source": "1 + 1"
  }
 ],
 "metadata": {"language_info": {"name": "julia"}, "x": "\\u00e9"},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

const opened = (put: (name: string, content: string) => string, content = notebook) =>
  Effect.gen(function* () {
    const notebook_path = put("n.ipynb", content)
    yield* call(Read, { file_path: notebook_path })
    return notebook_path
  })

describe("NotebookEdit", () => {
  it.live("replaces the source of a cell, drops its outputs, and touches nothing else", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const notebook_path = yield* opened(put)
        const output = yield* call(NotebookEdit, { notebook_path, cell_id: "sum", new_source: "2 + 2\n3" })
        assert.strictEqual(
          text("n.ipynb"),
          notebook
            .replace('"source": "1 + 1"', '"source": "2 + 2\\n3"')
            .replace('"execution_count": 3', '"execution_count": null')
            .replace(/"outputs": \[\{.*\}\]/, '"outputs": []'),
        )
        assert.strictEqual(output.content, `Replaced the source of cell sum in ${notebook_path}.`)
        assert.deepInclude(output.structured, {
          new_source: "2 + 2\n3",
          old_source: "1 + 1",
          cell_id: "sum",
          cell_type: "code",
          language: "julia",
          edit_mode: "replace",
          notebook_path,
          original_file: notebook,
        })
        // Its own result counts as seen.
        yield* call(NotebookEdit, { notebook_path, cell_id: "cell-0", new_source: "a\nb" })
        assert.deepStrictEqual(JSON.parse(text("n.ipynb")).cells[0].source, ["a\n", "b"])
        assert.include(text("n.ipynb"), '"weight": 1.0, "big": 1e3')
      }),
    ),
  )

  it.live("inserts a cell after another or first, with an id where notebooks have them, and deletes one", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const notebook_path = yield* opened(put)
        const cells = () => JSON.parse(text("n.ipynb")).cells as ReadonlyArray<Record<string, unknown>>
        const insert = { notebook_path, edit_mode: "insert", cell_type: "code" }
        yield* call(NotebookEdit, { ...insert, cell_id: "intro", new_source: "x = 1" })
        assert.deepStrictEqual(
          cells().map((cell) => cell["cell_type"]),
          ["markdown", "code", "code"],
        )
        assert.match(String(cells()[1]?.["id"]), /^[0-9a-f]{8}$/)
        assert.deepInclude(cells()[1], { source: ["x = 1"], outputs: [], execution_count: null, metadata: {} })
        yield* call(NotebookEdit, { ...insert, cell_type: "markdown", new_source: "first" })
        assert.deepStrictEqual(cells()[0]?.["source"], ["first"])
        yield* call(NotebookEdit, { notebook_path, edit_mode: "delete", cell_id: "sum", new_source: "" })
        assert.deepStrictEqual(
          cells()
            .map((cell) => cell["id"])
            .includes("sum"),
          false,
        )
        assert.include(text("n.ipynb"), '"weight": 1.0, "big": 1e3')
        const old = put("n.ipynb", `{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":2}`)
        yield* call(Read, { file_path: old })
        yield* call(NotebookEdit, { ...insert, new_source: "only" })
        assert.notProperty(cells()[0], "id")
      }),
    ),
  )

  it.live("changes the type of a cell, and then has what that type has", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const notebook_path = yield* opened(put)
        yield* call(NotebookEdit, { notebook_path, cell_id: "sum", new_source: "words", cell_type: "markdown" })
        const cell = JSON.parse(text("n.ipynb")).cells[1]
        assert.deepStrictEqual(Object.keys(cell).sort(), ["cell_type", "id", "metadata", "source"])
      }),
    ),
  )

  it.live("refuses what it cannot place, has not seen, or is no notebook", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const notebook_path = put("n.ipynb", notebook)
        const edit = { notebook_path, cell_id: "sum", new_source: "x" }
        assert.match(yield* refusal(NotebookEdit, edit), /has not been read yet/)
        yield* call(Read, { file_path: notebook_path })
        const refused = (more: object) => refusal(NotebookEdit, { ...edit, ...more })
        assert.match(yield* refused({ cell_id: "nope" }), /no cell nope .*intro, sum/)
        assert.match(yield* refused({ cell_id: "cell-7" }), /no cell cell-7/)
        assert.match(yield* refusal(NotebookEdit, { notebook_path, new_source: "x" }), /replace needs the cell_id/)
        assert.match(yield* refused({ edit_mode: "insert" }), /insert needs a cell_type/)
        assert.match(yield* refused({ edit_mode: "move" }), /edit_mode/)
        assert.match(yield* refused({ notebook_path: put("a.py", "x") }), /not a notebook.*Use Edit/)
        assert.match(yield* refused({ notebook_path: "missing.ipynb" }), /There is no file/)
        put("n.ipynb", notebook.replace("Title", "Other"))
        assert.match(yield* refusal(NotebookEdit, edit), /has changed since it was last read/)
        const broken = put("b.ipynb", "{")
        yield* call(Read, { file_path: broken })
        assert.match(yield* refused({ notebook_path: broken }), /not valid notebook JSON/)
      }),
    ),
  )

  it.live("leaves evidence that tells after a crash whether it happened", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const notebook_path = yield* opened(put)
        const input = { notebook_path, edit_mode: "insert", cell_type: "code", cell_id: "intro", new_source: "y" }
        const evidence = yield* (yield* NotebookEdit.decode(input)).evidence
        assert.match((yield* judge(evidence)) ?? "", /did not happen/)
        yield* call(NotebookEdit, input)
        assert.match((yield* judge(evidence)) ?? "", /it happened/)
      }),
    ),
  )
})
