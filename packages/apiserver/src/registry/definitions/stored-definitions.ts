import { createHash } from 'node:crypto';
import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { boundDefinitionsCluster, type ResourceDefinition } from '@multiplane/apis';
import { nextTurn } from '@multiplane/component-base';
import { type CacheEntry, type WatchCache, builtInPrefix, listPrefix, objectKey } from '@multiplane/storage';
import { definitionName } from './definition-name.ts';
import { definitionFingerprint, hasCondition } from './definition-fingerprint.ts';
import type { ObjectReader } from './object-reader.ts';
import { topLevelMember } from './metadata-scanner.ts';

const prefix = builtInPrefix('apiextensions.k8s.io', 'customresourcedefinitions');
/** How many definitions are kept ready; the others are made again when asked for (their schemas have a cache of their own). */
const maxReady = 4096;
/** Of one definition, for different identities: as many as exports share its schema. */
const maxIdentities = 64;

/** All served versions of a definition; `retired` aborts when they no longer hold. With an identity: as bound by it. */
export type DefinitionsOf = (
  crd: DeepReadonly<KubeObject>,
  retired: AbortSignal,
  identity?: string,
) => readonly ResourceDefinition[];

export interface StoredDefinitionsModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly definitionsOf: DefinitionsOf;
  /** A definition of this logical cluster changed; undefined: any of them may have. */
  readonly onChange: (cluster: LogicalClusterName | undefined) => void;
}

/** A definition as it is stored now. */
export interface StoredDefinition {
  /** Changes with everything that it serves. */
  readonly fingerprint: string;
  /** Its resources belong into discovery. */
  readonly established: boolean;
  /** Equal for definitions of the same names and scope. */
  readonly names: string;
  /** Its versions, for what lies under an identity or for the objects of its own logical cluster. */
  served(identity: string | undefined): readonly ResourceDefinition[];
}

/**
 * What the CustomResourceDefinitions of all logical clusters mean (C3.4), those made of bound schemas among them.
 *
 * Nothing but names is indexed: a definition's name is `<plural>.<group>`, or the uid of a schema, so the key of the
 * definition behind a path is known and the cache is asked for it. What a definition means is made when first needed and
 * kept until its *fingerprint* changes. One subscription to all definitions of the shard retires what has changed in the
 * moment of the change, so the next request already sees the new state.
 */
export class StoredDefinitions {
  readonly #modules: StoredDefinitionsModules;
  readonly #ready = new Map<string, Ready>();
  /** Watches run on definitions: their end must find them even when {@link #ready} has forgotten the definition. */
  readonly #retirements = new Map<string, { readonly fingerprint: string; readonly controller: AbortController }>();
  /** Keys of definitions by their `<plural>.<group>`. */
  readonly #names = new Map<string, Set<string>>();
  /** Keys of definitions to be made ready. */
  readonly #changed = new Set<string>();
  #preparing = false;
  #unsubscribe: (() => void) | undefined;

  constructor(_options: Record<string, never>, modules: StoredDefinitionsModules) {
    this.#modules = modules;
  }

  /** Begins to follow changes; needs a cache that is loaded. */
  start(): void {
    this.#follow();
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  get(cluster: LogicalClusterName, name: string): StoredDefinition | undefined {
    if (name.includes('/') || name === '') return undefined;
    const entry = this.#modules.cache.peek(objectKey(prefix, { cluster, namespace: '', name }));
    return entry === undefined ? undefined : this.#readyOf(entry);
  }

  /** Names of the definitions that lie in a logical cluster. */
  names(cluster: LogicalClusterName): string[] {
    return Array.from(this.#modules.cache.present(listPrefix(prefix, cluster)), ({ key }) => nameOfKey(key));
  }

  /** The definitions that lie in a logical cluster, by name. */
  *list(cluster: LogicalClusterName): IterableIterator<readonly [string, StoredDefinition]> {
    const { cache } = this.#modules;
    for (const entry of cache.present(listPrefix(prefix, cluster))) yield [nameOfKey(entry.key), this.#readyOf(entry)];
  }

  /** Any definition of `<plural>.<group>`, in whichever logical cluster it lies. */
  example(name: string): DeepReadonly<KubeObject> | undefined {
    const key = this.#names.get(name)?.values().next().value;
    const entry = key === undefined ? undefined : this.#modules.cache.peek(key);
    return entry === undefined ? undefined : this.#modules.reader.stored(entry);
  }

  #readyOf(entry: CacheEntry): Ready {
    const { key } = entry;
    let ready = this.#ready.get(key);
    if (ready !== undefined && ready.revision === entry.revision) return ready;
    const fingerprint = definitionFingerprint(entry);
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
    const { definitionsOf, reader } = this.#modules;
    const crd = reader.stored(entry);
    const isEstablished = hasCondition(crd, 'Established');
    if (!isEstablished && !hasCondition(crd, 'NamesAccepted')) {
      return new Ready({ revision: entry.revision, fingerprint, names: namesOf(crd), established: false }, () => []);
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
    return new Ready(
      { revision: entry.revision, fingerprint, names: namesOf(crd), established: isEstablished },
      (identity) => {
        // Read anew: the definition itself may be large, and is not kept for identities that may never come.
        const current = cache.peek(key);
        return current === undefined ? [] : definitionsOf(reader.stored(current), signal, identity);
      },
    );
  }

  /** Subscribes, and again when the cache starts over: then everything may have changed. */
  #follow(): void {
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
        if (retires) this.#ready.delete(key);
        onChange(clusterOfKey(key));
        if (retires) this.#retire(key);
        if (current !== undefined && clusterOfKey(key) !== boundDefinitionsCluster) this.#prepare(key);
      },
      onEnd: (_reason, before) => {
        // Without a state before it the cache is closed for good.
        if (before !== undefined && this.#unsubscribe !== undefined) this.#follow();
      },
    });
  }

  /**
   * What has just changed is about to be listed: it is made now, one definition per turn of the event loop, so that the
   * first look at hundreds of new ones does not have to make them all at once. Schemas are compiled when they are first
   * used: of hundreds most are not, and each turn spent on that is one in which no answer goes on. What is bound is made
   * for each identity when somebody binds.
   */
  #prepare(key: string): void {
    this.#changed.add(key);
    if (this.#preparing) return;
    this.#preparing = true;
    void nextTurn().then(() => this.#prepareNext());
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
      if (entry !== undefined) this.#readyOf(entry).served(undefined);
    } catch {
      // Whoever asks for it is told.
    }
    void nextTurn().then(() => this.#prepareNext());
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
    this.#ready.delete(key);
    retirement?.controller.abort();
  }
}

class Ready implements StoredDefinition {
  revision: number;
  readonly fingerprint: string;
  readonly established: boolean;
  readonly names: string;
  /** Made anew, and kept nowhere. */
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
