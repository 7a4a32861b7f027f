import { pathAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiExports,
  apiResourceSchemas,
  virtualStorageOf,
  type APIExport,
  type APIResourceSchema,
  type ExportedResource,
  type VirtualStorage,
} from '@multiplane/apis';
import type { InformerSource, Lister } from '@multiplane/client';
import type { BoundApi, ExportedApis } from './bound-apis.ts';
import { ExportsByIdentity, identityOf } from './exports-by-identity.ts';

/** The schema uids of an export by resource, and the export's identity. */
interface Offer {
  readonly identity: string;
  readonly schemas: ReadonlyMap<string, string>;
  /** Of resources that are not stored with their consumers. */
  readonly virtual: ReadonlyMap<string, VirtualStorage>;
}

/** Limit of cached offers. */
const maxOffers = 4096;

/** The APIs that APIExports of all shards offer, by identity and by name. */
export class ExportedSchemas implements ExportedApis {
  readonly #exports: Lister<APIExport>;
  readonly #byIdentity: ExportsByIdentity;
  readonly #schemas: Lister<APIResourceSchema>;
  readonly #offers = new Map<string, Offer>();
  state = 0;
  isSynced = false;

  constructor(modules: { /** Informers over all shards. */ readonly informers: InformerSource }) {
    const exports = modules.informers.informer<APIExport>(apiExports);
    const schemas = modules.informers.informer<APIResourceSchema>(apiResourceSchemas);
    this.#exports = exports;
    const synced = (): void => void (this.isSynced = true);
    // An informer that ends before knows nothing more.
    exports.synced.then(synced, () => undefined);
    this.#schemas = schemas;
    this.#byIdentity = new ExportsByIdentity({ exports });
    const changed = (): void => {
      this.state++;
      this.#offers.clear();
    };
    exports.addHandlers({ added: changed, updated: changed, deleted: changed, onlyInvalidates: true });
    // Schemas are immutable, but one can be deleted and recreated under the same name.
    schemas.addHandlers({ added: changed, deleted: changed, onlyInvalidates: true });
  }

  exportsOf(identity: string): { readonly cluster: LogicalClusterName; readonly name: string }[] {
    return this.#byIdentity.of(identity).map(({ reference }) => reference);
  }

  offeredSchema({ binding, bound }: BoundApi): string | undefined {
    const { exportCluster, exportName } = binding;
    if (exportCluster === undefined) return undefined;
    const offer = this.#offerOf(exportCluster as LogicalClusterName, exportName);
    return offer.identity === bound.schema.identityHash
      ? offer.schemas.get(keyOf(bound.group, bound.resource))
      : undefined;
  }

  virtualStorage({ binding, bound }: BoundApi): VirtualStorage | undefined {
    const { exportCluster, exportName } = binding;
    if (exportCluster === undefined) return undefined;
    const offer = this.#offerOf(exportCluster as LogicalClusterName, exportName);
    return offer.identity === bound.schema.identityHash
      ? offer.virtual.get(keyOf(bound.group, bound.resource))
      : undefined;
  }

  virtualStorageOf(identity: string, group: string, resource: string): VirtualStorage | undefined {
    for (const { reference } of this.#byIdentity.of(identity)) {
      const offer = this.#offerOf(reference.cluster, reference.name);
      const key = keyOf(group, resource);
      if (offer.schemas.has(key)) return offer.virtual.get(key);
    }
    return undefined;
  }

  /** The schema of the first export with the identity that has the resource. */
  schemaOf(identity: string, group: string, resource: string): DeepReadonly<APIResourceSchema> | undefined {
    for (const { reference, object } of this.#byIdentity.of(identity)) {
      const offered = object.spec?.resources?.find((one) => one.name === resource && (one.group ?? '') === group);
      const schema =
        offered === undefined ? undefined : this.#schemas.get({ ...reference, namespace: '', name: offered.schema });
      if (schema !== undefined) return schema;
    }
    return undefined;
  }

  #offerOf(cluster: LogicalClusterName, name: string): Offer {
    const key = `${cluster}/${name}`;
    let offer = this.#offers.get(key);
    if (offer === undefined) {
      offer = this.#makeOffer(cluster, name);
      this.#offers.set(key, offer);
      if (this.#offers.size > maxOffers) this.#offers.delete(this.#offers.keys().next().value as string);
    }
    return offer;
  }

  #makeOffer(cluster: LogicalClusterName, name: string): Offer {
    const object = this.#exports.get({ cluster, namespace: '', name });
    const schemas = new Map<string, string>();
    const virtual = new Map<string, VirtualStorage>();
    for (const exported of object?.spec?.resources ?? []) {
      const { name: resource, group = '', schema } = exported;
      const key = keyOf(group, resource);
      const uid = this.#schemas.get({ cluster, namespace: '', name: schema })?.metadata.uid;
      if (uid !== undefined) schemas.set(key, uid);
      const storage = object === undefined ? undefined : virtualStorageIn(object, cluster, exported);
      if (storage !== undefined) virtual.set(key, storage);
    }
    return { identity: object === undefined ? '' : identityOf(object), schemas, virtual };
  }
}

const keyOf = (group: string, resource: string): string => `${group}/${resource}`;

/** Undefined: the objects of the exported resource are stored with its consumers. */
export function virtualStorageIn(
  object: DeepReadonly<APIExport>,
  cluster: LogicalClusterName,
  exported: DeepReadonly<ExportedResource>,
): VirtualStorage | undefined {
  const virtual = virtualStorageOf(exported);
  if (virtual === undefined) return undefined;
  const { name = '', annotations = {} } = object.metadata;
  const { apiGroup = '', kind, name: slice } = virtual.reference;
  return {
    export: { cluster, name, path: annotations[pathAnnotation] ?? cluster },
    exportIdentity: identityOf(object),
    identityHash: virtual.identityHash ?? '',
    reference: { apiGroup, kind, name: slice },
  };
}
