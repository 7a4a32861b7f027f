import { clusterAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import { apiResourceSchemas, type APIExport, type APIResourceSchema } from '@multiplane/apis';
import type { InformerSource, Lister } from '@multiplane/client';
import type { OfferedResource } from './bound-status.ts';

/**
 * The resources of exports with their schemas, resolved once per version of an export for all of its bindings, until any
 * schema changes.
 */
export class OfferedResources {
  readonly #schemas: Lister<APIResourceSchema>;
  #cache = new WeakMap<DeepReadonly<APIExport>, readonly OfferedResource[]>();

  /** `globalInformers` have the schemas of all shards. */
  constructor({ globalInformers }: { readonly globalInformers: InformerSource }) {
    const schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
    const invalidate = (): void => void (this.#cache = new WeakMap());
    schemas.addHandlers({ added: invalidate, updated: invalidate, deleted: invalidate });
    this.#schemas = schemas;
  }

  /** In the order of the export; `missingSchema` is the name of the first schema that does not exist. */
  resolve(apiExport: DeepReadonly<APIExport>): readonly OfferedResource[] | { readonly missingSchema: string } {
    const cached = this.#cache.get(apiExport);
    if (cached !== undefined) return cached;
    const cluster = (apiExport.metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;
    const resources: OfferedResource[] = [];
    for (const exported of apiExport.spec?.resources ?? []) {
      const schema = this.#schemas.get({ cluster, namespace: '', name: exported.schema });
      if (schema?.spec === undefined) return { missingSchema: exported.schema };
      resources.push({ exported, schema });
    }
    this.#cache.set(apiExport, resources);
    return resources;
  }

  /** The resources of an export, if {@link resolve} has found them before. */
  cached(apiExport: DeepReadonly<APIExport>): readonly OfferedResource[] | undefined {
    return this.#cache.get(apiExport);
  }
}
