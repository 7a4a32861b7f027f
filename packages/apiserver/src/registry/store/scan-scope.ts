import type { DeepReadonly, KubeObject, ListOptions, LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type CacheEntry, type CacheSnapshot, type WatchCache, listPrefix } from '@multiplane/storage';
import type { ObjectSource } from '../registry/object-reader.ts';
import { type Selection, exactLocation, nameField, namespaceOfKey, selectionOf } from './selection.ts';

/** The part of the store that a list or a watch reads. */
export interface ScanScope {
  /** Prefix that paging tokens are relative to: of the request's cluster and namespace. */
  readonly prefix: string;
  /** Prefix or whole key that changes can come from; narrower than `prefix` when selectors name a namespace or an object. */
  readonly scope: string;
  /** Of what lies below `prefix`. */
  readonly selection: Selection | undefined;
  /** Of what lies in `scope`. */
  readonly selectionInScope: Selection | undefined;
  /** The selection looks at objects as the definition shows them, which a webhook may have to make first. */
  readonly selectsObjects: boolean;
  /** The state as it is now. */
  snapshot(cache: WatchCache): CacheSnapshot;
}

/** Throws 400 for selectors that the kind does not know. */
export function scanScope(
  definition: ResourceDefinition,
  cluster: LogicalClusterName | '*',
  namespace: string,
  options: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>,
  reader: ObjectSource,
): ScanScope {
  const decode = (entry: CacheEntry): DeepReadonly<KubeObject> => reader.object(definition, entry);
  const { labelSelector, fieldSelector } = options;
  const selected = selectionOf(definition, labelSelector, fieldSelector, decode);
  // Keys have the cluster before the namespace: over all clusters a namespace is found by looking at each key.
  const inNamespace: Selection | undefined =
    cluster === '*' && namespace !== '' ? (entry) => namespaceOfKey(entry.key) === namespace : undefined;
  const selection =
    inNamespace === undefined || selected === undefined
      ? (selected ?? inNamespace)
      : (entry: CacheEntry) => inNamespace(entry) && selected(entry);
  const resourcePrefix = definition.storage?.prefix ?? '';
  if (definition.storage?.acrossShards === true) {
    const inPlace = placeAcrossShards(resourcePrefix, cluster, namespace);
    const all: Selection | undefined =
      selected === undefined ? inPlace : (entry) => inPlace?.(entry) !== false && selected(entry);
    return {
      prefix: resourcePrefix,
      scope: resourcePrefix,
      selection: all,
      selectionInScope: all,
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
      // Thousands may watch one object each by its name: what the key says nobody looks for again.
      selectionInScope = selectionOf(definition, labelSelector, fieldSelector.given(nameField, exact.name), decode);
    }
  }
  return {
    prefix,
    scope,
    selection,
    selectionInScope,
    selectsObjects: selectionInScope !== undefined && definition.conversion !== undefined,
    snapshot: (cache) => (scope.endsWith('/') ? cache.snapshot(scope) : keySnapshot(cache, scope)),
  };
}

/** With the shard first in the keys, cluster and namespace are found by looking at each key (C16.2). */
function placeAcrossShards(
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

/** One key as a snapshot. */
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
