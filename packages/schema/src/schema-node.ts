import type { Json } from '@multiplane/apimachinery';
import type { ValueFormat } from './formats.ts';

/** JSON types as bits, so that one test answers "does the value's type fit". */
export const typeBits = {
  string: 1,
  integer: 2,
  number: 4,
  boolean: 8,
  object: 16,
  array: 32,
} as const;

export const STRING = typeBits.string;
export const INTEGER = typeBits.integer;
export const NUMBER = typeBits.number;
export const BOOLEAN = typeBits.boolean;
export const OBJECT = typeBits.object;
export const ARRAY = typeBits.array;
/** A type that does not exist: no value has it. */
export const UNKNOWN_TYPE = 64;

/** Limits of numbers. `-Infinity`/`Infinity` stand for "none", so that the comparisons need no branches. */
export interface NumberRules {
  readonly minimum: number;
  readonly exclusiveMinimum: boolean;
  readonly maximum: number;
  readonly exclusiveMaximum: boolean;
  readonly multipleOf: number | undefined;
}

/** Limits of strings, counted in characters. */
export interface StringRules {
  readonly minLength: number;
  readonly maxLength: number;
  readonly pattern: string;
}

/** Limits of the number of items or properties. */
export interface SizeRules {
  readonly minItems: number;
  readonly maxItems: number;
  readonly minProperties: number;
  readonly maxProperties: number;
}

/** `allOf` and its relatives; only value rules, no structure. */
export interface Combinators {
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly allOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
}

/** What a strategic merge patch needs to know of a field. */
export interface PatchRules {
  readonly strategies: readonly string[];
  readonly mergeKey: string | undefined;
}

/**
 * One place of a compiled schema. All nodes have the same shape, and what few nodes have sits behind one optional
 * reference each: a node costs little memory and its reads stay monomorphic. Nodes are shared (leaves without rules,
 * definitions) and never change once the compiler has finished.
 */
export class SchemaNode {
  /** Bits of the allowed types; 0: any. */
  types = 0;
  /** The types as messages print them (`integer,string`). */
  typeText = '';
  nullable = false;
  format: ValueFormat | undefined = undefined;
  properties: ReadonlyMap<string, SchemaNode> | undefined = undefined;
  /** The schema of fields that `properties` does not name. */
  additional: SchemaNode | undefined = undefined;
  /** `additionalProperties` is a boolean: keys stay, but what they hold has no schema. */
  additionalBoolean: boolean | undefined = undefined;
  items: SchemaNode | undefined = undefined;
  required: readonly string[] | undefined = undefined;
  numbers: NumberRules | undefined = undefined;
  strings: StringRules | undefined = undefined;
  sizes: SizeRules | undefined = undefined;
  enumeration: readonly Json[] | undefined = undefined;
  /** The strings of a long enumeration. */
  enumeratedTexts: ReadonlySet<string> | undefined = undefined;
  combinators: Combinators | undefined = undefined;
  /** x-kubernetes-preserve-unknown-fields. */
  preserve = false;
  /** x-kubernetes-embedded-resource. */
  embedded = false;
  default: Json | undefined = undefined;
  /** x-kubernetes-list-type when it demands uniqueness. */
  listType: 'set' | 'map' | undefined = undefined;
  /** Items cannot be correlated between two versions of the list: its list-type is not map. */
  uncorrelated = false;
  listMapKeys: readonly string[] | undefined = undefined;
  patch: PatchRules | undefined = undefined;
  /** Name of the definition the node was compiled from; decoders' messages print it. */
  definition = '';
  /** This node or one below it is a list of type set or map. */
  hasUniqueLists = false;
  /** This node or one below it is an embedded resource. */
  hasEmbedded = false;
  /** This node or one below it carries x-kubernetes-validations. */
  hasRules = false;
  /** This node or one below it may fail because something fits (`oneOf`, `not`). */
  hasExclusions = false;

  /** The schema of the field `name`; undefined when the schema does not know it. */
  field(name: string): SchemaNode | undefined {
    return this.properties?.get(name) ?? this.additional;
  }
}
