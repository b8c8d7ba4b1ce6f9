/** Owns what a shell command is for, by the programs that it starts: only as much as says what its output is worth. */

/** `preparing`: installs, fetches, moves files about. `building`: compiles or checks, and says little when all is well. */
export type Kind = "looking" | "preparing" | "building" | "manual" | "working"

/** What only prepares the ground for what a line is about. */
const silent =
  /^(?:cd|export|set|source|\.|mkdir|rm|rmdir|touch|echo|printf|true|sleep|chmod|chown|ln|pushd|popd|unset|clear|wait|kill|test|\[)$/

const kinds: ReadonlyArray<readonly [Exclude<Kind, "working">, RegExp]> = [
  [
    "manual",
    /^(?:man|tldr|info|help)\b|\s(?:--help|--explain|-h)(?:\s|$)|^(?:git|go|npm|cargo|dotnet|docker|kubectl) help\b|^perldoc\b/,
  ],
  [
    "looking",
    /^(?:ls|ll|dir|find|fd|fdfind|tree|grep|egrep|fgrep|rg|ag|ack|du|df|wc|pwd|which|whereis|type|file|stat|locate|ps|top|free|lsof|jobs|history|whoami|hostname|uptime|eza|exa|Get-ChildItem)\b|^git (?:status|ls-files|ls-tree|grep|stash list|worktree list|config)\b|^(?:docker|podman) (?:ps|images|volume ls|network ls)\b|^kubectl get\b|^(?:tar -?t|unzip -l|zipinfo)/,
  ],
  [
    "preparing",
    /^(?:npm|pnpm|yarn|bun) (?:install|ci|i|add|update|upgrade|remove|uninstall|link|prune|dedupe|fund|cache)\b|^(?:yarn|pnpm install)$|^(?:pip3?|pipx|poetry|conda|mamba|pipenv|python3? -m pip|uv(?: pip)?) (?:install|sync|add|update|uninstall|download|lock)\b|^python3? -m venv\b|^(?:apt|apt-get|dnf|yum|apk|pacman|brew|snap|zypper|choco|winget|port)\b|^(?:cargo|rustup) (?:fetch|add|new|init|clean|update|install|remove|vendor|toolchain|component|target)\b|^go (?:mod|get|install|work|clean)\b|^(?:gem|bundle|composer|mix|dotnet|hex|cpanm?|luarocks|opam|stack|cabal|nuget|helm repo|terraform|swift package|pod|flutter pub|dart pub|deno) ?(?:install|update|require|deps\.get|local\.\w+|restore|add|init|new|resolve|get|cache|setup|create-project|dump-autoload)\b|^(?:docker|podman)(?:[ -]compose)? (?:pull|push|build|up|down|start|stop|rm|create|tag|login)\b|^git (?:push|pull|fetch|clone|stash|add|checkout|switch|init|gc|submodule|restore|reset|rm|mv|clean|remote add|prune|lfs)\b|^(?:tar|zip|unzip|gzip|gunzip|xz|7z|bzip2|cp|mv|rsync|scp|wget|install|dd)\b|^curl\b.*\s(?:-[sSLfk]*[oO]|--output|--remote-name)\b|^(?:npx|npm exec|npm init|npm create|pnpm create|yarn create|bunx?) (?:create|degit|init)|^(?:mvn|mvnw|gradle|gradlew) (?:-\S+ )*(?:dependency|clean$|dependencies|wrapper)/,
  ],
  [
    "building",
    /^(?:npm|pnpm|yarn|bun)(?: run)? (?:build|compile|lint|format|typecheck|check|types|bundle|clean|prepare|generate)|^(?:cargo (?:build|check|clippy|fmt|doc)|go (?:build|vet|generate|fmt)|gofmt|make|cmake|ninja|meson|bazel build|tsc|vite build|webpack|rollup|esbuild|next build|eslint|oxlint|prettier|ruff|black|flake8|mypy|pyright|isort|rubocop|standard|biome|rustfmt|clang-format|shellcheck|golangci-lint|phpstan|psalm|ktlint|swiftlint|javac|kotlinc|scalac|swiftc|gcc|g\+\+|clang|clang\+\+|cc|rustc|swift build|dotnet build|mix compile|mix format|sass|tailwindcss|protoc)\b|^(?:\.\/)?(?:mvnw?|gradlew?)\b(?!.*\btest\b)|^php -l\b/,
  ],
]

const startersOf =
  /^(?:(?:sudo|time|nice|nohup|env(?: -i)?|command|npx|bunx|pnpx|pnpm exec|yarn dlx|bundle exec|poetry run|uv run|timeout \S+|xvfb-run)\s+(?:--?\w\S*\s+)*|[A-Za-z_]\w{0,60}=\S*\s+)+/

const longestCommand = 2_000

export const kindOf = (command: string): Kind => {
  const told = command
    .slice(0, longestCommand)
    .split(/&&|\|\||;|\n/)
    .map((part) =>
      part
        .trim()
        .replace(startersOf, "")
        .replace(/^git (?:-[cC] \S+ |--no-pager )+/, "git ")
        .replace(/^(?:\/\S*\/|\.\/node_modules\/\.bin\/)(?=\w)/, ""),
    )
    .filter((part) => part !== "" && !silent.test(part.split(/\s/, 1)[0] ?? ""))
    .map((part) => kinds.find(([, pattern]) => pattern.test(part))?.[0] ?? "working")
  const first = told[0]
  if (first === undefined) return "working"
  if (told.every((kind) => kind === first)) return first
  // Looking after something was done shows how it went.
  return told.includes("working") || told.includes("manual")
    ? "working"
    : told.includes("building")
      ? "building"
      : "preparing"
}
