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
import type { FieldKind, FieldWrite } from './field-write.ts';

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

/** The path of the replicas in objects of a version; undefined: that version has no scale. */
export type ReplicasPath = (apiVersion: string) => string | undefined;

/**
 * Who owns the replicas, seen through the scale of an object (K4.8): its owners of `specReplicasPath` own
 * `spec.replicas` of the Scale, and what a write of the Scale makes of that is written back into the object's entries.
 */
export class ScaleFields {
  readonly #parent: Managed;
  readonly #write: FieldWrite;
  readonly #pathOf: ReplicasPath;
  /** Keys of the Scale's managers that stand for entries of the object, by the keys of those. */
  readonly #scaleKeys = new Map<string, string>();
  /** `managedFields` of the Scale. */
  readonly entries: readonly Json[];

  constructor(options: {
    readonly write: FieldWrite;
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

  /** The write as the Scale sees it. */
  get write(): FieldWrite {
    const { definition, cluster, subresource, fieldManager, signal } = this.#write;
    return {
      cluster,
      signal,
      subresource,
      fieldManager,
      definition: { ...definition, ...scaleVersion, ...scaleKind(definition) },
    };
  }

  /** `managedFields` of the object when those of the Scale are these. */
  toObject(scaleEntries: readonly DeepReadonly<Json>[] | undefined): JsonObject[] {
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

/** Entries that cannot be read are none. */
function decodedOrNone(object: DeepReadonly<KubeObject>): Managed {
  try {
    return decodeManagedFields(object.metadata.managedFields);
  } catch {
    return decodeManagedFields(undefined);
  }
}

/** Scale as a kind of its own, as far as ownership goes. */
function scaleKind({ schema }: FieldKind): Pick<FieldKind, 'origin' | 'schema' | 'subresources'> {
  const metadata = schema.typed.map?.fields.get('metadata') ?? struct({});
  return {
    origin: 'built-in',
    subresources: {},
    schema: { typed: struct({ apiVersion: text, kind: text, metadata, spec, status }), emptyObject: () => ({}) },
  };
}
