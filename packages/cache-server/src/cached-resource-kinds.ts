import { createHash } from 'node:crypto';
import {
  clusterAnnotation,
  shardNameAnnotation,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  cachedGroupVersionResource,
  cachedResources,
  resourceKindAnnotation,
  resourceScopeAnnotation,
  type CachedResource,
} from '@multiplane/apis';
import type { Informer, InformerSource, ObjectReference } from '@multiplane/client';
import type { CachedKind, CacheScope, CachedKindSource } from './cached-kinds.ts';

/** What one CachedResource says about the objects it replicates. */
interface Source {
  readonly shard: string;
  readonly cluster: LogicalClusterName;
  readonly kind: CachedKind;
}

/**
 * The kinds that CachedResources replicate, each under the identity of its CachedResource.
 *
 * Lookup rules, as kcp's CRD lister of the cache server: over all logical clusters the identity is required; in one logical
 * cluster its CachedResource of that group and resource decides, and an identity must be that one's.
 */
export class CachedResourceKinds implements CachedKindSource {
  /** By `<group>/<resource>`. Holds one entry per CachedResource of all shards. */
  readonly #sources = new Map<string, Map<string, Source>>();
  /** Changes with every change of {@link #sources}. */
  #generation = 0;

  constructor(modules: { readonly informers: InformerSource }) {
    const informer: Informer<CachedResource> = modules.informers.informer<CachedResource>(cachedResources);
    informer.addHandlers({
      added: (object, reference) => this.#set(object, reference),
      updated: (object, old, reference) => {
        this.#delete(old, reference);
        this.#set(object, reference);
      },
      deleted: (old, reference) => this.#delete(old, reference),
    });
  }

  find(
    place: CacheScope,
    group: string,
    version: string,
    resource: string,
    identity: string | undefined,
  ): CachedKind | undefined {
    if (place.cluster === '*' && identity === undefined) return undefined;
    for (const source of this.#sources.get(`${group}/${resource}`)?.values() ?? []) {
      const { kind } = source;
      if (kind.version === version && (identity ?? kind.identity) === kind.identity && isAt(source, place)) return kind;
    }
    return undefined;
  }

  list(place: CacheScope): readonly CachedKind[] {
    if (place.cluster === '*') return [];
    const kinds: CachedKind[] = [];
    for (const sources of this.#sources.values())
      for (const source of sources.values()) if (isAt(source, place)) kinds.push(source.kind);
    return kinds;
  }

  hash(place: CacheScope): string {
    if (place.cluster === '*') return 'none';
    const hash = createHash('sha256');
    for (const kind of this.list(place)) hash.update(`${JSON.stringify(kind)}\n`);
    return `${this.#generation} ${hash.digest('base64')}`;
  }

  #set(object: DeepReadonly<CachedResource>, reference: ObjectReference): void {
    const { group, version, resource } = cachedGroupVersionResource(object);
    const { annotations = {} } = object.metadata;
    const identity = object.status?.identityHash;
    const kind = annotations[resourceKindAnnotation];
    if (identity === undefined || kind === undefined) return;
    const key = `${group}/${resource}`;
    let sources = this.#sources.get(key);
    if (sources === undefined) this.#sources.set(key, (sources = new Map<string, Source>()));
    sources.set(placeOf(object, reference), {
      shard: annotations[shardNameAnnotation] ?? '',
      cluster: reference.cluster,
      kind: {
        group,
        version,
        kind,
        resource,
        namespaced: annotations[resourceScopeAnnotation] === 'Namespaced',
        identity,
      },
    });
    this.#generation++;
  }

  #delete(object: DeepReadonly<CachedResource>, reference: ObjectReference): void {
    const { group, resource } = cachedGroupVersionResource(object);
    const key = `${group}/${resource}`;
    const sources = this.#sources.get(key);
    if (sources?.delete(placeOf(object, reference)) !== true) return;
    if (sources.size === 0) this.#sources.delete(key);
    this.#generation++;
  }
}

function isAt(source: Source, { shard, cluster }: CacheScope): boolean {
  return (shard === '*' || source.shard === shard) && (cluster === '*' || source.cluster === cluster);
}

const placeOf = ({ metadata }: DeepReadonly<KubeObject>, { cluster, name }: ObjectReference): string =>
  `${metadata.annotations?.[shardNameAnnotation] ?? ''}/${metadata.annotations?.[clusterAnnotation] ?? cluster}/${name}`;
