import type { JsonValue } from "@svc/protocol/json/Json"
import type { SchemaAST } from "effect"

/**
 * A value of about the shape of a schema: every member there, texts and numbers that may break its bounds. Enough for a
 * body that a test has no better one for.
 */
export const sampleOf = (ast: SchemaAST.AST): JsonValue => {
  switch (ast._tag) {
    case "String":
    case "TemplateLiteral":
      return "sample"
    case "Number":
      return 1
    case "Boolean":
      return true
    case "Literal":
      return typeof ast.literal === "bigint" ? Number(ast.literal) : ast.literal
    case "Union":
      return ast.types[0] === undefined ? null : sampleOf(ast.types[0])
    case "Arrays":
      return [...ast.elements, ...ast.rest].slice(0, 1).map(sampleOf)
    case "Objects":
      return Object.fromEntries(
        ast.propertySignatures.map(({ name, type }) => [String(name), sampleOf(type)])
      )
    default:
      return null
  }
}
