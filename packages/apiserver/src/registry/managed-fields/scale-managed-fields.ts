import {
  type DeepReadonly,
  FieldSet,
  type Json,
  type JsonObject,
  type KubeObject,
  type Managed,
  type ManagedSet,
  type PathElement,
  type TypedSchema,
  apiVersionOf,
  decodeManagedFields,
  encodeManagedFields,
  fieldElement,
  managerIdentity,
  managerKey,
} from '@multiplane/apimachinery';
import type { FieldManagerKind, FieldManagerRequest } from './field-manager-request.ts';

const scaleVersion = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;
const replicas: readonly PathElement[] = [fieldElement('spec'), fieldElement('replicas')];
const replicasSet = FieldSet.of(replicas);

const numeric: TypedSchema = { scalar: 'numeric', list: undefined, map: undefined };
const text: TypedSchema = { scalar: 'string', list: undefined, map: undefined };
const struct = (fields: Readonly<Record<string, TypedSchema>>): TypedSchema => ({
  scalar: undefined,
  list: undefined,
  map: { atomic: false, fields: new Map(Object.entries(fields)), element: undefined },
});
const spec = struct({ replicas: numeric });
const status = struct({ replicas: numeric, selector: text });

/** The path of the replicas in a version; undefined: that version has no scale subresource. */
export type ReplicasPath = (apiVersion: string) => string | undefined;

/**
 * Maps ownership of the replicas between an object and its Scale (`ScaleHandler` of Kubernetes): managers of
 * `specReplicasPath` own `spec.replicas` of the Scale, and the entries of a written Scale are mapped back to the object.
 */
export class ScaleManagedFields {
  readonly #parent: Managed;
  readonly #write: FieldManagerRequest;
  readonly #pathOf: ReplicasPath;
  /** Keys of the Scale's managers by the keys of the object's managers that they represent. */
  readonly #scaleKeys = new Map<string, string>();
  /** `managedFields` of the Scale. */
  readonly entries: readonly Json[];

  constructor(options: {
    readonly write: FieldManagerRequest;
    readonly pathOf: ReplicasPath;
    readonly live: DeepReadonly<KubeObject>;
  }) {
    const { write, pathOf, live } = options;
    this.#write = write;
    this.#pathOf = pathOf;
    this.#parent = decodedOrNone(live);
    const managers = new Map<string, ManagedSet>();
    const times = new Map<string, string>();
    for (const [key, entry] of this.#parent.managers) {
      const path = this.#path(entry.apiVersion);
      if (path === undefined || !entry.set.has(path)) continue;
      const scaleKey = managerKey({ ...managerIdentity(key), apiVersion: apiVersionOf(scaleVersion) });
      this.#scaleKeys.set(key, scaleKey);
      managers.set(scaleKey, { set: replicasSet, apiVersion: apiVersionOf(scaleVersion), applied: entry.applied });
      const time = this.#parent.times.get(key);
      if (time !== undefined) times.set(scaleKey, time);
    }
    this.entries = encodeManagedFields({ managers, times });
  }

  /** The write as a write of the Scale. */
  get write(): FieldManagerRequest {
    const { definition, cluster, subresource, fieldManager, signal, work } = this.#write;
    return {
      cluster,
      signal,
      work,
      subresource,
      fieldManager,
      definition: { ...definition, ...scaleVersion, ...scaleKind(definition) },
    };
  }

  /** The object's `managedFields` after the Scale was written with these entries. */
  toParent(scaleEntries: readonly DeepReadonly<Json>[] | undefined): JsonObject[] {
    const scale = decodeManagedFields(scaleEntries);
    const managers = new Map<string, ManagedSet>();
    const times = new Map(this.#parent.times);
    for (const [key, entry] of this.#parent.managers) {
      const scaleKey = this.#scaleKeys.get(key);
      const path = this.#path(entry.apiVersion);
      const keeps = scaleKey === undefined || path === undefined || scale.managers.has(scaleKey);
      const set = keeps ? entry.set : entry.set.difference(FieldSet.of(path));
      if (!set.isEmpty) managers.set(key, { ...entry, set });
    }
    const { definition } = this.#write;
    const apiVersion = apiVersionOf(definition);
    const path = this.#path(apiVersion);
    const known = new Set(this.#scaleKeys.values());
    for (const [scaleKey, { set, applied }] of scale.managers) {
      if (path === undefined || known.has(scaleKey) || !set.has(replicas)) continue;
      const key = managerKey({ ...managerIdentity(scaleKey), apiVersion });
      const before = managers.get(key)?.set ?? FieldSet.empty;
      managers.set(key, { set: before.union(FieldSet.of(path)), apiVersion, applied });
      const time = scale.times.get(scaleKey);
      if (time !== undefined) times.set(key, time);
    }
    return encodeManagedFields({ managers, times }, definition.origin === 'custom');
  }

  #path(apiVersion: string): readonly PathElement[] | undefined {
    return this.#pathOf(apiVersion)
      ?.split('.')
      .map((name) => fieldElement(name));
  }
}

/** Entries that cannot be decoded are ignored. */
function decodedOrNone(object: DeepReadonly<KubeObject>): Managed {
  try {
    return decodeManagedFields(object.metadata.managedFields);
  } catch {
    return decodeManagedFields(undefined);
  }
}

/** The kind of the Scale, as the field manager needs it. */
function scaleKind({ schema }: FieldManagerKind): Pick<FieldManagerKind, 'origin' | 'schema' | 'subresources'> {
  const metadata = schema.typed.map?.fields.get('metadata') ?? struct({});
  return {
    origin: 'built-in',
    subresources: {},
    schema: { typed: struct({ apiVersion: text, kind: text, metadata, spec, status }), emptyObject: () => ({}) },
  };
}
