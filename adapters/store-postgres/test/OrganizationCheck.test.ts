import { assert, describe, it } from "@effect/vitest"
import { statementsOf, unnarrowedScans, unnarrowedTables } from "./OrganizationCheck.ts"

const tables = { schema: 'a "b"', names: new Set(["stream", "event"]) }

const inSchema = (statement: string): string => statement.replaceAll("@", '"a ""b"""')

const faults = (statement: string) => unnarrowedTables(inSchema(statement), tables)

describe("unnarrowedTables", () => {
  it("passes statements that name the organization of each table", () => {
    for (const statement of [
      "select 1",
      "select * from @.migration",
      "select * from @.load_stream($1::text)",
      "select s.revision from @.stream s where s.organization = $1 and s.mandate = $2",
      "select * from @.stream where organization = $1",
      "SELECT * FROM @.stream AS s WHERE s.organization = $1",
      "select * from @.stream s join @.event e on e.organization = s.organization where s.organization = $1",
      "insert into @.event (organization, seq) values ($1, $2)",
      "insert into @.stream as held (organization, mandate) values ($1, $2) on conflict do nothing",
      "update @.stream s set seq = 1 where s.organization = $1",
      "select * from @.stream s where (s.organization, s.mandate) in (select 'org', 'mnd')",
      "delete from @.event e using @.stream s where e.organization = $1 and s.organization = $1"
    ]) {
      assert.deepStrictEqual(faults(statement), [], statement)
    }
  })

  it("finds each table that is read or written without it", () => {
    for (const [statement, found] of [
      ["select s.revision from @.stream s where s.mandate = $1", ["stream"]],
      ["select s.organization, s.mandate from @.stream s where s.mandate = $1", ["stream"]],
      [
        "select * from @.stream s join @.event e on e.mandate = s.mandate where s.organization = $1",
        ["event"]
      ],
      ["select * from @.stream s join @.event e on e.organization = s.organization", ["stream"]],
      ["select (select 1 from @.stream s) from @.stream s where s.organization = $1", ["stream"]],
      ["insert into @.event (mandate, seq) values ($1, $2)", ["event"]],
      ["update @.stream set organization = $1 where mandate = $2", ["stream"]],
      ["delete from @.event", ["event"]],
      ["select * from @.event e where e.text = 'e.organization = 1' -- e.organization = $1", ["event"]],
      ['select * from @."event" e where x.e.organization = $1', ["event"]]
    ] as const) {
      assert.deepStrictEqual(faults(statement), found, statement)
    }
  })
})

describe("statementsOf", () => {
  it("splits the body of a function into statements", () => {
    const body = inSchema("begin perform 1 from @.event e where e.organization = a; delete from @.event; end")
    const found = statementsOf(body).flatMap((statement) => unnarrowedTables(statement, tables))
    assert.deepStrictEqual(found, ["event"])
  })

  it("refuses a statement that is composed at run time", () =>
    assert.throws(() => statementsOf("begin EXECUTE format('delete from %I', p_table); end")))
})

describe("unnarrowedScans", () => {
  const scan = { Schema: 'a "b"', "Relation Name": "stream" }
  const narrowed = {
    ...scan,
    "Node Type": "Index Scan",
    "Index Name": "stream_pkey",
    "Index Cond": "((s.organization = $1) AND (s.mandate = $2))"
  }

  it("passes scans by organization, and those of system tables", () => {
    const migration = { "Node Type": "Seq Scan", Schema: 'a "b"', "Relation Name": "migration" }
    const catalog = {
      "Node Type": "Index Scan",
      "Index Name": "pg_class_oid_index",
      Schema: "pg_catalog",
      "Relation Name": "pg_class"
    }
    const plan = { "Node Type": "Nested Loop", Plans: [narrowed, migration, catalog] }
    assert.deepStrictEqual(unnarrowedScans(plan, tables), [])
  })

  it("finds other scans, however deep in the plan", () => {
    const byMandate = { ...narrowed, "Index Cond": "(s.mandate = $1)" }
    const whole = { ...scan, "Node Type": "Seq Scan" }
    const bitmap = {
      ...scan,
      "Node Type": "Bitmap Heap Scan",
      Plans: [
        { "Node Type": "Bitmap Index Scan", "Index Name": "stream_due", "Index Cond": "(next_due < 1)" }
      ]
    }
    const plan = {
      "Node Type": "Append",
      Plans: [{ "Node Type": "Limit", Plans: [byMandate] }, { "Node Type": "Sort", Plans: [whole] }, bitmap]
    }
    assert.deepStrictEqual(unnarrowedScans(plan, tables), ["stream_pkey", "Seq Scan of stream", "stream_due"])
  })
})
