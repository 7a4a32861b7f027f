import {
  apiVersionOf,
  asJson,
  isJsonObject,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestWork } from '@multiplane/component-base';
import { fieldAt, fieldNames, scalarText } from '../registry/codec/field-scanner.ts';
import type { ObjectReader } from '../registry/store/object-reader.ts';

/** Names the fields whose stored values no write changes unless admission admits it. */
export interface ProtectedFields {
  /** Paths with a leading dot, of objects in their storage version. */
  of(definition: ResourceDefinition): readonly string[];
}

export interface StoredFieldsModules {
  readonly protectedFields: ProtectedFields;
  readonly reader: ObjectReader;
  /** The object that is written or deleted, in its storage version; undefined: it is new. */
  readonly current: () => DeepReadonly<KubeObject> | undefined;
  readonly work: RequestWork;
}

/**
 * The protected fields in one attempt of a write. They are compared and kept in the storage version, where every write ends:
 * requests in another version, conversions that lose or rename a field, defaults of a newer schema and pruning change what a
 * client reads, but not what is stored. A protected field keeps its stored value unless admission admits another one.
 */
export class StoredFields {
  readonly #definition: ResourceDefinition;
  readonly #modules: StoredFieldsModules;
  readonly #admitted = new Map<string, Json | undefined>();
  #paths: readonly string[] = [];

  constructor(options: { readonly definition: ResourceDefinition }, modules: StoredFieldsModules) {
    this.#definition = options.definition;
    this.#modules = modules;
  }

  /**
   * Protects the fields that are protected now, and returns their paths. Admission calls it each time it runs: what it did not
   * see, because a scope came into force a moment later, is written as for an object without scopes.
   */
  protect(): readonly string[] {
    this.#admitted.clear();
    this.#paths = this.#modules.protectedFields.of(this.#definition);
    return this.#paths;
  }

  /** Whether the request has the storage version, so that a field of its object is the stored one. */
  get isStoredVersion(): boolean {
    return this.#modules.reader.isStoredVersion(this.#definition);
  }

  /** The value that is stored now. */
  before(path: string): Json | undefined {
    const current = this.#modules.current();
    return current === undefined ? undefined : fieldAt(asJson(current as KubeObject), path);
  }

  /** An object of the request as it would be stored. */
  async inStorage(object: DeepReadonly<KubeObject>): Promise<DeepReadonly<JsonObject>> {
    const { reader, work } = this.#modules;
    if (this.isStoredVersion) return asJson(object as KubeObject);
    return asJson(await reader.toStored(this.#definition, object as KubeObject, work));
  }

  /** The schema type of a field in the storage version: `string`, `integer` or `boolean`; undefined where it is unknown. */
  typeOf(path: string): string | undefined {
    const { storage, schema, schemaOf } = this.#definition;
    const stored = storage === undefined ? undefined : schemaOf?.(apiVersionOf(storage));
    let place: Json | undefined = (stored ?? schema).source;
    for (const name of fieldNames(path)) {
      const properties: Json | undefined = isJsonObject(place ?? null)
        ? (place as JsonObject)['properties']
        : undefined;
      place = properties !== undefined && isJsonObject(properties) ? properties[name] : undefined;
    }
    const type = place !== undefined && isJsonObject(place) ? place['type'] : undefined;
    return typeof type === 'string' ? type : undefined;
  }

  /** The value that the field gets with this write; undefined: none. */
  admit(path: string, value: Json | undefined): void {
    this.#admitted.set(path, value);
  }

  /** The object that is stored: the given one, or a copy of it with other values. */
  applyTo(stored: KubeObject): KubeObject {
    let result = asJson(stored);
    for (const path of this.#paths) {
      const wanted = this.#admitted.has(path) ? this.#admitted.get(path) : this.before(path);
      if (scalarText(fieldAt(result, path)) !== scalarText(wanted))
        result = withField(result, fieldNames(path), wanted);
    }
    return result as unknown as KubeObject;
  }
}

/** Sets or, for undefined, removes a field, in a copy of the objects on the path. */
export function withField(object: JsonObject, names: readonly string[], value: Json | undefined): JsonObject {
  const [name = '', ...rest] = names;
  const { [name]: old, ...others } = object;
  if (rest.length === 0) return value === undefined ? others : { ...object, [name]: value };
  const inner = old !== undefined && isJsonObject(old) ? old : {};
  const changed = withField(inner, rest, value);
  return old === undefined && value === undefined ? object : { ...object, [name]: changed };
}
