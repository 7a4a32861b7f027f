import { deepFreeze, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { formatOf, writtenFormat } from './formats.ts';
import {
  ARRAY,
  BOOLEAN,
  INTEGER,
  NUMBER,
  OBJECT,
  SchemaNode,
  STRING,
  UNKNOWN_TYPE,
  typeBits,
  type Combinators,
  type PatchRules,
} from './schema-node.ts';

/** Finds the definition behind a `$ref`; undefined: there is none. */
export type ResolveReference = (reference: string) => JsonObject | undefined;

export interface SchemaCompilerOptions {
  /**
   * `custom`: an openAPIV3Schema of a definition, objects without known fields lose everything that is unknown.
   * `built-in`: a component of a published OpenAPI document, objects without known fields are free of form.
   */
  readonly origin: 'built-in' | 'custom';
  readonly resolve?: ResolveReference | undefined;
  /**
   * Defaults are validated: values of int-or-string places have the type that was written, if any, no value fits a type that
   * does not exist, and formats are those that were written.
   */
  readonly isForDefaults?: boolean | undefined;
}

/**
 * Turns schema documents into {@link SchemaNode} trees.
 *
 * One walk over the document makes one node per place. Leaves that say nothing but their type are one shared node
 * each. A definition behind `$ref` is compiled once per compiler and shared by all that refer to it, itself included:
 * its node is registered before its content is compiled, so recursion ends there. A reference with siblings
 * (`allOf: [$ref]` beside a default, as Kubernetes publishes them) becomes a copy of the definition's node that the
 * siblings override; the copy is made when all definitions are complete. At last the flags that let a walk skip
 * subtrees are raised from the leaves to the roots until nothing changes.
 */
export class SchemaCompiler {
  readonly #options: SchemaCompilerOptions;
  readonly #definitions = new Map<string, SchemaNode>();
  readonly #leaves = new Map<string, SchemaNode>();
  /** Nodes of the compilation at work, in the order of their creation: parents before children. */
  #created: SchemaNode[] = [];
  #copies: { node: SchemaNode; definition: SchemaNode; override: (node: SchemaNode) => void }[] = [];

  constructor(options: SchemaCompilerOptions) {
    this.#options = options;
  }

  compile(source: JsonObject): SchemaNode {
    this.#created = [];
    this.#copies = [];
    const root = this.#node(source);
    for (const { node, definition, override } of this.#copies) {
      Object.assign(node, definition);
      override(node);
    }
    this.#raiseFlags();
    this.#created = [];
    this.#copies = [];
    return root;
  }

  #new(): SchemaNode {
    const node = new SchemaNode();
    this.#created.push(node);
    return node;
  }

  #node(source: JsonObject): SchemaNode {
    const reference = referenceOf(source);
    if (reference !== undefined) return this.#reference(reference, source);
    const leaf = leafKey(source);
    if (leaf === undefined) {
      const node = this.#new();
      this.#fill(node, source);
      return node;
    }
    let shared = this.#leaves.get(leaf);
    if (shared === undefined) {
      shared = this.#new();
      this.#fill(shared, source);
      if (this.#leaves.size < 100) this.#leaves.set(leaf, shared);
    }
    return shared;
  }

  #reference(reference: string, source: JsonObject): SchemaNode {
    let definition = this.#definitions.get(reference);
    if (definition === undefined) {
      definition = this.#new();
      this.#definitions.set(reference, definition);
      const content = this.#options.resolve?.(reference);
      if (content === undefined) throw new Error(`schema refers to ${reference}, which does not exist`);
      this.#fill(definition, content);
      definition.definition = reference.slice(reference.lastIndexOf('/') + 1);
    }
    const patch = patchRules(source);
    const value = source['default'];
    if (patch === undefined && value === undefined && source['nullable'] !== true) return definition;
    const node = this.#new();
    this.#copies.push({
      node,
      definition,
      override: (copy) => {
        if (patch !== undefined) copy.patch = patch;
        // Published documents carry `default: {}` even where the definition is a string (Time).
        if (value !== undefined && fitsTypes(value, copy.types)) copy.default = value;
        if (source['nullable'] === true) copy.nullable = true;
      },
    });
    return node;
  }

  #fill(node: SchemaNode, source: JsonObject): void {
    const intOrString = source['x-kubernetes-int-or-string'] === true || source['format'] === 'int-or-string';
    const type = typeof source['type'] === 'string' ? source['type'] : '';
    const isForDefaults = this.#options.isForDefaults === true;
    const isEither = intOrString && !isForDefaults;
    node.typeText = isEither ? 'integer,string' : type;
    node.types = isEither ? INTEGER | STRING : typeBit(type);
    if (isForDefaults && node.types === 0 && type !== '') node.types = UNKNOWN_TYPE;
    node.nullable = source['nullable'] === true;
    const format = text(source['format']);
    node.format = intOrString ? undefined : isForDefaults ? writtenFormat(format) : formatOf(format, type);
    node.preserve = source['x-kubernetes-preserve-unknown-fields'] === true;
    node.embedded = source['x-kubernetes-embedded-resource'] === true;
    node.hasEmbedded = node.embedded;
    node.patch = patchRules(source);
    const value = source['default'];
    if (value !== undefined && value !== null) node.default = value;

    const properties = source['properties'];
    if (isJsonObject(properties)) {
      const map = new Map<string, SchemaNode>();
      for (const name of Object.keys(properties)) {
        const property = properties[name];
        if (isJsonObject(property)) map.set(name, this.#node(property));
      }
      // Of a built-in kind it is a struct without fields.
      if (map.size > 0 || this.#options.origin === 'built-in') node.properties = map;
    }
    const additional = source['additionalProperties'];
    if (isJsonObject(additional)) node.additional = this.#node(additional);
    else if (typeof additional === 'boolean') node.additionalBoolean = additional;
    if (isJsonObject(source['items'])) node.items = this.#node(source['items']);
    if (Array.isArray(source['required']) && source['required'].length > 0) {
      node.required = source['required'].filter((name) => typeof name === 'string');
    }
    this.#fillRules(node, source);
    if (this.#options.origin === 'built-in') freeOfForm(node);
  }

  #fillRules(node: SchemaNode, source: JsonObject): void {
    if (hasAny(source, 'minimum', 'maximum', 'multipleOf')) {
      node.numbers = {
        minimum: limit(source['minimum'], -Infinity),
        exclusiveMinimum: source['exclusiveMinimum'] === true,
        maximum: limit(source['maximum'], Infinity),
        exclusiveMaximum: source['exclusiveMaximum'] === true,
        multipleOf: source['multipleOf'] === undefined ? undefined : limit(source['multipleOf'], 1),
      };
    }
    if (hasAny(source, 'minLength', 'maxLength', 'pattern')) {
      node.strings = {
        minLength: limit(source['minLength'], 0),
        maxLength: limit(source['maxLength'], Infinity),
        pattern: text(source['pattern']),
      };
    }
    if (hasAny(source, 'minItems', 'maxItems', 'minProperties', 'maxProperties')) {
      node.sizes = {
        minItems: limit(source['minItems'], 0),
        maxItems: limit(source['maxItems'], Infinity),
        minProperties: limit(source['minProperties'], 0),
        maxProperties: limit(source['maxProperties'], Infinity),
      };
    }
    const enumeration = source['enum'];
    if (Array.isArray(enumeration) && enumeration.length > 0) {
      node.enumeration = enumeration;
      if (enumeration.length > shortEnumeration)
        node.enumeratedTexts = new Set(enumeration.filter((value) => typeof value === 'string'));
    }
    const listType = source['x-kubernetes-list-type'];
    if (listType === 'set' || listType === 'map') {
      node.listType = listType;
      node.hasUniqueLists = true;
    }
    node.uncorrelated = listType !== 'map';
    const mapKeys = source['x-kubernetes-list-map-keys'];
    if (Array.isArray(mapKeys)) node.listMapKeys = mapKeys.filter((key) => typeof key === 'string');
    const rules = source['x-kubernetes-validations'];
    node.hasRules = Array.isArray(rules) && rules.length > 0;

    const combinators: Combinators = {
      anyOf: this.#nodes(source['anyOf']),
      oneOf: this.#nodes(source['oneOf']),
      allOf: this.#nodes(source['allOf']),
      not: isJsonObject(source['not']) ? this.#node(source['not']) : undefined,
    };
    if (
      combinators.not !== undefined ||
      combinators.anyOf.length + combinators.oneOf.length + combinators.allOf.length > 0
    ) {
      node.combinators = combinators;
      node.hasExclusions = combinators.not !== undefined || combinators.oneOf.length > 0;
    }
  }

  #nodes(source: Json | undefined): readonly SchemaNode[] {
    if (!Array.isArray(source) || source.length === 0) return none;
    return source.filter((item) => isJsonObject(item)).map((item) => this.#node(item));
  }

  #raiseFlags(): void {
    let changed = true;
    while (changed) {
      changed = false;
      for (let index = this.#created.length - 1; index >= 0; index--) {
        if (raise(this.#created[index] as SchemaNode)) changed = true;
      }
    }
  }
}

const none: readonly SchemaNode[] = [];
/** Up to this length a scan is faster than a set. */
const shortEnumeration = 16;

/** True when a flag of the node was newly set because a child has it. */
function raise(node: SchemaNode): boolean {
  const before = flags(node);
  const take = (child: SchemaNode): void => {
    if (child.hasUniqueLists) node.hasUniqueLists = true;
    if (child.hasEmbedded) node.hasEmbedded = true;
    if (child.hasRules) node.hasRules = true;
    if (child.hasExclusions) node.hasExclusions = true;
  };
  if (node.properties !== undefined) for (const child of node.properties.values()) take(child);
  if (node.additional !== undefined) take(node.additional);
  if (node.items !== undefined) take(node.items);
  if (node.combinators !== undefined && !node.hasExclusions) {
    const { anyOf, allOf } = node.combinators;
    node.hasExclusions = [...anyOf, ...allOf].some((child) => child.hasExclusions);
  }
  return flags(node) !== before;
}

function flags(node: SchemaNode): number {
  return Number(node.hasUniqueLists) + Number(node.hasEmbedded) + Number(node.hasRules) + Number(node.hasExclusions);
}

/** Objects of built-in kinds that name no field at all hold anything (RawExtension, FieldsV1, JSON). */
function freeOfForm(node: SchemaNode): void {
  const structured =
    node.properties !== undefined ||
    node.additional !== undefined ||
    node.items !== undefined ||
    node.additionalBoolean === false;
  if (!structured && (node.types === OBJECT || node.types === 0)) node.preserve = true;
}

/** An empty one is none, as in Kubernetes' structural schemas: definitions are refused for it after their defaults are checked. */
const isReference = (reference: Json | undefined): reference is string =>
  typeof reference === 'string' && reference !== '';

/** The `$ref` of a schema, direct or as the only member of `allOf`. */
function referenceOf(source: JsonObject): string | undefined {
  if (isReference(source['$ref'])) return source['$ref'];
  const all = source['allOf'];
  if (!Array.isArray(all) || all.length !== 1 || !isJsonObject(all[0])) return undefined;
  return isReference(all[0]['$ref']) ? all[0]['$ref'] : undefined;
}

/** A key for schemas that say nothing but their type (and a format); undefined for all others. */
function leafKey(source: JsonObject): string | undefined {
  for (const key of Object.keys(source)) {
    if (key !== 'type' && key !== 'format' && key !== 'description' && key !== 'title' && key !== 'example')
      return undefined;
  }
  return `${text(source['type'])} ${text(source['format'])}`;
}

function patchRules(source: JsonObject): PatchRules | undefined {
  const strategy = text(source['x-kubernetes-patch-strategy']);
  const mergeKey = text(source['x-kubernetes-patch-merge-key']);
  if (strategy === '' && mergeKey === '') return undefined;
  return { strategies: strategy === '' ? [] : strategy.split(','), mergeKey: mergeKey === '' ? undefined : mergeKey };
}

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const limit = (value: Json | undefined, otherwise: number): number =>
  typeof value === 'number' || typeof value === 'bigint' ? Number(value) : otherwise;
const typeBit = (type: string): number => (Object.hasOwn(typeBits, type) ? typeBits[type as keyof typeof typeBits] : 0);
const hasAny = (source: JsonObject, ...keys: string[]): boolean => keys.some((key) => source[key] !== undefined);

function fitsTypes(value: Json, types: number): boolean {
  return types === 0 || (types & typeBitsOf(value)) !== 0;
}

/** The bit of a value's JSON type; null has none. Whole numbers within int64 are integers. */
export function typeBitsOf(value: Json): number {
  switch (typeof value) {
    case 'string':
      return STRING;
    case 'boolean':
      return BOOLEAN;
    case 'number':
      return Number.isSafeInteger(value) ? INTEGER : NUMBER;
    case 'bigint':
      return value >= -(2n ** 63n) && value < 2n ** 63n ? INTEGER : NUMBER;
    default:
      return value === null ? 0 : Array.isArray(value) ? ARRAY : OBJECT;
  }
}

/** Source documents are kept and shared: they must not change. */
export function frozen(source: JsonObject): JsonObject {
  return deepFreeze(source) as JsonObject;
}
