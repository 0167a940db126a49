/** A node of the OpenAPI document, which is plain JSON. */
export type Node = Readonly<Record<string, unknown>>

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The member of that name if it is an object, or else an empty object. */
export const nodeOf = (node: Node, name: string): Node => {
  const member = node[name]
  return isNode(member) ? member : {}
}

/** The members that are objects. */
export const nodesOf = (node: Node): ReadonlyArray<readonly [name: string, node: Node]> =>
  Object.entries(node).filter((entry): entry is [string, Node] => isNode(entry[1]))

/** The entries of a list that are objects. */
export const listOf = (node: Node, name: string): ReadonlyArray<Node> => {
  const member = node[name]
  return Array.isArray(member) ? member.filter(isNode) : []
}

export const textOf = (node: Node, name: string): string => {
  const member = node[name]
  return typeof member === "string" ? member : ""
}

/** The name of the component that a node refers to. */
export const refOf = (node: Node): string | undefined => {
  const ref = node.$ref
  return typeof ref === "string" ? ref.split("/").at(-1) : undefined
}
