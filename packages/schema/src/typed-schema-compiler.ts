import {
  type Json,
  type JsonObject,
  type ListType,
  type MapType,
  type TypedScalar,
  type TypedSchema,
  deducedSchema,
  isJsonObject,
  untypedAtomicSchema,
} from '@multiplane/apimachinery';
import { objectMetaSchema } from './object-meta-node.ts';
import type { ResolveReference } from './schema-compiler.ts';

export interface TypedSchemaOptions {
  /** `custom`: every root and embedded resource has apiVersion, kind and ObjectMeta, whatever its author wrote. */
  readonly origin: 'built-in' | 'custom';
  readonly resolve?: ResolveReference | undefined;
}

/** A schema while it is made: registered before its content is known, so that references to itself end there. */
interface Draft {
  scalar: TypedScalar | undefined;
  list: ListType | undefined;
  map: MapType | undefined;
  default?: Json | undefined;
}

/**
 * Makes of schema documents what server-side apply works with. Definitions behind `$ref` are made once per
 * compiler. A reference whose siblings say more (a default, another map type) is a shallow copy of the definition: the
 * copies are completed when all definitions are.
 */
export class TypedSchemaCompiler {
  readonly #options: TypedSchemaOptions;
  readonly #definitions = new Map<string, Draft>();
  #copies: (() => void)[] = [];

  constructor(options: TypedSchemaOptions) {
    this.#options = options;
  }

  compile(source: JsonObject): TypedSchema {
    this.#copies = [];
    const schema = this.#make(source, false, this.#options.origin === 'custom');
    for (const copy of this.#copies) copy();
    this.#copies = [];
    return schema;
  }

  #make(source: JsonObject, preserve: boolean, isResource = false): TypedSchema {
    const reference = referenceOf(source);
    // A quantity is a text or a number, and nothing else.
    if (reference?.endsWith('.Quantity') === true) return leaves.untyped;
    if (reference !== undefined) return this.#reference(reference, source);
    const scalar = scalarOf(source);
    if (scalar !== undefined && (source['default'] ?? null) === null) return leaves[scalar];
    const draft: Draft = { scalar: undefined, list: undefined, map: undefined };
    this.#fill(draft, source, preserve, isResource);
    return draft;
  }

  #reference(reference: string, source: JsonObject): TypedSchema {
    let definition = this.#definitions.get(reference);
    if (definition === undefined) {
      definition = { scalar: undefined, list: undefined, map: undefined };
      this.#definitions.set(reference, definition);
      const content = this.#options.resolve?.(reference);
      if (content === undefined) throw new Error(`schema refers to ${reference}, which does not exist`);
      this.#fill(definition, content, false, false);
    }
    const mapType = source['x-kubernetes-map-type'];
    const value = source['default'];
    if (mapType === undefined && value === undefined) return definition;
    const origin = definition;
    const copy: Draft = { scalar: undefined, list: undefined, map: undefined };
    this.#copies.push(() => {
      Object.assign(copy, origin);
      if (mapType !== undefined && origin.map !== undefined) copy.map = { ...origin.map, atomic: mapType === 'atomic' };
      if (value !== undefined && value !== null) copy.default = value;
    });
    return copy;
  }

  #fill(draft: Draft, source: JsonObject, inherited: boolean, isResource: boolean): void {
    const preserve = inherited || source['x-kubernetes-preserve-unknown-fields'] === true;
    const value = source['default'];
    if (value !== undefined && value !== null) draft.default = value;
    draft.scalar = scalarOf(source);
    if (draft.scalar !== undefined) return;
    const { type } = source;
    if (type !== 'array') draft.map = this.#map(source, preserve, isResource);
    if (type !== 'object') draft.list = this.#list(source, preserve);
    // Without a type anything goes.
    if (type !== 'array' && type !== 'object') draft.scalar = 'untyped';
  }

  #list(source: JsonObject, preserve: boolean): ListType {
    const { items } = source;
    const element = isJsonObject(items ?? null) ? this.#make(items as JsonObject, preserve) : untypedAtomicSchema;
    const type = source['x-kubernetes-list-type'];
    if (type === 'set') return { atomic: false, keys: [], element };
    if (type === 'map') {
      const keys = source['x-kubernetes-list-map-keys'];
      const names = Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
      if (names.length > 0) return { atomic: false, keys: names.toSorted(), element };
    }
    if (type === undefined && strategiesOf(source).includes('merge')) {
      const key = source['x-kubernetes-patch-merge-key'];
      return { atomic: false, keys: typeof key === 'string' ? [key] : [], element };
    }
    return { atomic: true, keys: [], element };
  }

  #map(source: JsonObject, preserve: boolean, isResource: boolean): MapType {
    const fields = new Map<string, TypedSchema>();
    const { properties } = source;
    if (isJsonObject(properties ?? null)) {
      const named = properties as JsonObject;
      for (const name of Object.keys(named)) {
        const property = named[name] as Json;
        if (isJsonObject(property)) fields.set(name, this.#make(property, preserve));
      }
    }
    if (isResource || (this.#options.origin === 'custom' && source['x-kubernetes-embedded-resource'] === true)) {
      fields.set('apiVersion', leaves.string);
      fields.set('kind', leaves.string);
      fields.set('metadata', objectMetaTyped());
    }
    return {
      atomic: source['x-kubernetes-map-type'] === 'atomic',
      fields,
      element: this.#others(source['additionalProperties'], preserve, fields.size > 0),
    };
  }

  /** What fields may hold that are not named. */
  #others(additional: Json | undefined, preserve: boolean, declared: boolean): TypedSchema | undefined {
    if (additional === undefined || additional === null) return preserve || !declared ? deducedSchema : undefined;
    if (isJsonObject(additional)) return this.#make(additional, preserve);
    return additional === true ? deducedSchema : undefined;
  }
}

/** Most places of most schemas are one of these. */
const leaves: Readonly<Record<TypedScalar, TypedSchema>> = {
  string: { scalar: 'string', list: undefined, map: undefined },
  numeric: { scalar: 'numeric', list: undefined, map: undefined },
  boolean: { scalar: 'boolean', list: undefined, map: undefined },
  untyped: { scalar: 'untyped', list: undefined, map: undefined },
};

/** What a place takes that can be nothing but a scalar. */
function scalarOf({ type, format }: JsonObject): TypedScalar | undefined {
  switch (type) {
    case 'integer':
    case 'number':
      return 'numeric';
    case 'boolean':
      return 'boolean';
    case 'string':
      // Other formats stand for types with texts of their own (times, quantities), whatever those look like.
      return format === undefined || format === '' || format === 'byte' ? 'string' : 'untyped';
    default:
      return undefined;
  }
}

let objectMeta: TypedSchema | undefined;

/** ObjectMeta as server-side apply sees it: compiled once. */
export function objectMetaTyped(): TypedSchema {
  objectMeta ??= new TypedSchemaCompiler({ origin: 'built-in' }).compile(objectMetaSchema);
  return objectMeta;
}

function referenceOf(source: JsonObject): string | undefined {
  const direct = source['$ref'];
  if (typeof direct === 'string') return direct;
  const all = source['allOf'];
  if (!Array.isArray(all) || all.length !== 1) return undefined;
  const [only] = all;
  const inner = only !== undefined && isJsonObject(only) ? only['$ref'] : undefined;
  return typeof inner === 'string' ? inner : undefined;
}

function strategiesOf(source: JsonObject): readonly string[] {
  const strategy = source['x-kubernetes-patch-strategy'];
  return typeof strategy === 'string' ? strategy.split(',') : [];
}
