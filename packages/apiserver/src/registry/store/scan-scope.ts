import {
  LabelSelector,
  type DeepReadonly,
  type KubeObject,
  type ListOptions,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import {
  type CacheEntry,
  type CacheIndex,
  type CacheIndexes,
  type CacheSnapshot,
  type ValueRequirement,
  type WatchCache,
  listPrefix,
} from '@multiplane/storage';
import type { ObjectSource } from './object-source.ts';
import { type Selection, exactLocation, nameField, namespaceOfKey, selectionOf } from './selection.ts';

/** The range of keys that a list or a watch reads, with the predicates that select its objects. */
export interface ScanScope {
  /** The prefix of the request's cluster and namespace; continue tokens are relative to it. */
  readonly prefix: string;
  /** The prefix, or the key, that is read; narrower than `prefix` if field selectors name a namespace or an object. */
  readonly scope: string;
  /** Selects objects below `prefix`. */
  readonly selection: Selection | undefined;
  /** Selects objects in `scope`. */
  readonly selectionInScope: Selection | undefined;
  /** An index of the cache that has the objects with a label that the selector requires; undefined: there is none. */
  readonly indexed: IndexedSelection | undefined;
  /** The selection also excludes objects of other clusters, about which a response must not tell anything. */
  readonly hidesUnselected: boolean;
  /** The selection reads objects that a webhook may have to convert first. */
  readonly selectsObjects: boolean;
  /** The current state of `scope`. */
  snapshot(cache: WatchCache): CacheSnapshot;
}

/** A part of the selection that an index of the cache decides. */
export interface IndexedSelection {
  readonly index: CacheIndex;
  readonly where: ValueRequirement;
  /** Selects objects in a snapshot of the index, instead of `selection`. */
  readonly selection: Selection | undefined;
}

/** Throws 400 for field selectors that the kind does not support. `indexes`: those of the cache that the scope is read from. */
export function scanScope(
  definition: ResourceDefinition,
  cluster: LogicalClusterName | '*',
  namespace: string,
  options: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>,
  reader: ObjectSource,
  indexes?: CacheIndexes,
): ScanScope {
  const decode = (entry: CacheEntry): DeepReadonly<KubeObject> => reader.object(definition, entry);
  const { labelSelector, fieldSelector } = options;
  const selected = selectionOf(definition, labelSelector, fieldSelector, decode);
  // The cluster precedes the namespace in keys, so over all clusters each key is checked for its namespace.
  const inNamespace: Selection | undefined =
    cluster === '*' && namespace !== '' ? (entry) => namespaceOfKey(entry.key) === namespace : undefined;
  const selection = both(inNamespace, selected);
  const resourcePrefix = definition.storage?.prefix ?? '';
  if (definition.storage?.acrossShards === true) {
    const inScope = scopeAcrossShards(resourcePrefix, cluster, namespace);
    const all: Selection | undefined =
      selected === undefined ? inScope : (entry) => inScope?.(entry) !== false && selected(entry);
    return {
      prefix: resourcePrefix,
      scope: resourcePrefix,
      selection: all,
      selectionInScope: all,
      indexed: undefined,
      hidesUnselected: true,
      selectsObjects: selected !== undefined && definition.conversion !== undefined,
      snapshot: (cache) => cache.snapshot(resourcePrefix),
    };
  }
  const prefix = listPrefix(resourcePrefix, cluster, namespace);
  let inner = namespace;
  let scope = prefix;
  let selectionInScope = selection;
  if (cluster !== '*') {
    const exact = exactLocation(fieldSelector);
    if (definition.namespaced && namespace === '' && isSegment(exact.namespace)) {
      inner = exact.namespace;
      scope = listPrefix(resourcePrefix, cluster, inner);
    }
    if (isSegment(exact.name) && (!definition.namespaced || inner !== '')) {
      scope += exact.name;
      // Thousands of clients may watch one object each by name: a key in `scope` needs no check of its name.
      selectionInScope = selectionOf(definition, labelSelector, fieldSelector.given(nameField, exact.name), decode);
    }
  }
  const found =
    indexes === undefined || indexes.size === 0 || labelSelector.empty || definition.conversion !== undefined
      ? undefined
      : requiredLabel(indexes, scope, labelSelector);
  return {
    prefix,
    scope,
    selection,
    selectionInScope,
    indexed: found && {
      ...found,
      selection: both(inNamespace, selectionOf(definition, found.others, fieldSelector, decode)),
    },
    hidesUnselected: cluster === '*',
    selectsObjects: selectionInScope !== undefined && definition.conversion !== undefined,
    snapshot: (cache) =>
      scope.endsWith('/') ? cache.snapshot(scope, undefined, found?.where) : keySnapshot(cache, scope),
  };
}

const both = (a: Selection | undefined, b: Selection | undefined): Selection | undefined =>
  a === undefined || b === undefined ? (a ?? b) : (entry) => a(entry) && b(entry);

/** The first requirement of one value of an indexed label, and the other requirements. */
function requiredLabel(
  indexes: CacheIndexes,
  scope: string,
  selector: LabelSelector,
): { readonly index: CacheIndex; readonly where: ValueRequirement; readonly others: LabelSelector } | undefined {
  for (const requirement of selector.requirements) {
    const { key: name } = requirement;
    const value = new LabelSelector([requirement]).exactValue(name);
    const index = value === undefined ? undefined : indexes.find(scope, name);
    if (value === undefined || index === undefined) continue;
    const others = new LabelSelector(selector.requirements.filter((other) => other !== requirement));
    return { index, where: { name, value }, others };
  }
  return undefined;
}

/** Keys of cached objects start with the shard, so each key is checked for its cluster and namespace. */
function scopeAcrossShards(
  prefix: string,
  cluster: LogicalClusterName | '*',
  namespace: string,
): Selection | undefined {
  if (cluster === '*' && namespace === '') return undefined;
  return ({ key }) => {
    const [, inCluster, inNamespace] = key.slice(prefix.length).split('/');
    return (cluster === '*' || inCluster === cluster) && (namespace === '' || inNamespace === namespace);
  };
}

function isSegment(text: string | undefined): text is string {
  return text !== undefined && text !== '' && !text.includes('/');
}

/** A snapshot of a single key. */
function keySnapshot(cache: WatchCache, key: string): CacheSnapshot {
  const { revision } = cache;
  const entry = cache.peek(key);
  const entries = entry === undefined ? [] : [entry];
  return {
    revision,
    entries: (from, limit) => (limit > 0 && (from === undefined || from <= key) ? entries : []),
    countFrom: (from) => (from <= key ? entries.length : 0),
  };
}
