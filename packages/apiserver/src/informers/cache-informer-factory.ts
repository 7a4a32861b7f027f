import { type GroupVersionResource, type KubeObject, apiVersionOf } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Informer, InformerFactory, MetadataInformer } from '@multiplane/client';
import { type WatchCache, builtInPrefix } from '@multiplane/storage';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import { CacheInformer } from './cache-informer.ts';
import { CacheMetadataInformer } from './cache-metadata-informer.ts';

export interface CacheInformerFactoryModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly builtIn: readonly ResourceDefinition[];
}

/** Informers for code inside an API server, which all share its watch cache. */
export class CacheInformerFactory implements InformerFactory {
  readonly metadata: MetadataInformer;
  readonly #modules: CacheInformerFactoryModules;
  readonly #informers = new Map<string, Informer>();

  constructor(modules: CacheInformerFactoryModules) {
    this.#modules = modules;
    this.metadata = new CacheMetadataInformer(modules);
  }

  informer<T extends KubeObject = KubeObject>(resource: GroupVersionResource): Informer<T> {
    const key = `${apiVersionOf(resource)}/${resource.resource}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      const { cache, reader, builtIn } = this.#modules;
      const definition = builtIn.find(
        ({ group, version, resource: name }) =>
          group === resource.group && version === resource.version && name === resource.resource,
      );
      const prefix = definition?.storage?.prefix ?? builtInPrefix(resource.group, resource.resource);
      informer = new CacheInformer<KubeObject>(
        { prefix, definition, hasIdentities: definition?.storage === undefined },
        { cache, reader },
      );
      this.#informers.set(key, informer);
    }
    return informer as unknown as Informer<T>;
  }
}
