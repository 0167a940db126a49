import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Console, Effect } from "effect"
import type { StartFault } from "../start/StartFault.ts"
import { COMMANDS } from "./CommandList.ts"
import { svc } from "./SvcCommand.ts"

const scriptFor = (shell: string) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    yield* Effect.provideService(svc(["completion", shell]).run, Console.Console, {
      ...console,
      log: (line: string) => void lines.push(line)
    })
    return lines.join("\n")
  })

/** Why a command does not start, where nothing is set. */
const faultOf = (words: ReadonlyArray<string>) =>
  Effect.flip(
    Effect.provideService(
      svc(words).run as Effect.Effect<unknown, StartFault>,
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnv({ env: {} })
    )
  )

/** What a shell offers for each list of words, the last of which is begun. One shell is asked for all of them. */
type Offers = (
  script: string,
  ...lists: ReadonlyArray<ReadonlyArray<string>>
) => ReadonlyArray<ReadonlyArray<string>>

const run = (shell: string, program: string) => {
  const { error, status, stderr, stdout } = spawnSync(shell, ["-c", program], { encoding: "utf8" })
  if (error !== undefined) throw error
  assert.deepStrictEqual([status, stderr], [0, ""])
  return stdout.split("=\n").map((offered) => offered.split("\n").filter((word) => word !== ""))
}

const quoted = (words: ReadonlyArray<string>): string => words.map((word) => `'${word}'`).join(" ")

const offersOfBash: Offers = (script, ...lists) => {
  const asked = lists.map(
    (words) =>
      `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`
  )
  return run("bash", `${script}\n${asked.join("; echo =; ")}`)
}

/** `compadd` needs the line editor: what it is given is what is offered. */
const offersOfZsh: Offers = (script, ...lists) => {
  const asked = lists.map((words) => `words=(${quoted(words)}); CURRENT=${words.length}; _svc`)
  const stubs = 'compdef() { :; }\ncompadd() { shift; print -l -- "$@"; }\n_files() { print a file; }'
  return run("zsh", `${stubs}\n${script}\n${asked.join("; echo =; ")}`)
}

const has = (shell: string) => spawnSync(shell, ["-c", "exit 0"]).status === 0

describe("svc completion", () => {
  for (const [shell, offersOf] of [
    ["bash", offersOfBash],
    ["zsh", offersOfZsh]
  ] as const) {
    it.effect.skipIf(!has(shell))(`completes commands, subcommands and options in ${shell}`, () =>
      Effect.gen(function* () {
        const [first = [], group, options, more, rotate = [], shells] = offersOf(
          yield* scriptFor(shell),
          ["svc", ""],
          ["svc", "signing-key", ""],
          ["svc", "doctor", ""],
          ["svc", "doctor", "--json", ""],
          ["svc", "api-key", "rotate", "--organization", "org_1", ""],
          ["svc", "completion", ""]
        )
        assert.includeMembers([...first], [...COMMANDS.map(({ name }) => name.split(" ")[0]!), "--version"])
        assert.deepStrictEqual(group, ["rotate", "withdraw", "list"])
        assert.deepStrictEqual(options, ["--webhooks", "--strict", "--json", "--help"])
        assert.deepStrictEqual(more, options)
        assert.includeMembers([...rotate], ["--api-key", "--overlap", "--expires-at"])
        assert.deepStrictEqual(shells, ["bash", "zsh", "fish", "--help"])
      })
    )
  }

  for (const [shell, offersOf, files] of [
    ["bash", offersOfBash, []],
    ["zsh", offersOfZsh, ["a file"]]
  ] as const) {
    it.effect.skipIf(!has(shell))(
      `offers values of options, and files where they are taken, in ${shell}`,
      () =>
        Effect.gen(function* () {
          const [states, redelivered, scopes, text, keys, evidence, begun, option = [], later] = offersOf(
            yield* scriptFor(shell),
            ["svc", "authorization", "list", "--organization", "org_1", "--state", ""],
            ["svc", "webhook-endpoint", "redeliver", "--state", ""],
            ["svc", "api-key", "create", "--scope", "read", "--scope", ""],
            ["svc", "api-key", "create", "--organization", ""],
            ["svc", "evidence", "verify", "ev.json", "--jwks", ""],
            ["svc", "evidence", "verify", ""],
            ["svc", "evidence", "diff", "a.json", "ev"],
            ["svc", "evidence", "replay", "a.json", "--"],
            ["svc", "evidence", "verify", "--jwks", "jwks.json", "ev"]
          )
          const known = ["RESERVED", "COMMITTED", "CANCELLED", "EXPIRED", "DENIED", "INDETERMINATE"]
          assert.sameMembers([...(states ?? [])], known)
          assert.deepStrictEqual(redelivered, ["exhausted", "delivered", "ended"])
          assert.deepStrictEqual(scopes, ["read", "write", "webhooks"])
          assert.deepStrictEqual(text, [])
          for (const offered of [keys, evidence, begun, later]) assert.deepStrictEqual(offered, [...files])
          assert.includeMembers([...option], ["--jwks", "--until"])
          assert.notInclude(option.join(" "), "@")
        })
    )
  }

  it.effect("offers no option as the value of another", () =>
    Effect.gen(function* () {
      const script = yield* scriptFor("bash")
      const offered = new Map(
        [...script.matchAll(/^ {4}'(.*)'\) words='(.*)' ;;$/gmu)].map(([, after = "", words = ""]) => [
          after,
          words
        ])
      )
      let valued = 0
      for (const { name } of COMMANDS) {
        const options = (offered.get(name) ?? "").split(" ").filter((word) => word.startsWith("--"))
        for (const option of options) {
          const fault = yield* Effect.option(faultOf([...name.split(" "), option]))
          if (fault._tag === "None" || !fault.value.line?.includes(`${option} has no value`)) continue
          valued += 1
          assert.notMatch(offered.get(`${name} ${option}`) ?? "--", /--/u, `svc ${name} ${option}`)
        }
      }
      assert.isAbove(valued, 60)
    })
  )

  it.effect("offers in bash what goes on with what is typed", () =>
    Effect.gen(function* () {
      const offered = offersOfBash(
        yield* scriptFor("bash"),
        ["svc", "mig"],
        ["svc", "api-key", "create", "--ex"]
      )
      assert.deepStrictEqual(offered, [["migrate"], ["--expires-at"]])
    })
  )

  it.effect("has every command and its options for fish", () =>
    Effect.gen(function* () {
      const lines = (yield* scriptFor("fish")).split("\n")
      for (const { name } of COMMANDS) {
        const word = name.split(" ").at(-1)!
        assert.isTrue(
          lines.some((line) => line.includes(` -a ${word} -d '`)),
          name
        )
      }
      assert.isTrue(lines.every((line) => line.startsWith("complete -c svc ")))
      const seen = "__fish_seen_subcommand_from api-key; and __fish_seen_subcommand_from rotate"
      assert.include(lines, `complete -c svc -n '${seen}' -l overlap -x`)
      const list = "__fish_seen_subcommand_from api-key; and __fish_seen_subcommand_from create"
      assert.include(lines, `complete -c svc -n '${list}' -l scope -x -a 'read write webhooks'`)
      const verify = "__fish_seen_subcommand_from evidence; and __fish_seen_subcommand_from verify"
      assert.include(lines, `complete -c svc -n '${verify}' -l jwks -r`)
    })
  )

  it.effect("offers no option that its command does not know", () =>
    Effect.gen(function* () {
      const offered = (yield* scriptFor("bash")).matchAll(/^ {4}'(.+)'\) words='(.*)' ;;$/gmu)
      const known = new Set(COMMANDS.map(({ name }) => name))
      for (const [, name = "", words = ""] of offered) {
        if (!known.has(name)) continue
        for (const option of words.split(" ").filter((word) => /^--(?!help$)/u.test(word))) {
          const { line } = yield* faultOf([...name.split(" "), option, "x"])
          assert.notInclude(line, "unknown option", `svc ${name}`)
        }
      }
    })
  )

  it.effect("knows no other shell", () =>
    Effect.gen(function* () {
      const fault = yield* faultOf(["completion", "csh"])
      assert.deepInclude(fault, { exitCode: 64, line: "the shell must be one of bash, zsh, fish" })
    })
  )
})
