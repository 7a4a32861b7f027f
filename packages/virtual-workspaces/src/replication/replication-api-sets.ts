import {
  clusterAnnotation,
  shardNameAnnotation,
  pathAnnotation,
  statusErrors,
  type DeepReadonly,
  type GroupVersionResource,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  cachedGroupVersionResource,
  resourceOfSlice,
  virtualResourceUnavailable,
  virtualStorageProblem,
  type APIExport,
  type APIResourceSchema,
  type CachedResource,
  type CachedResourceEndpointSlice,
  type ExportedResource,
} from '@multiplane/apis';
import { WatchHub } from '@multiplane/apiserver';
import { AmbiguousPathError, PathAndNameIndex, type Informer, type ObjectReference } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { cacheResourcePrefix } from '@multiplane/storage';
import { ApiSet } from '@multiplane/virtual-framework';
import type { ExportKey } from '../apiexport/export-bindings.ts';
import type { ConsumerBindings } from '../consumer-bindings.ts';
import { BoundConsumers } from './bound-consumers.ts';
import type { OpenedSource, OpenSource } from './cached-sources.ts';
import { ConsumerCache } from './consumer-cache.ts';
import { ConsumerObjects } from './consumer-entry.ts';
import { ExportConsumers } from './export-consumers.ts';
import { consumerPrefix, replicatedDefinitions, replicatedResources } from './replicated-resource.ts';

export interface ReplicationApiSetsOptions {
  /** Shard of CachedResources that carry no shard: of this process's own shard. */
  readonly ownShard: string;
}

export interface ReplicationApiSetsModules {
  /** Of all shards. */
  readonly slices: Informer<CachedResourceEndpointSlice>;
  readonly cachedResources: Informer<CachedResource>;
  readonly exports: Informer<APIExport>;
  readonly schemas: Informer<APIResourceSchema>;
  /** Of this shard: the consumers. */
  readonly bindings: ConsumerBindings;
  /** Of this shard; called when the first namespaced resource is served. */
  readonly namespaces: () => Informer;
  readonly openSource: OpenSource;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Which slice, and which of the exports that refer to it: `<cluster>/<slice>[:<export identity>]`. */
export interface SliceKey {
  readonly cluster: LogicalClusterName;
  readonly name: string;
  readonly identity: string | undefined;
}

export function sliceKeyOf(key: string): SliceKey {
  const slash = key.indexOf('/');
  const [name = '', identity] = key.slice(slash + 1).split(':', 2);
  return { cluster: key.slice(0, slash) as LogicalClusterName, name, identity };
}

/** All that one domain is made of. */
interface Domain {
  readonly exported: DeepReadonly<APIExport>;
  readonly schema: DeepReadonly<APIResourceSchema>;
  readonly resource: GroupVersionResource;
  readonly identity: string;
  readonly shard: string;
  readonly cluster: LogicalClusterName;
  readonly namespaced: boolean;
  readonly fingerprint: string;
}

interface Kept {
  readonly key: SliceKey;
  /** Logical cluster of the CachedResource. */
  readonly cachedIn: LogicalClusterName;
  readonly fingerprint: string;
  readonly set: ApiSet;
  readonly cache: ConsumerCache;
  readonly source: OpenedSource;
  readonly retirement: AbortController;
  readonly consumers: BoundConsumers;
  /** From then on the last known state is served, also while the cache server is away. */
  isLoaded: boolean;
  requests: number;
}

/** Domains that are kept without a request, per server. */
const maxKept = 1_000;
const decodedBytes = 32 * 1024 * 1024;
const loadMs = 5_000;

/**
 * The API sets of the replication virtual workspace. A domain is evaluated at each request from informers and made anew
 * when what it is made of changed; its watches end then. Sources (one copy of the objects per process) are shared by all
 * domains and consumers.
 */
export class ReplicationApiSets {
  readonly #options: ReplicationApiSetsOptions;
  readonly #modules: ReplicationApiSetsModules;
  readonly #resources: PathAndNameIndex<CachedResource>;
  readonly #kept = new Map<string, Kept>();
  readonly #decoded = new ConsumerObjects({ maxBytes: decodedBytes });
  readonly #hub: WatchHub;
  readonly #exportConsumers: ExportConsumers;

  constructor(options: ReplicationApiSetsOptions, modules: ReplicationApiSetsModules) {
    this.#options = options;
    this.#modules = modules;
    this.#resources = new PathAndNameIndex({ informer: modules.cachedResources });
    this.#hub = new WatchHub({}, { clock: modules.clock });
    this.#exportConsumers = new ExportConsumers({ informer: modules.bindings.informer });
    const check = (): void => this.#checkKept();
    for (const informer of [modules.slices, modules.exports, modules.schemas, modules.cachedResources] as Informer[])
      informer.addHandlers({
        added: (_object: unknown, _reference: ObjectReference, isInInitialList: boolean) => {
          if (!isInInitialList) check();
        },
        // Frequent: the counts of every CachedResource of all shards are updates.
        updated: (_object: unknown, _old: unknown, { cluster }: ObjectReference) => this.#checkKept(cluster),
        deleted: check,
      });
  }

  /** The export that a domain serves, for authorization; undefined: there is no such domain. */
  exportOf(key: SliceKey): ExportKey | undefined {
    const slice = this.#slice(key);
    const exported = slice === undefined ? undefined : this.#export(key, slice);
    return exported === undefined ? undefined : { cluster: key.cluster, name: exported.metadata.name ?? '' };
  }

  /** Serves a domain; nothing of one that does not exist. Throws 503 with the reason for one that cannot be served. */
  async serve(key: SliceKey, serve: (set: ApiSet) => Promise<void>): Promise<void> {
    const domain = this.#evaluate(key);
    if (domain === undefined) return serve(nothing);
    const kept = this.#get(key, domain);
    kept.requests += 1;
    try {
      await this.#loaded(kept);
      await serve(kept.set);
    } finally {
      kept.requests -= 1;
    }
  }

  async #loaded(kept: Kept): Promise<void> {
    const { cache } = kept.source;
    if (kept.isLoaded) return;
    const late = Promise.withResolvers<'late'>();
    const timer = this.#modules.clock.after(loadMs, () => late.resolve('late'));
    const loaded = Promise.all([cache.ready, kept.consumers.synced]);
    const result = await Promise.race([loaded, late.promise]).finally(() => timer.cancel());
    if (result === 'late')
      throw statusErrors.serviceUnavailable('the cached objects of the resource are not loaded yet', 1);
    kept.isLoaded = true;
  }

  #get(key: SliceKey, domain: Domain): Kept {
    const text = JSON.stringify(key);
    const known = this.#kept.get(text);
    if (known !== undefined && known.fingerprint === domain.fingerprint) return known;
    if (known !== undefined) this.#retire(text, known);
    const kept = this.#make(key, domain);
    this.#kept.set(text, kept);
    for (const [oldest, one] of this.#kept) {
      if (this.#kept.size <= maxKept) break;
      if (one.requests === 0) this.#retire(oldest, one);
    }
    return kept;
  }

  #make(key: SliceKey, domain: Domain): Kept {
    const { bindings, namespaces, openSource, clock, random } = this.#modules;
    const { exported, schema, resource, identity, shard, cluster, namespaced, fingerprint } = domain;
    const source = openSource(resource, identity);
    const retirement = new AbortController();
    const prefix = consumerPrefix(resource, identity);
    const exportKey = { cluster: key.cluster, name: exported.metadata.name ?? '' };
    const consumers = new BoundConsumers(
      { exportKey },
      { bindings, exportConsumers: this.#exportConsumers, ...(namespaced ? { namespaces: namespaces() } : {}) },
    );
    const sourcePrefix = `${cacheResourcePrefix({ ...resource, identity }, shard)}${cluster}/`;
    const cache = new ConsumerCache({ sourcePrefix, prefix, namespaced }, { source: source.cache, consumers, clock });
    const definitions = replicatedDefinitions(schema, resource, prefix, retirement.signal);
    const served = replicatedResources(definitions, {
      cache,
      decoded: this.#decoded,
      hub: this.#hub,
      clock,
      random,
    });
    return {
      key,
      cachedIn: cluster,
      fingerprint,
      set: new ApiSet(served),
      cache,
      source,
      retirement,
      consumers,
      isLoaded: false,
      requests: 0,
    };
  }

  #retire(text: string, kept: Kept): void {
    this.#kept.delete(text);
    kept.retirement.abort();
    void kept.cache.close();
    kept.source.release();
  }

  /** `changed`: where an object was updated, which concerns only domains that are made of objects of that logical cluster. */
  #checkKept(changed?: LogicalClusterName): void {
    for (const [text, kept] of this.#kept) {
      if (changed !== undefined && changed !== kept.key.cluster && changed !== kept.cachedIn) continue;
      let fingerprint: string | undefined;
      try {
        fingerprint = this.#evaluate(kept.key)?.fingerprint;
      } catch {
        // It cannot be served now: the next request says why.
      }
      if (fingerprint !== kept.fingerprint) this.#retire(text, kept);
    }
  }

  #slice({ cluster, name }: SliceKey): DeepReadonly<CachedResourceEndpointSlice> | undefined {
    return this.#modules.slices.get({ cluster, namespace: '', name });
  }

  /** The export of the slice's logical cluster that the key means. */
  #export(
    { cluster, name, identity }: SliceKey,
    { spec }: DeepReadonly<CachedResourceEndpointSlice>,
  ): DeepReadonly<APIExport> | undefined {
    const wanted = spec?.export;
    return this.#modules.exports.list({ cluster }).find((object) => {
      if (resourceOfSlice(object, name) === undefined) return false;
      if (identity !== undefined && object.status?.identityHash !== identity) return false;
      if (wanted === undefined) return true;
      const { path = '' } = wanted;
      const isHere = path === '' || path === cluster || path === object.metadata.annotations?.[pathAnnotation];
      return isHere && wanted.name === object.metadata.name;
    });
  }

  #evaluate(key: SliceKey): Domain | undefined {
    const slice = this.#slice(key);
    if (slice === undefined) return undefined;
    const exported = this.#export(key, slice);
    const entry = exported === undefined ? undefined : resourceOfSlice(exported, key.name);
    if (exported === undefined || entry === undefined) return undefined;
    const { path = '', name = '' } = slice.spec?.cachedResource ?? {};
    const cached = this.#cachedResource(path === '' ? key.cluster : path, name);
    const identity = cached?.status?.identityHash;
    if (cached === undefined || identity === undefined)
      // A slice arrives before the CachedResource of another shard, and a CachedResource before its identity.
      throw unserved(
        entry,
        exported,
        !hasFailed(cached ?? slice, cached === undefined ? 'ResourceValid' : 'IdentityValid'),
      );
    const schema = this.#modules.schemas.get({ cluster: key.cluster, namespace: '', name: entry.schema });
    if (virtualStorageProblem(entry, schema, cached) !== undefined || schema?.spec === undefined)
      throw unserved(entry, exported, false);
    const { annotations = {} } = cached.metadata;
    const resource = cachedGroupVersionResource(cached);
    const shard = annotations[shardNameAnnotation] ?? this.#options.ownShard;
    const cluster = (annotations['kcp.io/cluster'] ?? key.cluster) as LogicalClusterName;
    const namespaced = schema.spec.scope === 'Namespaced';
    const fingerprint = JSON.stringify([
      exported.metadata.name,
      exported.status?.identityHash,
      schema.metadata.uid,
      identity,
      resource,
      shard,
      cluster,
    ]);
    return { exported, schema, resource, identity, shard, cluster, namespaced, fingerprint };
  }

  #cachedResource(path: string, name: string): DeepReadonly<CachedResource> | undefined {
    try {
      return this.#resources.byPathAndName(path, name);
    } catch (error) {
      if (error instanceof AmbiguousPathError) return undefined;
      throw error;
    }
  }
}

const nothing = new ApiSet([]);

const hasFailed = ({ status }: DeepReadonly<CachedResource | CachedResourceEndpointSlice>, wanted: string): boolean =>
  status?.conditions?.some((condition) => condition.type === wanted && condition.status === 'False') ?? false;

function unserved(
  { group = '', name }: DeepReadonly<ExportedResource>,
  { metadata }: DeepReadonly<APIExport>,
  mayRecover: boolean,
): Error {
  const { [pathAnnotation]: path, [clusterAnnotation]: cluster = '' } = metadata.annotations ?? {};
  const exported = { path: path ?? cluster, name: metadata.name ?? '' };
  return virtualResourceUnavailable({ group, resource: name }, exported, { mayRecover });
}
