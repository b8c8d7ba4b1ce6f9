/**
 * Owns which files must not be touched lightly: protected ones change how tools, shells or this program behave when written;
 * secret ones hold credentials and are not for a command's eyes.
 */
import { folded } from "./PathName.ts"

const directories = new Set(
  ".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude .ssh .gnupg .aws".split(" "),
)
const files = new Set(
  (
    ".gitconfig .gitmodules .gitattributes .bashrc .bash_profile .bash_login .bash_aliases .bash_logout .zshrc .zprofile .zshenv .zlogin " +
    ".zlogout .profile .inputrc config.fish .envrc .netrc .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs bunfig.toml " +
    ".bunfig.toml .bazelrc .bazelversion .bazeliskrc .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml " +
    "gradle-wrapper.properties maven-wrapper.properties .devcontainer.json .ripgreprc pyrightconfig.json .mcp.json .claude.json"
  ).split(" "),
)

/** All of them, for whoever must know whether a pattern could mean one. */
export const protectedNames: ReadonlyArray<string> = [...directories, ...files]

export const under = (directory: string, at: string): boolean =>
  at === directory || at.startsWith(directory.endsWith("/") ? directory : `${directory}/`)

const partsBelow = (path: string, roots: ReadonlyArray<string>): ReadonlyArray<string> => {
  const at = folded(path)
  const base = roots
    .map(folded)
    .filter((root) => under(root, at))
    .sort((a, b) => b.length - a.length)[0]
  return (base === undefined ? at : at.slice(base.length)).split("/").filter((part) => part !== "")
}

/** By the names below a root of the workspace: a workspace inside `.claude/worktrees` is not protected as a whole. */
export const isProtected = (path: string, roots: ReadonlyArray<string>): boolean => {
  const parts = partsBelow(path, roots)
  return (
    files.has(parts.at(-1) ?? "") ||
    parts.some(
      (part, index) =>
        (directories.has(part) &&
          !(part === ".claude" && parts[index + 1] === "worktrees" && parts.length > index + 2)) ||
        (part === ".config" && parts[index + 1] === "git"),
    )
  )
}

/** Below the home: whole directories and single files that hold credentials. */
export const homeSecrets: ReadonlyArray<string> = (
  ".ssh .aws .azure .kube .gnupg .config/gcloud .config/gh .config/op .docker/config.json .netrc .npmrc .pypirc .git-credentials " +
  ".config/git/credentials .cargo/credentials .cargo/credentials.toml .gem/credentials .terraform.d/credentials.tfrc.json .vault-token " +
  ".password-store .local/share/keyrings .mozilla .config/google-chrome .config/chromium .claude.json .bash_history .zsh_history"
).split(" ")

/** Below the configuration directory: credentials, and what other sessions have said. */
export const configSecrets: ReadonlyArray<string> = ".credentials.json projects history.jsonl troupe".split(" ")

/** `.env` and its kin; what is meant to be copied holds no secret. */
export const isEnvFile = (name: string): boolean =>
  /^\.env/i.test(name) && !/\.(?:example|sample|template|dist|defaults?)$/i.test(name)

export const isSecret = (path: string, where: { readonly home: string; readonly configDir: string }): boolean =>
  homeSecrets.some((name) => under(`${where.home}/${name}`, path)) ||
  configSecrets.some((name) => under(`${where.configDir}/${name}`, path)) ||
  isEnvFile(path.slice(path.lastIndexOf("/") + 1))

const keyNames = new Set(
  (
    "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_CUSTOM_HEADERS CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_CLIENT_KEY_PASSPHRASE " +
    "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_BEARER_TOKEN_BEDROCK GOOGLE_APPLICATION_CREDENTIALS " +
    // Doors to agents and buses outside.
    "SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DOCKER_HOST XAUTHORITY"
  ).split(" "),
)
const keyLike = /(?:^|_)(?:API_?KEY|TOKEN|SECRET|SECRET_KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)$/i

/** A variable that carries a key, or leads to somebody who has one. */
export const isSecretVariable = (name: string): boolean => keyNames.has(name.toUpperCase()) || keyLike.test(name)
