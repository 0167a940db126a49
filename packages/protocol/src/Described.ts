import type { Schema } from "effect"

/**
 * The schema with what the OpenAPI document says of it: its meaning, its unit, the rule that binds it to other members,
 * and examples that are accepted. Changes nothing about what is accepted.
 */
export const described = <S extends Schema.Top>(
  schema: S,
  description: string,
  ...examples: ReadonlyArray<S["Encoded"]>
): S => schema.annotate({ description, ...(examples.length === 0 ? {} : { examples }) }) as unknown as S
