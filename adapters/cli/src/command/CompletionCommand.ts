import { Console, Effect } from "effect"
import { helpOf, SETTINGS_HEADING } from "../config/SettingsHelp.ts"
import { usageFault } from "../start/StartFault.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"

const COMPLETION = "completion"
const SHELLS = ["bash", "zsh", "fish"] as const

/** A command and what may follow it. */
export interface CompletedCommand {
  readonly name: string
  readonly summary: string
  /** Such as `--limit`, in the order of its help; words that it takes without an option come first. */
  readonly options: ReadonlyArray<string>
}

/** The options that a help text describes, and those of every command. */
const optionsIn = (help: string): ReadonlyArray<string> => [
  ...new Set([...(help.match(/--[a-z][a-z-]*[a-z]/gu) ?? []), "--help"])
]

/** A command of the list, before its module is loaded. */
interface Listed {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<Pick<Command, "help">>
}

const completedCommands = (listed: ReadonlyArray<Listed>) =>
  Effect.promise(() =>
    Promise.all(
      listed.map(async ({ load, name, summary }): Promise<CompletedCommand> => {
        const { help } = await load()
        const [usage = ""] = help.split(SETTINGS_HEADING)
        const shells = name === COMPLETION ? SHELLS : []
        return { name, summary, options: [...shells, ...optionsIn(usage)] }
      })
    )
  )

/** What may follow the words so far: by `""`, `organization` and `organization create`. */
const followers = (commands: ReadonlyArray<CompletedCommand>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const next = new Map<string, Set<string>>()
  const add = (after: string, word: string) => {
    next.set(after, (next.get(after) ?? new Set()).add(word))
  }
  for (const { name, options } of commands) {
    const [first = "", second] = name.split(" ")
    add("", first)
    if (second !== undefined) add(first, second)
    for (const option of options) add(name, option)
  }
  for (const word of ["--help", "--version"]) add("", word)
  return new Map([...next].map(([after, words]) => [after, [...words]]))
}

/** The branches of a `case` over the words so far, for bash and zsh. */
const branches = (commands: ReadonlyArray<CompletedCommand>): string =>
  [...followers(commands)].map(([after, words]) => `    '${after}') words='${words.join(" ")}' ;;`).join("\n")

/** What may follow the words so far, in bash and in zsh. */
const wordsFunction = (commands: ReadonlyArray<CompletedCommand>): string => `_svc_words() {
  local words=''
  case "$1" in
${branches(commands)}
  esac
  printf '%s' "$words"
}`

/** Options follow the longest command that the words begin with. */
const bashScript = (commands: ReadonlyArray<CompletedCommand>): string => `${wordsFunction(commands)}
_svc() {
  local current="\${COMP_WORDS[COMP_CWORD]}" found=''
  if ((COMP_CWORD > 2)); then found="$(_svc_words "\${COMP_WORDS[1]} \${COMP_WORDS[2]}")"; fi
  if [[ -z $found ]] && ((COMP_CWORD > 1)); then found="$(_svc_words "\${COMP_WORDS[1]}")"; fi
  if ((COMP_CWORD == 1)); then found="$(_svc_words '')"; fi
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -F _svc svc`

const zshScript = (commands: ReadonlyArray<CompletedCommand>): string => `#compdef svc
${wordsFunction(commands)}
_svc() {
  local found=''
  if ((CURRENT > 3)); then found="$(_svc_words "\${words[2]} \${words[3]}")"; fi
  if [[ -z $found ]] && ((CURRENT > 2)); then found="$(_svc_words "\${words[2]}")"; fi
  if ((CURRENT == 2)); then found="$(_svc_words '')"; fi
  if [[ -n $found ]]; then compadd -- \${=found}; else _files; fi
}
if [[ \${funcstack[1]} == _svc ]]; then _svc "$@"; else compdef _svc svc; fi`

/** A description in single quotes. */
const fishText = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const fishLines = ({ name, options, summary }: CompletedCommand): ReadonlyArray<string> => {
  const [first = "", second] = name.split(" ")
  const seen = second === undefined ? first : `${first}; and __fish_seen_subcommand_from ${second}`
  const offered =
    second === undefined
      ? `complete -c svc -f -n __fish_use_subcommand -a ${first} -d ${fishText(summary)}`
      : `complete -c svc -f -n '__fish_seen_subcommand_from ${first}; and test (count (commandline -opc)) -eq 2' -a ${second} -d ${fishText(summary)}`
  return [
    offered,
    ...options.map(
      (option) => `complete -c svc -n '__fish_seen_subcommand_from ${seen}' -l ${option.slice(2)}`
    )
  ]
}

const fishScript = (commands: ReadonlyArray<CompletedCommand>): string => {
  const groups = new Set(
    commands.flatMap(({ name }) => (name.includes(" ") ? (name.split(" ")[0] ?? []) : []))
  )
  return [
    ...[...groups].map((group) => `complete -c svc -f -n __fish_use_subcommand -a ${group}`),
    ...commands.flatMap(fishLines)
  ].join("\n")
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const
/** `svc completion`: what a shell reads to complete the words of `svc`. */
export const completionOf = (listed: ReadonlyArray<Listed>): Command => ({
  name: COMPLETION,
  help: helpOf(
    `svc completion <shell>: prints what makes a shell complete commands and options of svc.

  bash   source <(svc completion bash), in ~/.bashrc
  zsh    source <(svc completion zsh), in ~/.zshrc after compinit
  fish   svc completion fish > ~/.config/fish/completions/svc.fish`,
    []
  ),
  run: Effect.fnUntraced(function* ([shell = "", ...words]) {
    yield* readOptions({}, words)
    const known = SHELLS.find((name) => name === shell)
    if (known === undefined) return yield* usageFault(`the shell must be one of ${SHELLS.join(", ")}`)
    yield* Console.log(SCRIPTS[known](yield* completedCommands(listed)))
  })
})
