import { createHash } from 'node:crypto';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type CacheEntry, type WatchCache, builtInPrefix, listPrefix, objectKey } from '@multiplane/storage';
import { factsOf, scannedMetadata } from './entry-facts.ts';
import { metadataOnlyDefinition } from './metadata-only-definition.ts';
import { topLevelMember } from './metadata-scanner.ts';
import type { ObjectReader } from './object-reader.ts';
import type { ResourceResolver } from './resource-resolver.ts';

const definitionsPrefix = builtInPrefix('apiextensions.k8s.io', 'customresourcedefinitions');
/** How many definitions are kept ready; the others are made again when asked for (their schemas have a cache of their own). */
const maxReady = 4096;
/** Logical clusters whose discovery was asked for lately. */
const maxSurfaces = 512;

export interface DefinitionResolverModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly builtIn: readonly ResourceDefinition[];
  /** All served versions of a definition; `retired` aborts when they no longer hold. */
  readonly definitionsOf: (crd: DeepReadonly<KubeObject>, retired: AbortSignal) => readonly ResourceDefinition[];
}

interface Ready {
  revision: number;
  readonly fingerprint: string;
  readonly served: readonly ResourceDefinition[];
  readonly established: boolean;
}

interface Surface {
  readonly hash: string;
  readonly definitions: readonly ResourceDefinition[];
}

/**
 * What each logical cluster serves: the built-in kinds, then the CustomResourceDefinitions that lie in it (C3.4).
 *
 * Nothing but names is indexed: a definition's name is `<plural>.<group>`, so the key of the definition behind a path is known and
 * the cache is asked for it. What a definition means is made when first needed and kept until its *fingerprint* changes:
 * spec, accepted names, conditions and deletion, without what only bookkeeping touches. Fingerprints are taken off the
 * stored bytes. One subscription to all definitions of the shard retires what has changed in the moment of the change,
 * so the next request already sees the new state.
 */
export class DefinitionResolver implements ResourceResolver {
  readonly #modules: DefinitionResolverModules;
  readonly #builtIn = new Map<string, ResourceDefinition>();
  readonly #builtInGroups = new Set<string>();
  /** Of logical clusters without definitions; those that a built-in kind names have one of their own. */
  readonly #builtInHashes = new Map<string, string>();
  readonly #ready = new Map<string, Ready>();
  /** Watches run on definitions: their end must find them even when {@link #ready} has forgotten the definition. */
  readonly #retirements = new Map<string, { readonly fingerprint: string; readonly controller: AbortController }>();
  readonly #surfaces = new Map<LogicalClusterName, Surface>();
  /** Keys of definitions by their name. */
  readonly #names = new Map<string, Set<string>>();
  /** Keys of definitions to be made ready. */
  readonly #changed = new Set<string>();
  #preparing = false;
  #unsubscribe: (() => void) | undefined;

  constructor(_options: Record<string, never>, modules: DefinitionResolverModules) {
    this.#modules = modules;
    for (const definition of modules.builtIn) {
      this.#builtIn.set(pathKey(definition.group, definition.version, definition.resource), definition);
      this.#builtInGroups.add(definition.group);
    }
    for (const cluster of new Set(['', ...modules.builtIn.flatMap(({ onlyIn }) => onlyIn ?? [])])) {
      const keys = builtInOf(modules.builtIn, cluster).map((one) => pathKey(one.group, one.version, one.resource));
      const hash = createHash('sha256').update(keys.join('\n')).digest('hex').slice(0, 32);
      this.#builtInHashes.set(cluster, hash);
    }
  }

  /** Begins to follow changes; needs a cache that is loaded. */
  start(): void {
    this.#follow();
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  resolve(
    cluster: LogicalClusterName | '*',
    group: string,
    version: string,
    resource: string,
  ): ResourceDefinition | undefined {
    const builtIn = this.#builtIn.get(pathKey(group, version, resource));
    if (builtIn !== undefined && (builtIn.onlyIn === undefined || cluster === builtIn.onlyIn || cluster === '*'))
      return builtIn;
    const name = definitionName(group, resource);
    if (cluster === '*') return this.#everywhere(name, group, version, resource);
    if (name.includes('/')) return undefined;
    const entry = this.#modules.cache.peek(objectKey(definitionsPrefix, { cluster, namespace: '', name }));
    if (entry === undefined) return undefined;
    return this.#readyOf(entry).served.find((definition) => definition.version === version);
  }

  /**
   * Objects of one name may be anything in different clusters: what all objects have in common can still be asked for
   * over all of them, which the endpoints see to.
   */
  #everywhere(name: string, group: string, version: string, resource: string): ResourceDefinition | undefined {
    const example = this.#names.get(name)?.values().next().value;
    const entry = example === undefined ? undefined : this.#modules.cache.peek(example);
    return entry === undefined
      ? undefined
      : metadataOnlyDefinition(group, version, resource, this.#modules.reader.stored(entry));
  }

  list(cluster: LogicalClusterName): readonly ResourceDefinition[] {
    return this.#surface(cluster).definitions;
  }

  surfaceHash(cluster: LogicalClusterName): string {
    return this.#surface(cluster).hash;
  }

  isBuiltInGroup(group: string): boolean {
    return this.#builtInGroups.has(group);
  }

  #surface(cluster: LogicalClusterName): Surface {
    let surface = this.#surfaces.get(cluster);
    if (surface !== undefined) return surface;
    const { cache, builtIn } = this.#modules;
    const definitions = builtInOf(builtIn, cluster);
    const builtInHash = (this.#builtInHashes.get(cluster) ?? this.#builtInHashes.get('')) as string;
    const hash = createHash('sha256').update(builtInHash);
    let custom = false;
    for (const entry of cache
      .snapshot(listPrefix(definitionsPrefix, cluster))
      .entries(undefined, Number.MAX_SAFE_INTEGER)) {
      const ready = this.#readyOf(entry);
      if (!ready.established) continue;
      custom = true;
      hash.update(`\n${entry.key.slice(entry.key.lastIndexOf('/') + 1)} ${ready.fingerprint}`);
      definitions.push(...ready.served);
    }
    surface = { hash: custom ? hash.digest('hex').slice(0, 32) : builtInHash, definitions };
    if (this.#surfaces.size >= maxSurfaces)
      this.#surfaces.delete(this.#surfaces.keys().next().value as LogicalClusterName);
    this.#surfaces.set(cluster, surface);
    return surface;
  }

  #readyOf(entry: CacheEntry): Ready {
    const { key } = entry;
    let ready = this.#ready.get(key);
    if (ready !== undefined && ready.revision === entry.revision) return ready;
    const fingerprint = fingerprintOf(entry);
    if (ready !== undefined && ready.fingerprint === fingerprint) {
      ready.revision = entry.revision;
      return ready;
    }
    ready = this.#make(entry, fingerprint);
    this.#ready.delete(key);
    this.#ready.set(key, ready);
    if (this.#ready.size > maxReady) this.#ready.delete(this.#ready.keys().next().value as string);
    return ready;
  }

  #make(entry: CacheEntry, fingerprint: string): Ready {
    const crd = this.#modules.reader.stored(entry);
    const established = hasCondition(crd, 'Established');
    const { revision } = entry;
    if (!established && !hasCondition(crd, 'NamesAccepted')) return { revision, fingerprint, served: [], established };
    let retirement = this.#retirements.get(entry.key);
    if (retirement === undefined || retirement.fingerprint !== fingerprint) {
      retirement?.controller.abort();
      retirement = { fingerprint, controller: new AbortController() };
      this.#retirements.set(entry.key, retirement);
    }
    return {
      revision,
      fingerprint,
      served: this.#modules.definitionsOf(crd, retirement.controller.signal),
      established,
    };
  }

  /** Subscribes, and again when the cache starts over: then everything may have changed. */
  #follow(): void {
    const { cache } = this.#modules;
    this.#surfaces.clear();
    this.#names.clear();
    const snapshot = cache.snapshot(definitionsPrefix);
    for (const { key } of snapshot.entries(undefined, Number.POSITIVE_INFINITY)) this.#setName(key, true);
    for (const [key, { fingerprint }] of this.#retirements) {
      const entry = cache.peek(key);
      if (entry === undefined || fingerprintOf(entry) !== fingerprint) this.#retire(key);
    }
    this.#unsubscribe = cache.subscribe({
      scope: definitionsPrefix,
      after: snapshot.revision,
      onEvent: ({ current, previous }) => {
        const { key } = (current ?? previous) as CacheEntry;
        this.#surfaces.delete(clusterOfKey(key));
        if (current === undefined || previous === undefined) this.#setName(key, current !== undefined);
        const retirement = this.#retirements.get(key);
        if (retirement !== undefined && (current === undefined || fingerprintOf(current) !== retirement.fingerprint))
          this.#retire(key);
        if (current !== undefined) this.#prepare(key);
      },
      onEnd: (_reason, before) => {
        // Without a state before it the cache is closed for good.
        if (before !== undefined && this.#unsubscribe !== undefined) this.#follow();
      },
    });
  }

  /**
   * What has just changed is about to be used: it is made now, one definition per turn of the event loop, so that the
   * first look at hundreds of new ones does not have to make them all at once.
   */
  #prepare(key: string): void {
    this.#changed.add(key);
    if (this.#preparing) return;
    this.#preparing = true;
    setImmediate(() => this.#prepareNext());
  }

  #prepareNext(): void {
    const [key] = this.#changed;
    if (key === undefined || this.#unsubscribe === undefined) {
      this.#changed.clear();
      this.#preparing = false;
      return;
    }
    this.#changed.delete(key);
    const entry = this.#modules.cache.peek(key);
    try {
      if (entry !== undefined) for (const { schema } of this.#readyOf(entry).served) schema.prepare();
    } catch {
      // Whoever asks for it is told.
    }
    setImmediate(() => this.#prepareNext());
  }

  #setName(key: string, exists: boolean): void {
    const name = key.slice(key.lastIndexOf('/') + 1);
    const keys = this.#names.get(name);
    if (exists) {
      if (keys === undefined) this.#names.set(name, new Set([key]));
      else keys.add(key);
    } else if (keys?.delete(key) === true && keys.size === 0) {
      this.#names.delete(name);
    }
  }

  #retire(key: string): void {
    const retirement = this.#retirements.get(key);
    this.#retirements.delete(key);
    this.#ready.delete(key);
    retirement?.controller.abort();
  }
}

/** The built-in kinds that a logical cluster serves. */
const builtInOf = (builtIn: readonly ResourceDefinition[], cluster: string): ResourceDefinition[] =>
  builtIn.filter(({ onlyIn }) => onlyIn === undefined || onlyIn === cluster);

const pathKey = (group: string, version: string, resource: string): string => `${group}/${version}/${resource}`;

/** Name of the definition behind a resource; the core group is spelled out (C3.4). */
const definitionName = (group: string, resource: string): string => `${resource}.${group === '' ? 'core' : group}`;

function clusterOfKey(key: string): LogicalClusterName {
  return key.slice(definitionsPrefix.length, key.indexOf('/', definitionsPrefix.length)) as LogicalClusterName;
}

interface DefinitionStatus {
  readonly acceptedNames?: unknown;
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
}

/** All that decides what a definition serves, as one text. Kept on the entry. */
function fingerprintOf(entry: CacheEntry): string {
  const facts = factsOf(entry);
  if (facts.fingerprint === undefined) {
    const spec = topLevelMember(entry.value, 'spec');
    const statusBytes = topLevelMember(entry.value, 'status');
    const status = statusBytes === undefined ? {} : (JSON.parse(statusBytes.toString('utf8')) as DefinitionStatus);
    const conditions = (status.conditions ?? []).map(({ type, status: value }) => `${type}=${value}`).sort();
    const deleting = scannedMetadata(entry).deletionTimestamp !== undefined;
    facts.fingerprint = createHash('sha256')
      .update(spec ?? '')
      .update(JSON.stringify([status.acceptedNames, conditions, deleting]))
      .digest('base64');
  }
  return facts.fingerprint;
}

function hasCondition(crd: DeepReadonly<KubeObject>, type: string): boolean {
  const status = crd['status'] as DefinitionStatus | undefined;
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
}
