import {
  FieldSelector,
  LabelSelector,
  type DeepReadonly,
  type KubeObject,
  type ListOptions,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { fieldKeyOf, type ResourceDefinition } from '@multiplane/apis';
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
import { storedFieldSelection } from './stored-value.ts';
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
  /** An index of the cache that has the objects with a value that the selectors require; undefined: there is none. */
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

export type ScanOptions = Pick<ListOptions, 'labelSelector' | 'fieldSelector'> & {
  /** Selects objects by fields as they are stored; see `required-fields.ts`. */
  readonly requiredFields?: FieldSelector;
};

const noFields = new FieldSelector([]);

/** Throws 400 for field selectors that the kind does not support. `indexes`: those of the cache that the scope is read from. */
export function scanScope(
  definition: ResourceDefinition,
  cluster: LogicalClusterName | '*',
  namespace: string,
  options: ScanOptions,
  reader: ObjectSource,
  indexes?: CacheIndexes,
): ScanScope {
  const decode = (entry: CacheEntry): DeepReadonly<KubeObject> => reader.object(definition, entry);
  const { labelSelector, fieldSelector, requiredFields = noFields } = options;
  const selectedByRequest = selectionOf(definition, labelSelector, fieldSelector, decode);
  const required = storedFieldSelection(requiredFields);
  const selected = both(required, selectedByRequest);
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
      selectsObjects: selectedByRequest !== undefined && definition.conversion !== undefined,
      snapshot: (cache) => cache.snapshot(resourcePrefix),
    };
  }
  const prefix = listPrefix(resourcePrefix, cluster, namespace);
  let inner = namespace;
  let scope = prefix;
  let selectionInScope = selection;
  let selectsObjects = selectedByRequest !== undefined;
  if (cluster !== '*') {
    const exact = exactLocation(fieldSelector);
    if (definition.namespaced && namespace === '' && isSegment(exact.namespace)) {
      inner = exact.namespace;
      scope = listPrefix(resourcePrefix, cluster, inner);
    }
    if (isSegment(exact.name) && (!definition.namespaced || inner !== '')) {
      scope += exact.name;
      // Thousands of clients may watch one object each by name: a key in `scope` needs no check of its name.
      const rest = selectionOf(definition, labelSelector, fieldSelector.given(nameField, exact.name), decode);
      selectionInScope = both(required, rest);
      selectsObjects = rest !== undefined;
    }
  }
  // Labels of a kind with a conversion webhook are matched after the conversion; stored fields need none.
  const labels = definition.conversion === undefined ? labelSelector : everyLabel;
  const found =
    indexes === undefined || indexes.size === 0 ? undefined : requiredValue(indexes, scope, labels, requiredFields);
  return {
    prefix,
    scope,
    selection,
    selectionInScope,
    indexed: found && {
      ...found,
      selection: both(
        both(inNamespace, storedFieldSelection(found.otherFields)),
        selectionOf(
          definition,
          definition.conversion === undefined ? found.otherLabels : labelSelector,
          fieldSelector,
          decode,
        ),
      ),
    },
    hidesUnselected: cluster === '*',
    selectsObjects: selectsObjects && definition.conversion !== undefined,
    snapshot: (cache) =>
      scope.endsWith('/') ? cache.snapshot(scope, undefined, found?.where) : keySnapshot(cache, scope),
  };
}

const both = (a: Selection | undefined, b: Selection | undefined): Selection | undefined =>
  a === undefined || b === undefined ? (a ?? b) : (entry) => a(entry) && b(entry);

const everyLabel = new LabelSelector([]);

/** The first requirement of one value that an index has, of a label or of a stored field, and the other requirements. */
function requiredValue(
  indexes: CacheIndexes,
  scope: string,
  labels: LabelSelector,
  fields: FieldSelector,
):
  | {
      readonly index: CacheIndex;
      readonly where: ValueRequirement;
      readonly otherLabels: LabelSelector;
      readonly otherFields: FieldSelector;
    }
  | undefined {
  for (const { field, operator, value } of fields.requirements) {
    const name = fieldKeyOf(field);
    const index = operator === '=' && value !== '' ? indexes.find(scope, name) : undefined;
    if (index !== undefined)
      return { index, where: { name, value }, otherLabels: labels, otherFields: fields.given(field, value) };
  }
  for (const requirement of labels.requirements) {
    const { key: name } = requirement;
    const value = new LabelSelector([requirement]).exactValue(name);
    const index = value === undefined ? undefined : indexes.find(scope, name);
    if (value === undefined || index === undefined) continue;
    const otherLabels = new LabelSelector(labels.requirements.filter((other) => other !== requirement));
    return { index, where: { name, value }, otherLabels, otherFields: fields };
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
