import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { apiExports, apiResourceSchemas, type APIExport, type APIResourceSchema } from '@multiplane/apis';
import type { InformerSource, Lister } from '@multiplane/client';
import type { ExportedApis } from './bound-apis.ts';
import { ExportsByIdentity } from './exports-by-identity.ts';

/** What the exports of all shards offer, by their identity. */
export class ExportedSchemas implements ExportedApis {
  readonly #exports: ExportsByIdentity;
  readonly #schemas: Lister<APIResourceSchema>;

  constructor(modules: { /** Of all shards. */ readonly informers: InformerSource }) {
    const { informers } = modules;
    this.#exports = new ExportsByIdentity({ exports: informers.informer<APIExport>(apiExports) });
    this.#schemas = informers.informer<APIResourceSchema>(apiResourceSchemas);
  }

  exportsOf(identity: string): { readonly cluster: LogicalClusterName; readonly name: string }[] {
    return this.#exports.of(identity).map(({ reference }) => reference);
  }

  /** Of several exports of one identity the first that has the resource. */
  schemaOf(identity: string, group: string, resource: string): DeepReadonly<APIResourceSchema> | undefined {
    for (const { reference, object } of this.#exports.of(identity)) {
      const offered = object.spec?.resources?.find((one) => one.name === resource && (one.group ?? '') === group);
      const schema =
        offered === undefined ? undefined : this.#schemas.get({ ...reference, namespace: '', name: offered.schema });
      if (schema !== undefined) return schema;
    }
    return undefined;
  }
}
