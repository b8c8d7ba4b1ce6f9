/** Owns the proof that a program text of awk or jq neither writes, nor starts anything, nor shows the environment. */

/**
 * In awk output goes elsewhere only with `>` or `|`, a program is started only with `|` or `system`, another file is read only with
 * `getline` or through `ARGV`, and `@` loads or calls by name. None of these may occur, not even in a string.
 */
export const isHarmlessAwk = (program: string): boolean =>
  !/[>@]|\\\n|\\\r/.test(program) &&
  !program.replaceAll("||", " ").includes("|") &&
  !/(?:system|getline|close|fflush|ENVIRON|ARGV|ARGC|ARGIND|PROCINFO|SYMTAB|FUNCTAB|extension|include|load|eval)/.test(
    program,
  )

/** jq has no way to write or to start anything; it can read the environment and modules. */
export const isHarmlessJq = (filter: string): boolean =>
  !/env|ENV|import|include|modulemeta|__|input_filename|halt/.test(filter)
