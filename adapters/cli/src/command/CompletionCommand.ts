import { API_KEY_SCOPES, IDENTITY_ALGORITHMS } from "@svc/domain/organization/Organization"
import { AuthorizationStateName } from "@svc/protocol/Authorization"
import { JournalEventType } from "@svc/protocol/Journal"
import { MandateStateName } from "@svc/protocol/Mandate"
import { Console, Effect } from "effect"
import { helpOf, SETTINGS_HEADING } from "../config/SettingsHelp.ts"
import { usageFault } from "../start/StartFault.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"
import { ENROLMENTS } from "./OrganizationCommands.ts"
import { REDELIVERED_STATES } from "./RedeliveryCommands.ts"

const COMPLETION = "completion"
const SHELLS = ["bash", "zsh", "fish"] as const

/** What stands for the names of files, and for a text that nothing is known of, in the scripts for bash and zsh. */
const FILES = "@files"
const TEXT = "@text"

/** A command and what may follow it. */
export interface CompletedCommand {
  readonly name: string
  readonly summary: string
  /** Such as `--limit`, in the order of its help; words that it takes without an option come first. */
  readonly options: ReadonlyArray<string>
  /** What may follow each option that takes a value. */
  readonly values: ReadonlyMap<string, ReadonlyArray<string>>
  /** Whether it takes files without an option. */
  readonly takesFiles: boolean
}

/** The options that a help text describes, and those of every command. */
const optionsIn = (help: string): ReadonlyArray<string> => [
  ...new Set([...(help.match(/--[a-z][a-z-]*[a-z]/gu) ?? []), "--help"])
]

/** Values of which an option takes one, by the option or by the command and the option. */
const CHOICES: Readonly<Record<string, ReadonlyArray<string>>> = {
  "mandate list --state": MandateStateName.literals,
  "authorization list --state": AuthorizationStateName.literals,
  "webhook-endpoint redeliver --state": REDELIVERED_STATES,
  "--type": JournalEventType.literals,
  "--scope": API_KEY_SCOPES,
  "--environment": ["test", "live"],
  "--passkey-enrolment": ENROLMENTS,
  "--identity-algorithm": IDENTITY_ALGORITHMS
}

/** Options that a help text names beside another of their kind, without a sign that a value follows. */
const NAMED_BESIDE: ReadonlySet<string> = new Set(["--organization", "--environment", "--subject"])

/** A sign that a value follows, such as `<id>`, or `seq=<number>`. */
const VALUE_SIGN = /(--[a-z][a-z-]*[a-z]) (?:seq=)?<([^>]*)>/gu

const valuesIn = (name: string, help: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const signs = new Map([...help.matchAll(VALUE_SIGN)].map(([, option = "", sign = ""]) => [option, sign]))
  const valued = optionsIn(help).filter((option) => signs.has(option) || NAMED_BESIDE.has(option))
  return new Map(
    valued.map((option) => {
      const isFile = /^(?:file|folder|place)/u.test(signs.get(option) ?? "")
      return [option, CHOICES[`${name} ${option}`] ?? CHOICES[option] ?? [isFile ? FILES : TEXT]]
    })
  )
}

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
        return {
          name,
          summary,
          options: [...shells, ...optionsIn(usage)],
          values: valuesIn(name, usage),
          takesFiles: /^svc [a-z -]+ <(?:file|earlier)/u.test(usage)
        }
      })
    )
  )

/** What may follow the words so far: by `""`, `organization`, `organization create` and `organization create --name`. */
const followers = (commands: ReadonlyArray<CompletedCommand>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const next = new Map<string, Set<string>>()
  const add = (after: string, word: string) => {
    next.set(after, (next.get(after) ?? new Set()).add(word))
  }
  for (const { name, options, takesFiles, values } of commands) {
    const [first = "", second] = name.split(" ")
    add("", first)
    if (second !== undefined) add(first, second)
    if (takesFiles) add(name, FILES)
    for (const option of options) add(name, option)
    for (const [option, offered] of values) for (const value of offered) add(`${name} ${option}`, value)
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
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" command='' found='' value=''
  if ((COMP_CWORD > 2)); then command="\${COMP_WORDS[1]} \${COMP_WORDS[2]}"; found="$(_svc_words "$command")"; fi
  if [[ -z $found ]] && ((COMP_CWORD > 1)); then command="\${COMP_WORDS[1]}"; found="$(_svc_words "$command")"; fi
  if ((COMP_CWORD == 1)); then found="$(_svc_words '')"; fi
  if [[ $previous == --* ]]; then value="$(_svc_words "$command $previous")"; fi
  found="\${value:-$found}"
  COMPREPLY=()
  if [[ $found == ${TEXT} ]]; then compopt +o default 2>/dev/null; return; fi
  if [[ $found == ${FILES}* && ( -n $value || $current != -* ) ]]; then return; fi
  found="\${found#${FILES}}"
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -F _svc svc`

const zshScript = (commands: ReadonlyArray<CompletedCommand>): string => `#compdef svc
${wordsFunction(commands)}
_svc() {
  local found='' command='' value='' previous="\${words[CURRENT - 1]}"
  if ((CURRENT > 3)); then command="\${words[2]} \${words[3]}"; found="$(_svc_words "$command")"; fi
  if [[ -z $found ]] && ((CURRENT > 2)); then command="\${words[2]}"; found="$(_svc_words "$command")"; fi
  if ((CURRENT == 2)); then found="$(_svc_words '')"; fi
  if [[ $previous == --* ]]; then value="$(_svc_words "$command $previous")"; fi
  found="\${value:-$found}"
  if [[ $found == ${TEXT} ]]; then return; fi
  if [[ $found == ${FILES}* ]] && [[ -n $value || \${words[CURRENT]} != -* ]]; then found=''; fi
  found="\${found#${FILES}}"
  if [[ -n $found ]]; then compadd -- \${=found}; else _files; fi
}
if [[ \${funcstack[1]} == _svc ]]; then _svc "$@"; else compdef _svc svc; fi`

/** A description in single quotes. */
const fishText = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

/** How fish is told what follows an option: nothing, a file, one of these words, or a text. */
const fishValue = (offered: ReadonlyArray<string> | undefined): string => {
  if (offered === undefined) return ""
  if (offered.includes(FILES)) return " -r"
  return offered.includes(TEXT) ? " -x" : ` -x -a '${offered.join(" ")}'`
}

const fishLines = ({ name, options, summary, values }: CompletedCommand): ReadonlyArray<string> => {
  const [first = "", second] = name.split(" ")
  const seen = second === undefined ? first : `${first}; and __fish_seen_subcommand_from ${second}`
  const offered =
    second === undefined
      ? `complete -c svc -f -n __fish_use_subcommand -a ${first} -d ${fishText(summary)}`
      : `complete -c svc -f -n '__fish_seen_subcommand_from ${first}; and test (count (commandline -opc)) -eq 2' -a ${second} -d ${fishText(summary)}`
  return [
    offered,
    ...options.map(
      (option) =>
        `complete -c svc -n '__fish_seen_subcommand_from ${seen}' -l ${option.slice(2)}${fishValue(values.get(option))}`
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
