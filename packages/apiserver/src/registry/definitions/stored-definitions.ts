import { createHash } from 'node:crypto';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { boundDefinitionsCluster, type ResourceDefinition } from '@multiplane/apis';
import { yieldToEventLoop } from '@multiplane/component-base';
import { type CacheEntry, type WatchCache, builtInPrefix, listPrefix, objectKey } from '@multiplane/storage';
import { definitionName } from './definition-name.ts';
import { definitionFingerprint, hasCondition } from './definition-fingerprint.ts';
import type { ObjectReader } from '../store/object-reader.ts';
import { topLevelMember } from '../codec/metadata-scanner.ts';

const prefix = builtInPrefix('apiextensions.k8s.io', 'customresourcedefinitions');
/** Definitions that are kept prepared; others are prepared again when used (compiled schemas have a cache of their own). */
const maxPrepared = 4096;
/** Identities per definition; one for each export that shares the schema. */
const maxIdentities = 64;

/** Makes all served versions of a CustomResourceDefinition. `retired` aborts when they change. `identity`: of a bound one. */
export type DefinitionsOf = (
  crd: DeepReadonly<KubeObject>,
  retired: AbortSignal,
  identity?: string,
) => readonly ResourceDefinition[];

export interface StoredDefinitionsModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly definitionsOf: DefinitionsOf;
  /** A definition of this logical cluster changed; undefined: definitions of any logical cluster may have changed. */
  readonly onChange: (cluster: LogicalClusterName | undefined) => void;
}

/** A stored CustomResourceDefinition. */
export interface StoredDefinition {
  /** Changes with the APIs that it serves. */
  readonly fingerprint: string;
  /** Its resources are part of discovery. */
  readonly established: boolean;
  /** Equal for definitions of the same names and scope. */
  readonly names: string;
  /** Its versions, for objects of an identity, or for the objects of its own logical cluster (undefined). */
  served(identity: string | undefined): readonly ResourceDefinition[];
}

/**
 * The CustomResourceDefinitions of all logical clusters, including those of bound APIResourceSchemas.
 *
 * Only names are indexed. A definition is named `<plural>.<group>`, or by the uid of its schema, so a path determines the
 * key, and the watch cache is read by it. The versions that a definition serves are prepared on first use and kept until
 * its *fingerprint* changes. One subscription to all definitions of the shard retires changed ones while the event is
 * dispatched, so the next request sees the new state.
 */
export class StoredDefinitions {
  readonly #modules: StoredDefinitionsModules;
  readonly #prepared = new Map<string, PreparedDefinition>();
  /** Signals that end watches when a definition changes; kept even if {@link #prepared} evicted the definition. */
  readonly #retirements = new Map<string, { readonly fingerprint: string; readonly controller: AbortController }>();
  /** Keys of definitions by their `<plural>.<group>`. */
  readonly #names = new Map<string, Set<string>>();
  /** Keys of changed definitions that wait to be prepared. */
  readonly #changed = new Set<string>();
  #isPreparing = false;
  #unsubscribe: (() => void) | undefined;

  constructor(modules: StoredDefinitionsModules) {
    this.#modules = modules;
  }

  /** Subscribes to changes; requires a loaded cache. */
  start(): void {
    this.#subscribe();
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  get(cluster: LogicalClusterName, name: string): StoredDefinition | undefined {
    if (name.includes('/') || name === '') return undefined;
    const entry = this.#modules.cache.peek(objectKey(prefix, { cluster, namespace: '', name }));
    return entry === undefined ? undefined : this.#preparedOf(entry);
  }

  /** Names of the definitions in a logical cluster. */
  names(cluster: LogicalClusterName): string[] {
    return Array.from(this.#modules.cache.listCurrent(listPrefix(prefix, cluster)), ({ key }) => nameOfKey(key));
  }

  /** The definitions in a logical cluster, in the order of their names. */
  *list(cluster: LogicalClusterName): IterableIterator<readonly [string, StoredDefinition]> {
    const { cache } = this.#modules;
    for (const entry of cache.listCurrent(listPrefix(prefix, cluster)))
      yield [nameOfKey(entry.key), this.#preparedOf(entry)];
  }

  /** A definition of `<plural>.<group>` from any logical cluster. */
  example(name: string): DeepReadonly<KubeObject> | undefined {
    const key = this.#names.get(name)?.values().next().value;
    const entry = key === undefined ? undefined : this.#modules.cache.peek(key);
    return entry === undefined ? undefined : this.#modules.reader.stored(entry);
  }

  #preparedOf(entry: CacheEntry): PreparedDefinition {
    const { key } = entry;
    let prepared = this.#prepared.get(key);
    if (prepared !== undefined && prepared.revision === entry.revision) return prepared;
    const fingerprint = definitionFingerprint(entry);
    if (prepared !== undefined && prepared.fingerprint === fingerprint) {
      prepared.revision = entry.revision;
      return prepared;
    }
    prepared = this.#make(entry, fingerprint);
    this.#prepared.delete(key);
    this.#prepared.set(key, prepared);
    if (this.#prepared.size > maxPrepared) this.#prepared.delete(this.#prepared.keys().next().value as string);
    return prepared;
  }

  #make(entry: CacheEntry, fingerprint: string): PreparedDefinition {
    const { definitionsOf, reader } = this.#modules;
    const crd = reader.stored(entry);
    const isEstablished = hasCondition(crd, 'Established');
    if (!isEstablished && !hasCondition(crd, 'NamesAccepted')) {
      return new PreparedDefinition(
        { revision: entry.revision, fingerprint, names: namesOf(crd), established: false },
        () => [],
      );
    }
    let retirement = this.#retirements.get(entry.key);
    if (retirement === undefined || retirement.fingerprint !== fingerprint) {
      retirement?.controller.abort();
      retirement = { fingerprint, controller: new AbortController() };
      this.#retirements.set(entry.key, retirement);
    }
    const { signal } = retirement.controller;
    const { key } = entry;
    const { cache } = this.#modules;
    return new PreparedDefinition(
      { revision: entry.revision, fingerprint, names: namesOf(crd), established: isEstablished },
      (identity) => {
        // Read from the cache for each identity: a definition may be large, and must not be kept alive by this closure.
        const current = cache.peek(key);
        return current === undefined ? [] : definitionsOf(reader.stored(current), signal, identity);
      },
    );
  }

  /** Subscribes, and again after the cache was reloaded, when all definitions may have changed. */
  #subscribe(): void {
    const { cache, onChange } = this.#modules;
    onChange(undefined);
    this.#names.clear();
    const snapshot = cache.snapshot(prefix);
    for (const entry of snapshot.entries(undefined, Number.POSITIVE_INFINITY)) this.#setName(entry, true);
    for (const [key, { fingerprint }] of this.#retirements) {
      const entry = cache.peek(key);
      if (entry === undefined || definitionFingerprint(entry) !== fingerprint) this.#retire(key);
    }
    this.#unsubscribe = cache.subscribe({
      scope: prefix,
      after: snapshot.revision,
      onEvent: ({ current, previous }) => {
        const entry = (current ?? previous) as CacheEntry;
        const { key } = entry;
        if (current === undefined || previous === undefined) this.#setName(entry, current !== undefined);
        const retirement = this.#retirements.get(key);
        const retires =
          retirement !== undefined &&
          (current === undefined || definitionFingerprint(current) !== retirement.fingerprint);
        if (retires) this.#prepared.delete(key);
        onChange(clusterOfKey(key));
        if (retires) this.#retire(key);
        if (current !== undefined && clusterOfKey(key) !== boundDefinitionsCluster) this.#prepareLater(key);
      },
      onEnd: (_reason, before) => {
        // Without a previous state the cache is closed.
        if (before !== undefined && this.#unsubscribe !== undefined) this.#subscribe();
      },
    });
  }

  /**
   * Prepares a changed definition in advance, one definition per event-loop tick, so that the first discovery request after
   * hundreds of new definitions does not prepare all of them. Schemas are compiled on first use, because most of them are
   * never used. Definitions of bound schemas are prepared for each identity on first use.
   */
  #prepareLater(key: string): void {
    this.#changed.add(key);
    if (this.#isPreparing) return;
    this.#isPreparing = true;
    void yieldToEventLoop().then(() => this.#prepareNext());
  }

  #prepareNext(): void {
    const [key] = this.#changed;
    if (key === undefined || this.#unsubscribe === undefined) {
      this.#changed.clear();
      this.#isPreparing = false;
      return;
    }
    this.#changed.delete(key);
    const entry = this.#modules.cache.peek(key);
    try {
      if (entry !== undefined) this.#preparedOf(entry).served(undefined);
    } catch {
      // The next request for this resource gets the error.
    }
    void yieldToEventLoop().then(() => this.#prepareNext());
  }

  #setName(entry: CacheEntry, exists: boolean): void {
    const { key } = entry;
    const name = clusterOfKey(key) === boundDefinitionsCluster ? nameInSpec(entry) : nameOfKey(key);
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
    this.#prepared.delete(key);
    retirement?.controller.abort();
  }
}

class PreparedDefinition implements StoredDefinition {
  revision: number;
  readonly fingerprint: string;
  readonly established: boolean;
  readonly names: string;
  /** Makes the versions of an identity. */
  readonly make: (identity: string | undefined) => readonly ResourceDefinition[];
  readonly #made = new Map<string | undefined, readonly ResourceDefinition[]>();

  constructor(
    known: {
      readonly revision: number;
      readonly fingerprint: string;
      readonly names: string;
      readonly established: boolean;
    },
    make: (identity: string | undefined) => readonly ResourceDefinition[],
  ) {
    this.revision = known.revision;
    this.fingerprint = known.fingerprint;
    this.established = known.established;
    this.names = known.names;
    this.make = make;
  }

  served(identity: string | undefined): readonly ResourceDefinition[] {
    let served = this.#made.get(identity);
    if (served !== undefined) return served;
    served = this.make(identity);
    this.#made.set(identity, served);
    if (this.#made.size > maxIdentities) this.#made.delete(this.#made.keys().next().value);
    return served;
  }
}

function namesOf(crd: DeepReadonly<KubeObject>): string {
  const { group, names, scope } = crd['spec'] as DeepReadonly<Record<'group' | 'names' | 'scope', unknown>>;
  return createHash('sha256')
    .update(JSON.stringify([group, names, scope]))
    .digest('base64');
}

function nameInSpec(entry: CacheEntry): string {
  const bytes = topLevelMember(entry.value, 'spec');
  const spec =
    bytes === undefined
      ? undefined
      : (JSON.parse(bytes.toString('utf8')) as { group?: string; names?: { plural?: string } });
  return definitionName(spec?.group ?? '', spec?.names?.plural ?? '');
}

function nameOfKey(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

function clusterOfKey(key: string): LogicalClusterName {
  return key.slice(prefix.length, key.indexOf('/', prefix.length)) as LogicalClusterName;
}
