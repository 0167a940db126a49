import { encodeCursor, identifierCursor, numberCursor, textCursor } from "@svc/domain/engine/Cursor"
import { journalCursor } from "@svc/domain/engine/JournalCursor"
import { readTarget } from "@svc/domain/webhook/WebhookTarget"
import { decodeBase64Url, encodeBase64Url, isBase64Url } from "@svc/protocol/Base64Url"
import { formatMajorUnits, minorUnit } from "@svc/protocol/Currency"
import { commitmentOf, OPENING_BYTES, openingMatches } from "@svc/protocol/evidence/Commitment"
import { formatIdentifier, type IdentifierPrefix, isIdentifier } from "@svc/protocol/Identifier"
import { formatInstant, normalizeTimestamp, parseTimestamp } from "@svc/protocol/Timestamp"
import { Effect, Exit, Result } from "effect"
import { demand, type FuzzTarget, latin1Of, textOf } from "../FuzzTarget.ts"

const NANOS_PER_MILLISECOND = 1_000_000n

/** A timestamp that is taken is what `Date` makes of it, and is written as it was read. */
export const timestamps: FuzzTarget = {
  seeds: [
    "2026-11-29T18:00:00Z",
    "2000-02-29T23:59:59.123456789Z",
    "9999-12-31T00:00:00.1Z",
    "2026-02-30T00:00:00Z"
  ],
  words: [
    "-",
    ":",
    "T",
    "Z",
    "t",
    "z",
    "+00:00",
    ".",
    "60",
    "24",
    "31",
    "02",
    "00",
    "0000",
    "2000",
    "9999",
    "999999999"
  ],
  run: (input) => {
    const text = textOf(input)
    const instant = parseTimestamp(text)
    if (instant === undefined) return
    demand(formatInstant(instant) === normalizeTimestamp(text), "a timestamp is not written as it was read")
    demand(parseTimestamp(formatInstant(instant)) === instant, "a timestamp that was written is another one")
    const milliseconds = Date.parse(text.replace(/(\.\d{3})\d+Z$/u, "$1Z"))
    demand(
      BigInt(milliseconds) === instant / NANOS_PER_MILLISECOND,
      "a timestamp is another instant than Date's"
    )
  }
}

/** Amounts are integers, and are written with the digits of their currency. */
export const money: FuzzTarget = {
  seeds: ["5000 EUR", "5000 JPY", "1 BHD", "9007199254740991 CLF", "0 XXX"],
  words: ["EUR", "JPY", "KWD", "UYW", "XAU", "eur", " ", "-", "0", "1", "00"],
  run: (input) => {
    const [digits = "", code = ""] = latin1Of(input).split(" ")
    const exponent = minorUnit(code)
    if (exponent === undefined || !/^-?\d{1,40}$/u.test(digits)) return
    const amount = BigInt(digits)
    const written = formatMajorUnits(amount, exponent)
    demand(/^-?\d+(?:\.\d+)?$/u.test(written), "an amount is written as something else")
    demand((written.split(".")[1] ?? "").length === exponent, "an amount has other digits than its currency")
    demand(BigInt(written.replace(".", "")) === amount, "an amount is written as another one")
  }
}

const PREFIXES: ReadonlyArray<IdentifierPrefix> = [
  "org_",
  "mnd_",
  "aut_",
  "aps_",
  "evt_",
  "whe_",
  "dlv_",
  "key_",
  "psk_"
]

/** An identifier is of one kind at most, and has one way to be written. */
export const identifiers: FuzzTarget = {
  seeds: [
    "mnd_01kbcd2e3f4g5h6j7k8m9npqrs",
    "org_01jdxxxxxxxxxxxxxxxxxxxxxx",
    "evt_7zzzzzzzzzzzzzzzzzzzzzzzzz"
  ],
  words: [...PREFIXES, "i", "l", "o", "u", "Z", "8", "\n"],
  run: (input) => {
    const text = textOf(input)
    const kinds = PREFIXES.filter((prefix) => isIdentifier(prefix, text))
    demand(kinds.length <= 1, "an identifier is of two kinds")
    if (kinds.length === 1)
      demand(/^[a-z]{3}_[0-9a-z]{26}$/u.test(text), "an identifier has other characters")
    if (input.length < 16) return
    const milliseconds = Buffer.from(input).readUIntBE(0, 6)
    const made = formatIdentifier("mnd_", milliseconds, input.subarray(6, 16))
    demand(isIdentifier("mnd_", made), "an identifier that was made is none")
  }
}

/** Base64url has one way to be written, and openings match no commitment but their own. */
export const base64url: FuzzTarget = {
  seeds: ["cvQ2P1OuvyGVpcvdHWh2G-djv_bzsPy64Z3JMOLPY3E", "AA", "AAA", "AAAA", "_-8", ""],
  words: ["=", "+", "/", "-", "_", "A", "B", "\n", " "],
  run: (input) => {
    const text = latin1Of(input)
    const bytes = decodeBase64Url(text)
    demand((bytes !== undefined) === isBase64Url(text), "two readers differ on what is base64url")
    if (bytes !== undefined) {
      demand(encodeBase64Url(bytes) === text, "base64url is not written as it was read")
      demand(Buffer.from(text, "base64url").equals(bytes), "base64url is read otherwise than by the runtime")
    }
    demand(encodeBase64Url(input) === Buffer.from(input).toString("base64url"), "bytes are written otherwise")
    const opening = input.subarray(0, OPENING_BYTES)
    if (opening.length < OPENING_BYTES) {
      demand(!openingMatches(opening, text), "a short opening matches")
      return
    }
    const own = commitmentOf(opening)
    demand(openingMatches(opening, own), "an opening does not match its commitment")
    const rest = latin1Of(input.subarray(OPENING_BYTES))
    demand(openingMatches(opening, rest) === (rest === own), "an opening matches another commitment")
  }
}

const SCOPE = { organization: "org_01jdxxxxxxxxxxxxxxxxxxxxxx", list: "mandates" }
const OTHER_SCOPE = { ...SCOPE, list: "events" }

const given = <A>(read: Effect.Effect<A, unknown>): A | undefined => {
  const exit = Effect.runSyncExit(read)
  return Exit.isSuccess(exit) ? exit.value : undefined
}

/** A cursor is taken for the list that it was given for, as it was given, and for none else. */
export const cursors: FuzzTarget = {
  seeds: [
    JSON.stringify({ after: "mnd_01kbcd2e3f4g5h6j7k8m9npqrs", scope: SCOPE }),
    JSON.stringify({ after: 17, scope: SCOPE }),
    JSON.stringify({ after: `3.${"A".repeat(43)}`, scope: SCOPE }),
    JSON.stringify({ after: 17, scope: OTHER_SCOPE })
  ],
  words: [
    '"after":',
    '"scope":',
    JSON.stringify(SCOPE),
    "1e3",
    "0",
    "-1",
    "{",
    "}",
    ",",
    "3.",
    "9007199254740992"
  ],
  run: (input) => {
    // The text of a cursor, and what it decodes to: one of the two is nearly always out of form.
    for (const cursor of [latin1Of(input), encodeBase64Url(input)]) {
      const text = given(textCursor(SCOPE, cursor))
      const number = given(numberCursor(SCOPE, cursor))
      const identifier = given(identifierCursor(SCOPE, "mnd_", cursor))
      const journal = given(journalCursor(SCOPE, cursor))
      const after = text ?? number
      demand(text === undefined || number === undefined, "a cursor is both a text and a number")
      demand(identifier === undefined || identifier === text, "a cursor is another identifier")
      demand(journal === undefined || text !== undefined, "a cursor of a journal is no text")
      if (after === undefined) continue
      demand(encodeCursor(SCOPE, after) === cursor, "a cursor is not written as it was given")
      demand(
        given(textCursor(OTHER_SCOPE, cursor)) === undefined &&
          given(numberCursor(OTHER_SCOPE, cursor)) === undefined,
        "a cursor is taken for another list"
      )
    }
  }
}

/** An address that webhooks may go to says where it leads: no other reader finds another host in it. */
export const webhookTargets: FuzzTarget = {
  seeds: [
    "https://shop.example/webhooks",
    "https://shop.example:8443/a?b=c",
    "http://localhost:3000/x",
    "https://[::1]:4000/",
    "https://user@shop.example/",
    "https://0x7f.1/",
    "https://xn--bcher-kva.example/"
  ],
  words: [
    "https://",
    "http://",
    "//",
    "\\",
    "@",
    ":",
    "#",
    "?",
    "%2e",
    "localhost",
    "127.0.0.1",
    "[::ffff:127.0.0.1]",
    ".",
    "\t",
    "\u3002",
    "443",
    "65536",
    "1023"
  ],
  run: (input) => {
    const text = textOf(input)
    for (const loopbackAllowed of [false, true]) {
      const read = readTarget(text, { loopbackAllowed })
      if (Result.isFailure(read)) continue
      const url = new URL(text)
      demand(url.href === read.success.href, "a target is read otherwise than by the runtime")
      demand(
        url.username === "" && url.password === "" && url.hash === "",
        "a target has more than an address"
      )
      demand(text.toLowerCase().includes(url.hostname), "a target's host is not what is written")
      if (!loopbackAllowed) {
        demand(url.protocol === "https:", "a target is not https")
        demand(/[a-z]/u.test(url.hostname) && !url.hostname.startsWith("["), "a target is an address")
        demand(url.hostname !== "localhost", "a target is this machine")
      }
    }
  }
}
