import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { apiExports, apiResourceSchemas, type APIExport, type APIResourceSchema } from '@multiplane/apis';
import type { InformerSource, Lister } from '@multiplane/client';
import type { BoundApi, ExportedApis } from './bound-apis.ts';
import { ExportsByIdentity, identityOf } from './exports-by-identity.ts';

/** Uids of schemas by what they are of, and whose they are. */
interface Offer {
  readonly identity: string;
  readonly schemas: ReadonlyMap<string, string>;
}

/** Exports whose offer is kept at hand. */
const maxOffers = 4096;

/** What the exports of all shards offer, by their identity and by their name. */
export class ExportedSchemas implements ExportedApis {
  readonly #exports: Lister<APIExport>;
  readonly #byIdentity: ExportsByIdentity;
  readonly #schemas: Lister<APIResourceSchema>;
  readonly #offers = new Map<string, Offer>();
  state = 0;

  constructor(modules: { /** Of all shards. */ readonly informers: InformerSource }) {
    const exports = modules.informers.informer<APIExport>(apiExports);
    const schemas = modules.informers.informer<APIResourceSchema>(apiResourceSchemas);
    this.#exports = exports;
    this.#schemas = schemas;
    this.#byIdentity = new ExportsByIdentity({ exports });
    const changed = (): void => {
      this.state++;
      this.#offers.clear();
    };
    exports.addHandlers({ added: changed, updated: changed, deleted: changed, onlyForgets: true });
    // A schema never changes; one of the same name may take its place.
    schemas.addHandlers({ added: changed, deleted: changed, onlyForgets: true });
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

  /** Of several exports of one identity the first that has the resource. */
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
    for (const { name: resource, group = '', schema } of object?.spec?.resources ?? []) {
      const uid = this.#schemas.get({ cluster, namespace: '', name: schema })?.metadata.uid;
      if (uid !== undefined) schemas.set(keyOf(group, resource), uid);
    }
    return { identity: object === undefined ? '' : identityOf(object), schemas };
  }
}

const keyOf = (group: string, resource: string): string => `${group}/${resource}`;
